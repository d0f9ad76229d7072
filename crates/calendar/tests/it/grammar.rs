//! The grammar table of the documentation, executed row by row.

use jiff::Timestamp;
use plimsoll_calendar::Rule;

use crate::us_federal;

/// Protects the documentation: each row is read, said back in the words of the second column, and takes
/// place when the third says.
#[test]
fn every_row_of_the_grammar() {
    let page = include_str!("../../GRAMMAR.md");
    let calendar = us_federal("America/New_York");
    let from: Timestamp = "2026-11-01T04:00:00Z".parse().unwrap();
    let to: Timestamp = "2028-01-01T05:00:00Z".parse().unwrap();
    let mut rows = 0;
    let mut wrong = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [rule, said, first] = cells.as_slice() else { panic!("three columns: {line}") };
        let text = rule.trim_matches('`');
        let rule = Rule::parse(text).unwrap();
        let windows = rule.occurrences(&calendar, from, to).unwrap();
        let next = windows.iter().find(|window| window.start >= from).unwrap();
        let local = |at: Timestamp| calendar.zone().to_datetime(at).strftime("%a %Y-%m-%d %H:%M").to_string();
        let got = (rule.said(), format!("{}: {} to {}", next.id, local(next.start), local(next.end)));
        if got != ((*said).to_owned(), (*first).to_owned()) {
            wrong.push(format!("| `{text}` | {} | {} |", got.0, got.1));
        }
        rows += 1;
    }
    assert!(wrong.is_empty(), "rows that are not so:\n{}", wrong.join("\n"));
    assert!(rows >= 30, "{rows} rows");
}
