//! What `explain` found, as text for people and as JSON.
//!
//! Invariant: every span has one block, in the order of the tree, and no value of an attribute that
//! holds content is shown.

use std::fmt::Write as _;

use arrow::{
    array::{Array, AsArray, RecordBatch},
    json::{LineDelimitedWriter, writer::WriterBuilder},
    util::display::{ArrayFormatter, FormatOptions},
};
use plimsoll_otlp::explain::{Effect, Fate, Ignored, Outcome, Place, Reasons, Rule};
use plimsoll_profile::Verdict;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Columns that a block says elsewhere, or that say nothing of the span.
const LEFT_OUT: [&str; 16] = [
    "trace_id",
    "span_id",
    "parent_span_id",
    "name",
    "kind",
    "dialect",
    "start_time",
    "start_unix_nano",
    "weight",
    "source",
    "received_at",
    "received_day",
    "attributes",
    "quality",
    "input_basis",
    "scope_version",
];
/// Names of attributes in one line.
const NAMES: usize = 12;

/// One span, told.
pub(super) struct Told {
    pub(super) verdict: Verdict,
    /// Its row of `spans`.
    pub(super) row: RecordBatch,
    /// Why the row is what it is; none where the original bytes are gone.
    pub(super) reasons: Option<Reasons>,
}

/// The spans as text, run by run, and what there is to remark.
pub(super) fn text(told: &[Told], remarks: &[String]) -> Result<String, Failure> {
    let mut page = String::new();
    let mut run = None;
    for span in told {
        if run != Some(&span.verdict.run_id) {
            run = Some(&span.verdict.run_id);
            line(&mut page, 0, &format!("run {}", span.verdict.run_id));
        }
        block(&mut page, span)?;
    }
    for remark in remarks {
        line(&mut page, 0, &format!("note: {remark}"));
    }
    Ok(page)
}

fn line(page: &mut String, indent: usize, text: &str) {
    let text = text.trim_end();
    // Writing to a string can't fail.
    writeln!(page, "{:indent$}{text}", "").unwrap_or_default();
}

fn block(page: &mut String, span: &Told) -> Result<(), Failure> {
    let Told { verdict, row, reasons } = span;
    let indent = 2 + 2 * verdict.depth.min(20);
    let name = value(row, "name")?.unwrap_or_default();
    line(page, indent, &format!("{name} [{}]: {}", verdict.span_id, verdict.role));
    for (label, shown, why) in details(row, verdict, reasons.as_ref())? {
        let shown = if why.is_empty() { shown } else { format!("{:<32}", short(&shown)) };
        line(page, indent + 4, &format!("{label:<18} {shown} {why}"));
    }
    Ok(())
}

/// The lines of a block: what, its value, and why.
fn details(
    row: &RecordBatch,
    verdict: &Verdict,
    reasons: Option<&Reasons>,
) -> Result<Vec<(String, String, String)>, Failure> {
    let mut lines = Vec::new();
    let mut add = |label: &str, shown: String, why: String| lines.push((label.to_owned(), shown, why));
    let kind = value(row, "kind")?.unwrap_or_default();
    let told = reasons.map(|reasons| reasons.kind.as_ref().map_or("no rule tells".to_owned(), said));
    add("kind", kind.clone(), told.unwrap_or_default());
    if kind != verdict.kind {
        add("counted as", verdict.kind.to_owned(), String::new());
    }
    if let Some(dialect) = value(row, "dialect")? {
        let rule = reasons.and_then(|reasons| reasons.kind.as_ref()?.rule.as_ref());
        let by_scope = reasons.is_some() && rule.is_none_or(|rule| rule.dialect != dialect);
        add("dialect", dialect, if by_scope { "by its scope".to_owned() } else { String::new() });
    }
    let none = Reasons::default();
    let places = &reasons.unwrap_or(&none).places;
    for field in row.schema().fields() {
        let column = field.name().as_str();
        let shown = value(row, column)?;
        let here = places.iter().filter(|place| place.column == column);
        let (won, lost): (Vec<_>, Vec<_>) = here.partition(|place| place.outcome == Outcome::Won);
        let matters = |place: &&Place| place.outcome != Outcome::NotMeant;
        if LEFT_OUT.contains(&column) || (shown.is_none() && won.is_empty() && !lost.iter().any(matters)) {
            continue;
        }
        add(column, shown.clone().unwrap_or_else(|| "null".to_owned()), why(&won, &lost, shown.as_deref()));
    }
    if let Some(basis) = value(row, "input_basis")?.filter(|_| reasons.is_none()) {
        add("input is", basis, String::new());
    }
    if let Some(codes) = value(row, "quality")?.filter(|codes| codes != "[]") {
        add("quality", codes, String::new());
    }
    match reasons {
        Some(reasons) => {
            for effect in &reasons.effects {
                add("then", said(effect), String::new());
            }
            lines.extend(ignored(&reasons.ignored));
        }
        None => lines.extend(kept(row)),
    }
    Ok(lines)
}

