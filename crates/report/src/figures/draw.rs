//! Draw against limit: what a pool's busiest minutes came to, day by day, and what its next event
//! will ask of the limit.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use plimsoll_plan::{DimensionPlan, Measured, OccurrenceMeasured, Plan, PoolPlan};

use super::{Figure, Table, needs_action, sample, series, series::Drawn, whereabouts};
use crate::{
    charts::{Band, DayDraw, DrawLimit, Forecast, Label, Step},
    format::{NONE, about, compact, count, day, day_year, group},
    local::Local,
    names,
};

/// Days shown after the last that matters.
const MARGIN_DAYS: i64 = 3;

/// Days shown ahead where no event is forecast.
const AHEAD_DAYS: i64 = 21;

/// Most rows of the table under the chart.
const MOST_ROWS: usize = 12;

pub(super) fn figure(
    number: usize,
    plan: &Plan,
    drawn: &Drawn<'_>,
    measured: &Measured,
    known: &BTreeSet<Date>,
    local: &Local,
) -> Option<Figure> {
    let (pool, dimension) = (drawn.plan, drawn.dimension);
    let days = days(drawn, known, local)?;
    let bands = bands(plan, pool, dimension, measured, local);
    let chart = chart(plan, dimension, days, bands, local);
    let label = Label {
        id: format!("draw-{number}"),
        title: title(pool, dimension, &chart, local),
        desc: description(dimension, &chart),
    };
    let place = whereabouts(pool);
    let first = chart.days.first().map_or(chart.as_of, |d| d.day);
    let last = chart.days.last().map_or(chart.as_of, |d| d.day);
    let hollow = if chart.days.iter().any(|d| d.throttled) {
        " \u{b7} hollow: throttled, so at least this much; a triangle at the highest of each stretch"
    } else {
        ""
    };
    let passed = match chart.days.iter().filter(|d| chart.passes(d) && !d.throttled).count() {
        0 => String::new(),
        n => {
            format!(
                " \u{b7} filled above the line: over the limit without a refusal, on {}",
                count(n as u64, "day", "days")
            )
        }
    };
    let missing = if chart.days.iter().any(|d| d.amount.is_none()) {
        " \u{b7} small circles: no telemetry"
    } else {
        ""
    };
    Some(Figure {
        subtitle: format!(
            "Busiest minute of each day, {} ({}) \u{b7} {place} \u{b7} {} to {}, {} time{hollow}{passed}{missing}",
            names::dimension(&dimension.dimension),
            dimension.basis,
            day(first),
            day_year(last),
            local.city(),
        ),
        svg: chart.svg(&label),
        table: table(&chart),
        source: series::query(drawn),
        label,
    })
}

/// Every day from the first to the last that was measured.
fn days(drawn: &Drawn<'_>, known: &BTreeSet<Date>, local: &Local) -> Option<Vec<DayDraw>> {
    let drawn = series::by_day(drawn.pool, &drawn.measure, local);
    if drawn.is_empty() {
        return None;
    }
    let day = |day| {
        let (amount, throttled) = match drawn.get(&day) {
            Some(&(amount, throttled)) => (Some(amount), throttled),
            None => (known.contains(&day).then_some(0), false),
        };
        DayDraw { day, amount, throttled }
    };
    Some(series::every_day(known).into_iter().map(day).collect())
}

/// Occurrences, past and coming, of the events that move this pool: those that its workflows lived
/// through, and the one that it is planned for.
fn bands(
    plan: &Plan,
    pool: &PoolPlan,
    dimension: &DimensionPlan,
    measured: &Measured,
    local: &Local,
) -> Vec<Band> {
    let draws_here = |workflow: &str| pool.contributors.iter().any(|c| c.workflow == workflow);
    let past: Vec<&OccurrenceMeasured> =
        measured.workflows.iter().filter(|w| draws_here(&w.workflow)).flat_map(|w| &w.occurrences).collect();
    let concerns =
        |event: &str| Some(event) == dimension.event.as_deref() || past.iter().any(|o| o.event == event);
    let past_spans = past.iter().map(|o| (&o.event, o.start, o.end));
    let coming = plan.events.iter().filter(|e| concerns(&e.event)).map(|e| (&e.event, e.start, e.end));
    // Two workflows of one event give one band.
    let unique: BTreeMap<(Date, Date), &String> = past_spans
        .chain(coming)
        .map(|(event, start, end)| ((local.day(start), local.last_day(end)), event))
        .collect();
    unique.into_iter().map(|((from, to), name)| Band { from, to, name: name.clone() }).collect()
}

