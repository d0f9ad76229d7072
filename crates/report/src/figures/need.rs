//! Why an ask is what it is: from mean demand over the percentile and headroom to the provider's
//! step.

use plimsoll_plan::{DimensionPlan, PoolPlan};

use super::{Figure, Need, Table, of_minutes, sample, whereabouts};
use crate::{
    charts::{Label, Part, PartKind, Waterfall},
    format::{compact, count, day, day_year, group, percent, ratio},
    local::Local,
    names,
};

pub(super) fn figure(id: &str, pool: &PoolPlan, dimension: &DimensionPlan, local: &Local) -> Option<Need> {
    let ask = dimension.ask?;
    let chart = Waterfall {
        parts: parts(dimension, ask),
        total_name: "ask".to_owned(),
        total: ask,
        limit: dimension.limit,
    };
    let words = names::dimension(&dimension.dimension);
    let label = Label {
        id: id.to_owned(),
        title: title(dimension, ask, &words, local),
        desc: description(dimension, &chart, ask),
    };
    let place = whereabouts(pool);
    let at = match (&dimension.event, dimension.event_start) {
        (Some(event), Some(start)) => {
            let start = local.day(start);
            format!("{event} of {}", day_year(start))
        }
        (Some(event), None) => event.clone(),
        _ => "busiest hour of the week".to_owned(),
    };
    let rate =
        if of_minutes(dimension) { "busy minutes".to_owned() } else { names::rate(&dimension.rate_from) };
    let figure = Figure {
        subtitle: format!(
            "{place} \u{b7} {at} \u{b7} {} s window, {} \u{b7} rate from {} \u{b7} n = {}, {}",
            dimension.window_s,
            dimension.basis,
            rate,
            sample(dimension),
            count(u64::from(dimension.occurrences), "past occurrence", "past occurrences"),
        ),
        svg: chart.svg(&label),
        table: table(&chart),
        source: format!(
            "plan.json, pools, {} {}, dimension {}",
            pool.pool,
            names::place(pool.account.as_deref(), pool.region.as_deref()),
            dimension.dimension
        ),
        label,
    };
    Some(Need { figure, derivation: dimension.derivation.clone() })
}

/// What is asked for, and what it has to cover.
fn title(dimension: &DimensionPlan, ask: u64, words: &str, local: &Local) -> String {
    let need = dimension.largest_need.unwrap_or(dimension.need).max(dimension.need);
    let when = match (dimension.event_start, dimension.largest_need) {
        (Some(start), None) => format!(" on {}", day(local.day(start))),
        _ => String::new(),
    };
    format!("Why {} {words}: {} are needed{when}", compact(ask as f64), compact(need as f64))
}

/// Difference of two amounts, exact for every amount that a limit can have.
fn minus(a: u64, b: u64) -> i64 {
    let size = i64::try_from(a.abs_diff(b)).unwrap_or(i64::MAX);
    if a >= b { size } else { -size }
}

fn parts(dimension: &DimensionPlan, ask: u64) -> Vec<Part> {
    let (mean, floor) = (dimension.mean_demand, dimension.p95_floor);
    let (by_hand, need) = (dimension.p95_need, dimension.need);
    let part = |name: &str, delta: i64, kind: PartKind| Part { name: name.to_owned(), delta, kind };
    let headroom = if dimension.forecast_p95 == Some(by_hand) {
        "P95 of the forecast, more than headroom".to_owned()
    } else if floor > 0 {
        let share = (by_hand as f64 - floor as f64) / floor as f64;
        format!("headroom {}", percent(share))
    } else {
        "headroom".to_owned()
    };
    let percentile = if of_minutes(dimension) { "up to the P95 minute" } else { "up to the P95 run" };
    let mut parts = vec![
        part("mean demand", minus(mean, 0), PartKind::Demand),
        part(percentile, minus(floor, mean), PartKind::Percentile),
        part(&headroom, minus(by_hand, floor), PartKind::Headroom),
    ];
    if need != by_hand {
        parts.push(part("replay instead of P95 \u{d7} rate", minus(need, by_hand), PartKind::Replay));
    }
    let step = match &dimension.grant_step {
        Some(name) => format!("provider\u{2019}s step ({name})"),
        None => "provider\u{2019}s step".to_owned(),
    };
    let largest = dimension.largest_need.unwrap_or(need).max(need);
    parts.push(part("a larger need later", minus(largest, need), PartKind::Later));
    parts.push(part(&step, minus(ask, largest), PartKind::Step));
    // A step that changes nothing is no news.
    parts.retain(|p| p.delta != 0 || p.kind == PartKind::Demand);
    parts
}

fn description(dimension: &DimensionPlan, chart: &Waterfall, ask: u64) -> String {
    let steps: Vec<String> =
        chart.parts.iter().map(|p| format!("{} {}", p.name, compact(p.delta as f64))).collect();
    let limit = match dimension.limit {
        Some(limit) if limit > 0 => format!(
            ", {} today\u{2019}s limit of {}",
            ratio(ask as f64 / limit as f64),
            compact(limit as f64)
        ),
        _ => String::new(),
    };
    format!("{}; together an ask of {}{limit}.", steps.join("; "), compact(ask as f64))
}

fn table(chart: &Waterfall) -> Table {
    let mut sum = 0_i64;
    let signed = |value: i64| {
        let sign = if value < 0 { "\u{2212}" } else { "" };
        format!("{sign}{}", group(value.unsigned_abs()))
    };
    let mut rows: Vec<Vec<String>> = chart
        .parts
        .iter()
        .map(|p| {
            sum = sum.saturating_add(p.delta);
            vec![p.name.clone(), signed(p.delta), signed(sum)]
        })
        .collect();
    rows.push(vec![chart.total_name.clone(), String::new(), group(chart.total)]);
    if let Some(limit) = chart.limit {
        rows.push(vec!["limit today".to_owned(), String::new(), group(limit)]);
    }
    Table { head: vec!["step", "adds", "sum"], text_columns: 1, rows }
}