/// Which place won, and which were there and lost.
fn why(won: &[&Place], lost: &[&Place], shown: Option<&str>) -> String {
    let mut words = Vec::new();
    for place in won {
        let sent = place.value.as_deref().filter(|sent| !shown.is_some_and(|shown| same(sent, shown)));
        let sent = sent.map_or(String::new(), |sent| format!(" says {}", short(sent)));
        words.push(format!("{}{sent} ({})", place.origin, at(&place.rule)));
    }
    for place in lost {
        let reason = match place.outcome {
            Outcome::Won | Outcome::NotMeant => continue,
            Outcome::Late => "came later",
            Outcome::Empty => "says nothing",
            Outcome::Cut => "is cut short",
            Outcome::BadNumber => "is no number",
        };
        // The same attribute, read at another path, is not another place.
        let attribute = attribute(place);
        let said = format!("{attribute} {reason}");
        if !words.contains(&said) && !won.iter().any(|won| self::attribute(won) == attribute) {
            words.push(said);
        }
    }
    words.join("; ")
}

/// Whether two texts are one value: 1000 is 1000.0.
fn same(one: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    one == other || number(one).is_some_and(|one| Some(one) == number(other))
}

/// The place without the path into it.
fn attribute(place: &Place) -> &str {
    place.origin.split(" / ").next().unwrap_or_default()
}

/// What gave nothing to any column, by what became of it.
fn ignored(ignored: &[Ignored]) -> Vec<(String, String, String)> {
    let usage = |ignored: &&Ignored| ignored.like_usage;
    let of = |fate: Fate| move |ignored: &&Ignored| ignored.fate == fate && !ignored.like_usage;
    let some = ignored.iter();
    [
        ("usage not taken", some.clone().filter(usage).collect::<Vec<_>>()),
        ("kept as they are", some.clone().filter(of(Fate::Kept)).collect()),
        ("content, dropped", some.clone().filter(of(Fate::Content)).collect()),
        ("not read", some.filter(of(Fate::Unread)).collect()),
    ]
    .into_iter()
    .filter(|(_, ignored)| !ignored.is_empty())
    .map(|(label, ignored)| {
        (label.to_owned(), list(ignored.iter().map(|ignored| ignored.name.as_str())), String::new())
    })
    .collect()
}

/// What the lake kept of the attributes.
fn kept(row: &RecordBatch) -> Option<(String, String, String)> {
    let entries = row.column_by_name("attributes")?.as_map_opt()?.value(0);
    let names = list(entries.column(0).as_string_opt::<i32>()?.iter().flatten());
    (!names.is_empty()).then(|| ("kept as they are".to_owned(), names, String::new()))
}

/// Names in a line, those that differ in numbers alone once.
fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut shown: Vec<String> = Vec::new();
    for name in names {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let parts: Vec<&str> = name.split('.').map(|part| if is_number(part) { "N" } else { part }).collect();
        let name = parts.join(".");
        if !shown.contains(&name) {
            shown.push(name);
        }
    }
    let more = shown.len().saturating_sub(NAMES);
    shown.truncate(NAMES);
    let shown = shown.join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// What a rule did or read, and where it stands.
fn said(effect: &Effect) -> String {
    match &effect.rule {
        Some(rule) => format!("{} ({})", effect.says, at(rule)),
        None => effect.says.clone(),
    }
}

fn at(rule: &Rule) -> String {
    let file = rule.file.rsplit('/').next().unwrap_or_default();
    format!("{file}:{} [[{}]]", rule.line, rule.table)
}

/// As much of a value as fits a line.
fn short(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

/// A column of the row as text; none where it is null or not there.
fn value(row: &RecordBatch, column: &str) -> Result<Option<String>, Failure> {
    let Some(column) = row.column_by_name(column).filter(|column| column.is_valid(0)) else {
        return Ok(None);
    };
    let options = FormatOptions::default();
    Ok(Some(ArrayFormatter::try_new(column, &options)?.value(0).to_string()))
}

/// One span as JSON: its verdict, its columns without nulls, and why they are what they are.
pub(super) fn json(told: &Told) -> Result<Value, Failure> {
    let Told { verdict, row, reasons } = told;
    let mut bytes = Vec::new();
    let mut writer: LineDelimitedWriter<_> = WriterBuilder::new().build(&mut bytes);
    writer.write(row)?;
    writer.finish()?;
    let columns: Value = serde_json::from_slice(&bytes).map_err(Failure::internal)?;
    Ok(json!({
        "run_id": verdict.run_id,
        "trace_id": verdict.trace_id,
        "span_id": verdict.span_id,
        "depth": verdict.depth,
        "kind": verdict.kind,
        "counted": verdict.role,
        "columns": columns,
        "why": reasons,
    }))
}
