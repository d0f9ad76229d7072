//! `ledger.toml` as it is written: drafts, filings and outcomes, in the text that a person keeps.

use jiff::civil::date;
use plimsoll_plan::{LedgerText, Which};

use crate::world::{CLOSE, SONNET, measured, plan};

const MINE: &str = r#"# Ours, since 2025.

[[request]]                       # the first one
pool = "anthropic/direct/global/claude-haiku-4.5"
dimension   = "requests_per_min"  # asked by phone
asked = 4_000
filed = "2026-06-01"; 
"#;

fn which(pool: &str) -> Which {
    Which { pool: pool.to_owned(), dimension: "input_tokens_per_min".to_owned(), ..Which::default() }
}

/// Protects "a draft is not filed twice": what a plan asks is drafted once, with its event, and a plan made
/// with the drafts asks nothing again and says what waits.
#[test]
fn a_plan_is_recorded_once() {
    let first = plan(CLOSE, "", &measured());
    let mut ledger = LedgerText::parse("").unwrap();
    let added = ledger.record(&first, date(2026, 11, 2)).unwrap();
    assert_eq!(added.len(), first.quota_requests.len());
    assert_eq!(added[0].event.as_deref(), Some("month-end close"));
    assert_eq!(added[0].needed_from, Some(date(2026, 11, 30)));
    assert!(ledger.record(&first, date(2026, 11, 3)).unwrap().is_empty(), "the same plan again");
    let text = ledger.to_string();
    assert!(text.starts_with("# Every quota increase"), "{text}");
    assert!(text.contains(&format!("plan_id = \"{}\"", first.plan_id)), "{text}");
    let second = plan(CLOSE, &text, &measured());
    assert!(second.quota_requests.is_empty(), "the tier raises the pool's other limits too");
    assert!(second.warnings.iter().any(|warning| warning.code == "open_request"));
}

/// Protects the report's list of requests: each entry is told with its state and its days, to the decision or
/// to the plan's day, and a draft has none.
#[test]
fn the_plan_tells_every_request_and_how_long_it_took() {
    let entry = |rest: &str| {
        format!("[[request]]\npool = \"{SONNET}\"\ndimension = \"requests_per_min\"\nasked = 9000\n{rest}\n")
    };
    let text = [
        entry("filed = \"2026-08-25\"\ndecided = \"2026-09-15\"\ngranted = 8000"),
        entry("filed = \"2026-10-20\"\nevent = \"launch\""),
        entry("drafted = \"2026-11-01\"\nevent = \"close\""),
    ];
    let made = plan(CLOSE, &text.concat(), &measured());
    let told: Vec<_> = made.ledger.iter().map(|row| (row.state.as_str(), row.granted, row.days)).collect();
    assert_eq!(told, [("decided", Some(8000), Some(21)), ("filed", None, Some(13)), ("drafted", None, None)]);
}

/// Protects a larger event from a smaller one's draft: what asks for too little, for another event, does not
/// stand for this one.
#[test]
fn a_draft_for_another_event_stands_only_if_it_is_enough() {
    let draft = |asked: u64| {
        format!(
            "[[request]]\npool = \"{SONNET}\"\naccount = \"prod\"\ndimension = \"input_tokens_per_min\"\nevent = \"launch\"\nasked = {asked}\ndrafted = \"2026-11-01\"\n"
        )
    };
    assert!(plan(CLOSE, &draft(5_000_000), &measured()).quota_requests.is_empty());
    let mut ledger = LedgerText::parse(&draft(1_000_000)).unwrap();
    let short = plan(CLOSE, &draft(1_000_000), &measured());
    assert_eq!(short.quota_requests.len(), 1);
    assert_eq!(ledger.record(&short, date(2026, 11, 2)).unwrap().len(), 1);
    assert_eq!(ledger.ledger().requests.len(), 2);
}

/// Protects what a person wrote: form and comments stay, and only what happened is added.
#[test]
fn outcomes_are_written_into_the_text_as_it_stands() {
    let mine = MINE.replace("; ", "");
    let mut ledger = LedgerText::parse(&mine).unwrap();
    assert_eq!(ledger.to_string(), mine, "read and written is the same");
    let filed = which(SONNET);
    assert!(ledger.file(&filed, date(2026, 11, 3), None, None).unwrap_err().to_string().contains("--asked"));
    assert_eq!(ledger.file(&filed, date(2026, 11, 3), Some(5_000_000), Some("C-7")).unwrap(), 9);
    ledger.decide(&filed, date(2026, 11, 20), 2_000_000, None).unwrap();
    let text = ledger.to_string();
    assert!(text.starts_with(&mine), "{text}");
    let request = &ledger.ledger().requests[1];
    assert_eq!(
        (request.state(), request.granted, request.case.as_deref()),
        ("decided", Some(2_000_000), Some("C-7"))
    );
    let again = ledger.decide(&filed, date(2026, 11, 21), 1, None).unwrap_err().to_string();
    assert!(again.contains("no open request"), "{again}");
}

/// Protects from a wrong entry: dates out of order and a name that fits two requests are refused.
#[test]
fn what_contradicts_itself_is_not_written() {
    let two = format!(
        "[[request]]\npool = \"{SONNET}\"\naccount = \"prod\"\ndimension = \"input_tokens_per_min\"\nasked = 5\nfiled = \"2026-11-03\"\n\n[[request]]\npool = \"{SONNET}\"\naccount = \"dev\"\ndimension = \"input_tokens_per_min\"\nasked = 5\nfiled = \"2026-11-03\"\n"
    );
    let mut ledger = LedgerText::parse(&two).unwrap();
    let told = ledger.decide(&which(SONNET), date(2026, 11, 20), 5, None).unwrap_err().to_string();
    assert!(told.contains("lines 1 and 8") && told.contains("--account"), "{told}");
    let dev = Which { account: Some("dev".to_owned()), ..which(SONNET) };
    let told = ledger.decide(&dev, date(2026, 11, 1), 5, None).unwrap_err().to_string();
    assert!(told.contains("before it was filed"), "{told}");
}
