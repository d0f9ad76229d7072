//! The table that people read: a block a scenario, a line a pool, reservation or stage and percentile.
//!
//! Invariant: needs and warnings stand below the figures that they are for, each once.

use super::WorksheetLine;
use crate::quantity::Quantity;

/// Columns, in their order.
const COLUMNS: usize = 14;
const HEADS: [&str; COLUMNS] = [
    "",
    "name",
    "at",
    "requests/min",
    "input/min",
    "cached/min",
    "audio/min",
    "output/min",
    "in flight",
    "slots P95",
    "units",
    "USD/hour",
    "USD/day",
    "next step, limit at",
];
/// Columns of words, which stand to the left; figures stand to the right.
const WORDS: [usize; 4] = [0, 1, 2, 13];

/// The lines of a worksheet as text, scenario by scenario.
pub fn worksheet_table(lines: &[WorksheetLine]) -> String {
    let mut scenarios: Vec<&str> = Vec::new();
    for line in lines {
        if !scenarios.contains(&line.scenario.as_str()) {
            scenarios.push(&line.scenario);
        }
    }
    let of = |name: &&str| lines.iter().filter(|line| line.scenario == **name).collect();
    scenarios.iter().map(|name| block(name, of(name))).collect()
}

fn block(scenario: &str, mut lines: Vec<&WorksheetLine>) -> String {
    let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    let kind = |line: &str| ["pool", "reservation", "stage"].iter().position(|kind| *kind == line);
    lines.sort_by_key(|line| (kind(line.line), names.iter().position(|name| *name == line.name)));
    let mut rows: Vec<[String; COLUMNS]> = vec![HEADS.map(str::to_owned)];
    rows.extend(lines.iter().map(|line| row(line)));
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = format!("scenario: {scenario}\n");
    for row in &rows {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if WORDS.contains(&column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    let needs = lines.iter().filter_map(|line| {
        let need = line.need.as_ref()?;
        Some(format!("need at {}, {}: {need}", line.percentile, line.name))
    });
    let mut below: Vec<String> = needs.collect();
    for line in &lines {
        for warning in &line.warnings {
            let note = format!("note, {}: {warning}", line.name);
            if !below.contains(&note) {
                below.push(note);
            }
        }
    }
    for line in below {
        text += &line;
        text.push('\n');
    }
    text.push('\n');
    text
}

fn row(line: &WorksheetLine) -> [String; COLUMNS] {
    let number = |value: &Option<Quantity>| value.as_ref().map(Quantity::to_string).unwrap_or_default();
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let units = match (&line.units, &line.unit) {
        (Some(units), Some(unit)) => format!("{units} {unit}"),
        (None, Some(unit)) => unit.clone(),
        (units, None) => text(units),
    };
    let triggers: Vec<String> = [&line.next_step_at, &line.limit_at].into_iter().flatten().cloned().collect();
    [
        line.line.to_owned(),
        line.name.clone(),
        line.percentile.to_owned(),
        number(&line.requests_per_min),
        number(&line.input_tokens_per_min),
        number(&line.cached_tokens_per_min),
        number(&line.audio_tokens_per_min),
        number(&line.output_tokens_per_min),
        number(&line.in_flight),
        line.slots_p95.map(|slots| slots.to_string()).unwrap_or_default(),
        units,
        text(&line.usd_per_hour),
        text(&line.usd_per_day),
        triggers.join(", "),
    ]
}
