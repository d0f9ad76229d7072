//! Why calls are refused below what is used: what a pool's calls reserve at their start beside what they
//! turn out to use.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use plimsoll_plan::{DimensionPlan, PoolPlan};

use super::{Figure, Table, draw::limits, series, series::Drawn, whereabouts};
use crate::{
    charts::{Admission, DayPair, Label},
    format::{NONE, compact, day, day_year, group, ratio},
    local::Local,
    names,
};

/// How much more is reserved than used, at least, before it is worth a chart.
const WORTH: f64 = 1.1;

/// Most rows of the table under the chart: the days with the most reserved.
const MOST_ROWS: usize = 10;

pub(super) fn figure(
    number: usize,
    drawn: &Drawn<'_>,
    known: &BTreeSet<Date>,
    local: &Local,
) -> Option<Figure> {
    let (pool, dimension) = (drawn.plan, drawn.dimension);
    let what = drawn.measure.split_once('.')?.1;
    let (reserved, used) = (format!("admission.{what}"), format!("settlement.{what}"));
    let days = days(drawn, (&reserved, &used), known, local)?;
    let chart = Admission { days, limits: limits(dimension) };
    let busiest = chart.days.iter().filter_map(|d| Some((d.amounts?, d.day))).max_by_key(|(a, _)| a.0)?;
    let ((most, settled), on) = busiest;
    let times = most as f64 / settled.max(1) as f64;
    if times < WORTH {
        return None;
    }
    let words = names::dimension(&dimension.dimension);
    let refused = series::hours(drawn.pool, &reserved).any(|hour| hour.throttled > 0);
    let label = Label {
        id: format!("admission-{number}"),
        title: title(pool, dimension, times, (most, settled), refused),
        desc: format!(
            "On {}, the day with the most reserved, the busiest minute took {} {words} at admission and {} at settlement, {} as much{}.",
            day_year(on),
            compact(most as f64),
            compact(settled as f64),
            ratio(times),
            dimension.limit.map_or_else(String::new, |l| format!("; the limit is {}", compact(l as f64))),
        ),
    };
    let first = chart.days.first().map_or(on, |d| d.day);
    let last = chart.days.last().map_or(on, |d| d.day);
    Some(Figure {
        subtitle: format!(
            "Busiest minute of each day, {words}, counted when calls start and when they end \u{b7} {} \u{b7} {} to {}, {} time",
            whereabouts(pool),
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

/// Every day with both counts, from the first to the last that was measured; none where the pool is not metered
/// by both.
fn days(
    drawn: &Drawn<'_>,
    (reserved, used): (&str, &str),
    known: &BTreeSet<Date>,
    local: &Local,
) -> Option<Vec<DayPair>> {
    let at_admission = series::by_day(drawn.pool, reserved, local);
    let settled = series::by_day(drawn.pool, used, local);
    if at_admission.is_empty() || settled.is_empty() {
        return None;
    }
    let of = |days: &BTreeMap<Date, (u64, bool)>, date: Date| days.get(&date).map_or(0, |d| d.0);
    let pair = |date| DayPair {
        day: date,
        amounts: known.contains(&date).then(|| (of(&at_admission, date), of(&settled, date))),
    };
    Some(series::every_day(known).into_iter().map(pair).collect())
}

fn title(
    pool: &PoolPlan,
    dimension: &DimensionPlan,
    times: f64,
    (most, settled): (u64, u64),
    refused: bool,
) -> String {
    let model = names::model(&pool.pool);
    let times = ratio(times);
    // By what is used alone the limit would hold.
    if dimension.limit.is_none_or(|limit| most <= limit || settled > limit) {
        return format!("{model} reserves {times} what it uses");
    }
    if refused {
        format!("{model} is refused for what calls reserve, not for what they use: {times} as much")
    } else {
        format!("{model} passes its limit by what calls reserve, not by what they use: {times} as much")
    }
}

fn table(chart: &Admission) -> Table {
    let mut known: Vec<(&DayPair, (u64, u64))> =
        chart.days.iter().filter_map(|d| Some((d, d.amounts?))).collect();
    known.sort_by_key(|(d, amounts)| (std::cmp::Reverse(amounts.0), d.day));
    known.truncate(MOST_ROWS);
    known.sort_by_key(|(d, _)| d.day);
    let row = |(d, (reserved, used)): (&DayPair, (u64, u64))| {
        let times = if used > 0 { ratio(reserved as f64 / used as f64) } else { NONE.to_owned() };
        vec![day_year(d.day), group(reserved), group(used), times]
    };
    Table {
        head: vec!["day", "at admission", "settled", "reserved over used"],
        text_columns: 1,
        rows: known.into_iter().map(row).collect(),
    }
}