fn chart(
    plan: &Plan,
    dimension: &DimensionPlan,
    days: Vec<DayDraw>,
    bands: Vec<Band>,
    local: &Local,
) -> DrawLimit {
    let as_of = local.day(plan.as_of);
    let forecast = dimension.event_start.map(|start| Forecast {
        day: local.day(start),
        mean: dimension.mean_demand,
        p95: dimension.p95_floor,
    });
    let last = days.last().map_or(as_of, |d| d.day).max(as_of);
    let until = match &forecast {
        Some(f) => series::later(f.day.max(last), MARGIN_DAYS),
        None => series::later(last, AHEAD_DAYS),
    };
    let acting = needs_action(dimension);
    DrawLimit {
        limits: limits(dimension),
        days,
        bands,
        as_of,
        file_by: dimension.file_by.filter(|day| acting && *day >= as_of),
        last_safe: dimension.last_safe.filter(|_| acting),
        forecast,
        until,
    }
}

/// The dated limits; the one in force where no dates are known.
pub(super) fn limits(dimension: &DimensionPlan) -> Vec<Step> {
    if dimension.limits.is_empty() {
        return dimension.limit.map(|value| Step { from: None, value }).into_iter().collect();
    }
    let steps = dimension.limits.iter();
    steps.map(|s| Step { from: s.from, value: s.value }).collect()
}

/// The finding: whether the limit holds at the next event, and whether it held before.
fn title(pool: &PoolPlan, dimension: &DimensionPlan, chart: &DrawLimit, local: &Local) -> String {
    let model = names::model(&pool.pool);
    let past: Vec<&Band> = chart.bands.iter().filter(|b| b.to < chart.as_of).collect();
    let hit = past.iter().filter(|b| throttled_in(chart, b)).count();
    let before = match (hit, past.len()) {
        (0, _) => String::new(),
        (hit, all) => format!(", as at {hit} of the last {all}"),
    };
    let Some(limit) = dimension.limit else {
        return format!("{model} draws on a pool whose limit is not known");
    };
    let event = match (&dimension.event, dimension.event_start) {
        (Some(event), Some(start)) => format!("the {event} of {}", day(local.day(start))),
        (Some(event), None) => format!("the {event}"),
        _ => "its busiest".to_owned(),
    };
    if dimension.fix_first {
        format!("{model} passes its limit at {event} unless a setting changes{before}")
    } else if dimension.p95_floor > limit {
        format!("{model} passes its limit at {event}{before}")
    } else if dimension.need > limit {
        format!("{model} has too little headroom left at {event}")
    } else {
        let used = about(dimension.utilization_p95.unwrap_or_default());
        match chart.days.iter().filter(|d| chart.passes(d) || d.throttled).count() {
            0 => format!("{model} stays under its limit at {event}: P95 is {used} of it"),
            n => format!(
                "{model} reached its limit on {n} of {}; at {event} P95 is {used} of it",
                count(chart.days.len() as u64, "day", "days")
            ),
        }
    }
}

fn throttled_in(chart: &DrawLimit, band: &Band) -> bool {
    chart.days.iter().any(|d| d.throttled && (band.from..=band.to).contains(&d.day))
}

