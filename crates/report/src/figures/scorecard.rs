//! Whether the forecast can be trusted: each past occurrence of an event beside what was forecast of it
//! from what was known before, and beside the rate that the spec declares.

use std::collections::BTreeSet;

use plimsoll_plan::{EventRatePlan, OccurrencePlan, Plan};

use super::{Figure, Table};
use crate::{
    charts::{Label, Scorecard, Scored},
    format::{NONE, count, day_year, fixed},
    local::Local,
};

/// Most occurrences drawn, the latest.
const MOST: usize = 12;

/// How the forecasts of past occurrences did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Score {
    /// Occurrences that were measured.
    pub(crate) measured: usize,
    /// Of those, the ones of which anything could be forecast before.
    pub(crate) forecast: usize,
    /// Of those, the ones that stayed within P95.
    pub(crate) within: usize,
    /// Occurrences above the rate that the spec declares for the next.
    pub(crate) above_declared: usize,
    /// Occurrences of events with a declared rate.
    pub(crate) with_declared: usize,
}

/// The score over all events and workflows.
pub(crate) fn score(plan: &Plan) -> Score {
    let mut score = Score::default();
    for (event, past) in all(plan) {
        score.measured += 1;
        if let Some(p95) = past.forecast_p95 {
            score.forecast += 1;
            score.within += usize::from(past.runs_per_min <= p95);
        }
        if let Some(declared) = declared(event) {
            score.with_declared += 1;
            score.above_declared += usize::from(past.runs_per_min > declared);
        }
    }
    score
}

/// Every past occurrence, with the row that it is of.
fn all(plan: &Plan) -> impl Iterator<Item = (&EventRatePlan, &OccurrencePlan)> {
    plan.event_rates.iter().flat_map(|event| event.past.iter().map(move |past| (event, past)))
}

/// The rate that the spec gives, where it gives one.
fn declared(event: &EventRatePlan) -> Option<f64> {
    let given = matches!(event.rate_from.as_deref(), Some("in_flight" | "runs_per_min" | "multiplier"));
    event.runs_per_min.filter(|_| given)
}

pub(super) fn figure(plan: &Plan, local: &Local) -> Option<Figure> {
    let score = score(plan);
    let mut past: Vec<(&EventRatePlan, &OccurrencePlan)> = all(plan).collect();
    past.sort_by(|a, b| (a.1.day, &a.0.event, &a.0.workflow).cmp(&(b.1.day, &b.0.event, &b.0.workflow)));
    let left = past.len().saturating_sub(MOST);
    past.drain(..left);
    let first = past.first()?.1.day;
    let chart = Scorecard {
        rows: past.iter().map(|(event, past)| scored(event, past)).collect(),
        unit: "runs started a minute, busiest hour".to_owned(),
    };
    let label = Label { id: "scorecard".to_owned(), title: title(plan, score), desc: description(&chart) };
    let earlier = match left {
        0 => String::new(),
        n => format!(" \u{b7} {} in plan.json, event_rates", count(n as u64, "earlier one", "earlier ones")),
    };
    Some(Figure {
        subtitle: format!(
            "Runs started a minute in the busiest hour of each past occurrence since {}, {} time \u{b7} the forecast is made afterwards, from the occurrences and normal days before each one \u{b7} n = {} of {} forecast{earlier}",
            day_year(first),
            local.city(),
            score.forecast,
            count(score.measured as u64, "occurrence", "occurrences"),
        ),
        svg: chart.svg(&label),
        table: table(&chart),
        source: "plan.json, event_rates, past".to_owned(),
        label,
    })
}

/// A rate as it stands in a row: `16.4`, with the sign for "at least" before it where it is a lower bound.
fn rate(value: f64, censored: bool) -> String {
    let bound = if censored { "\u{2265} " } else { "" };
    format!("{bound}{}", fixed(value, if value < 10.0 { 2 } else { 1 }))
}

fn scored(event: &EventRatePlan, past: &OccurrencePlan) -> Scored {
    let forecast = past.forecast_p50.zip(past.forecast_p95);
    let actual = rate(past.runs_per_min, past.censored);
    let verdict = match forecast {
        None => format!("{actual}, no forecast"),
        Some((_, p95)) if past.runs_per_min > p95 => format!("{actual}, above P95"),
        Some(_) => format!("{actual}, within P95"),
    };
    Scored {
        name: format!("{}, {}", event.event, day_year(past.day)),
        forecast,
        actual: past.runs_per_min,
        censored: past.censored,
        declared: declared(event),
        verdict,
    }
}

/// The finding; a declared rate that was passed every time is worth more than how forecasts did.
fn title(plan: &Plan, score: Score) -> String {
    let (above, of) = (score.above_declared, score.with_declared);
    if above > 0 && above * 2 >= of {
        let which = if above == of && of > 1 { format!("all {of}") } else { format!("{above} of {of}") };
        // Of rates that differ none stands for the others.
        let rates: BTreeSet<String> =
            all(plan).filter_map(|(event, _)| Some(rate(declared(event)?, false))).collect();
        let planned = match rates.first().filter(|_| rates.len() == 1) {
            Some(one) => format!("than the {one} runs a minute that are planned for"),
            None => "a minute than are planned for".to_owned(),
        };
        return format!("In {which} past occurrences more runs started {planned}");
    }
    match (score.within, score.forecast) {
        (_, 0) => format!(
            "{} measured, none of which could be forecast from what was known before",
            count(score.measured as u64, "past occurrence", "past occurrences")
        ),
        (within, n) => format!("{within} of {n} past occurrences stayed within the P95 of their forecast"),
    }
}

fn description(chart: &Scorecard) -> String {
    let row = |r: &Scored| {
        let forecast = r.forecast.map_or_else(String::new, |(p50, p95)| {
            format!(", forecast P50 {} and P95 {}", rate(p50, false), rate(p95, false))
        });
        let declared = r.declared.map_or_else(String::new, |d| format!(", declared {}", rate(d, false)));
        format!("{}: {}{forecast}{declared}", r.name, r.verdict)
    };
    let rows: Vec<String> = chart.rows.iter().map(row).collect();
    format!("Runs a minute. {}.", rows.join("; "))
}

fn table(chart: &Scorecard) -> Table {
    let number = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), |v| rate(v, false));
    let row = |r: &Scored| {
        vec![
            r.name.clone(),
            number(r.forecast.map(|f| f.0)),
            number(r.forecast.map(|f| f.1)),
            number(r.declared),
            rate(r.actual, r.censored),
        ]
    };
    Table {
        head: vec!["occurrence", "forecast P50", "forecast P95", "declared", "measured, runs a minute"],
        text_columns: 1,
        rows: chart.rows.iter().map(row).collect(),
    }
}