fn description(dimension: &DimensionPlan, chart: &DrawLimit) -> String {
    let mut known: Vec<u64> = chart.days.iter().filter_map(|d| d.amount).collect();
    let mut parts = Vec::new();
    let busiest = chart.days.iter().max_by_key(|d| (d.amount, std::cmp::Reverse(d.day)));
    if let (Some(median), Some(top)) = (series::median(&mut known), busiest) {
        parts.push(format!(
            "The busiest minute of a day is {} at the median of {}, and {} at most, on {}",
            compact(median),
            count(known.len() as u64, "day", "days"),
            top.amount.map_or_else(|| NONE.to_owned(), |a| compact(a as f64)),
            day(top.day),
        ));
    }
    let throttled: Vec<String> = chart.days.iter().filter(|d| d.throttled).map(|d| day(d.day)).collect();
    if !throttled.is_empty() {
        let listed = match throttled.as_slice() {
            [one] => one.clone(),
            few if few.len() <= 4 => few.join(", "),
            many => format!("{} and {} more", many.get(..3).unwrap_or_default().join(", "), many.len() - 3),
        };
        parts.push(format!("throttled on {listed}, where demand is a lower bound"));
    }
    let missing = chart.days.iter().filter(|d| d.amount.is_none()).count();
    if missing > 0 {
        parts.push(format!("no telemetry on {} (dots)", count(missing as u64, "day", "days")));
    }
    let limits: Vec<String> = chart
        .limits
        .iter()
        .map(|s| match s.from {
            Some(from) => format!("{} from {}", compact(s.value as f64), day_year(from)),
            None => compact(s.value as f64),
        })
        .collect();
    if !limits.is_empty() {
        parts.push(format!("limit {}", limits.join(", ")));
    }
    if let Some(f) = &chart.forecast {
        parts.push(format!(
            "forecast for {}: mean {}, P95 {} (n = {})",
            day(f.day),
            compact(f.mean as f64),
            compact(f.p95 as f64),
            sample(dimension),
        ));
    }
    format!("{}.", parts.join("; "))
}

/// The days that matter: those of events, the highest throttled ones, and the busiest ordinary one.
fn table(chart: &DrawLimit) -> Table {
    let event_of = |date: Date| chart.bands.iter().find(|b| (b.from..=b.to).contains(&date));
    let limit_on = |date: Date| chart.limit_on(date).map_or_else(|| NONE.to_owned(), group);
    let ordinary = chart
        .days
        .iter()
        .filter(|d| event_of(d.day).is_none() && !d.throttled)
        .max_by_key(|d| (d.amount, std::cmp::Reverse(d.day)))
        .map(|d| d.day);
    // Events first; what is left of the room goes to the highest of the other days.
    let what = |draw: &DayDraw| match (event_of(draw.day), draw.throttled) {
        (Some(band), _) => Some(band.name.clone()),
        (None, true) => Some("throttled".to_owned()),
        (None, false) => (Some(draw.day) == ordinary).then(|| "busiest ordinary day".to_owned()),
    };
    let mut told: Vec<(&DayDraw, String)> = chart.days.iter().filter_map(|d| Some((d, what(d)?))).collect();
    told.sort_by_key(|(d, _)| {
        let event = event_of(d.day).is_some();
        (!event, std::cmp::Reverse(if event { None } else { d.amount }), std::cmp::Reverse(d.day))
    });
    told.truncate(MOST_ROWS);
    told.sort_by_key(|(d, _)| d.day);
    let mut rows: Vec<Vec<String>> = told
        .into_iter()
        .map(|(draw, what)| {
            let amount = match (draw.amount, draw.throttled) {
                (None, _) => NONE.to_owned(),
                (Some(amount), true) => format!("\u{2265} {}", group(amount)),
                (Some(amount), false) => group(amount),
            };
            vec![day_year(draw.day), what, amount, limit_on(draw.day)]
        })
        .collect();
    if let Some(f) = &chart.forecast {
        let name = event_of(f.day).map_or_else(String::new, |b| format!("{}, ", b.name));
        for (word, value) in [("mean", f.mean), ("P95", f.p95)] {
            rows.push(vec![day_year(f.day), format!("{name}forecast {word}"), group(value), limit_on(f.day)]);
        }
    }
    Table { head: vec!["day", "what", "busiest minute", "limit"], text_columns: 2, rows }
}
