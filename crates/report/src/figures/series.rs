//! Measured hours of a pool as local days and hours of the week.
//!
//! An hour without a row is zero only where telemetry of that day exists at all; a day on which
//! nothing was measured in any pool is unknown, not zero.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use plimsoll_plan::{DimensionPlan, Measured, PoolHour, PoolMeasured, PoolPlan};

use super::sql_text;
use crate::local::Local;

/// A planned limit with the measured draw that may be held against it.
pub(super) struct Drawn<'a> {
    /// What is planned of the pool.
    pub(super) plan: &'a PoolPlan,
    pub(super) dimension: &'a DimensionPlan,
    /// What was measured of it.
    pub(super) pool: &'a PoolMeasured,
    /// For example `settlement.input_tokens`.
    pub(super) measure: String,
}

/// The limit that a pool is drawn against: the binding one, else the first other, of those that are
/// enforced by the minute (a busiest minute says nothing of a limit over another window) and whose
/// draw was measured.
pub(super) fn drawn<'a>(pool: &'a PoolPlan, measured: &'a Measured) -> Option<Drawn<'a>> {
    let found = measured
        .pools
        .iter()
        .find(|m| m.pool == pool.pool && m.account == pool.account && m.region == pool.region)?;
    let binds = |d: &&DimensionPlan| Some(&d.dimension) == pool.binding.as_ref();
    let binding = pool.dimensions.iter().filter(binds);
    let others = pool.dimensions.iter().filter(|d| !binds(d));
    binding.chain(others).filter(|d| d.window_s == 60).find_map(|dimension| {
        let what = dimension.dimension.strip_suffix("_per_min")?;
        let measure = format!("{}.{what}", dimension.basis);
        let any = hours(found, &measure).next().is_some();
        any.then_some(Drawn { plan: pool, dimension, pool: found, measure })
    })
}

/// The query that gives the minutes behind a chart.
pub(super) fn query(drawn: &Drawn<'_>) -> String {
    let part = |column: &str, value: &Option<String>| {
        value.as_ref().map_or_else(String::new, |v| format!(" and {column} = {}", sql_text(v)))
    };
    format!(
        "select bucket, amount from draw where pool = {}{}{} and window_s = 60 and measure = {} order by bucket",
        sql_text(&drawn.pool.pool),
        part("account", &drawn.pool.account),
        part("region", &drawn.pool.region),
        sql_text(&drawn.measure)
    )
}

/// The pool's hours in one measure.
pub(super) fn hours<'a>(pool: &'a PoolMeasured, measure: &'a str) -> impl Iterator<Item = &'a PoolHour> {
    pool.hours.iter().filter(move |h| h.measure == measure)
}

/// Local days on which anything was measured, in any pool.
pub(super) fn known_days(measured: &Measured, local: &Local) -> BTreeSet<Date> {
    let drawn = measured.pools.iter().flat_map(|p| &p.hours).map(|h| h.hour);
    let started = measured.workflows.iter().flat_map(|w| &w.hourly_starts).map(|(hour, _)| *hour);
    drawn.chain(started).map(|at| local.day(at)).collect()
}

/// Most days of history shown: a year and the event of a year ago.
const MOST_DAYS: i64 = 400;

/// Every day from the first known to the last, those between them that are unknown too.
pub(super) fn every_day(known: &BTreeSet<Date>) -> Vec<Date> {
    let Some((first, last)) = known.first().zip(known.last()) else { return Vec::new() };
    let mut date = (*first).max(later(*last, -MOST_DAYS));
    let mut days = Vec::new();
    while date <= *last {
        days.push(date);
        let Ok(next) = date.tomorrow() else { break };
        date = next;
    }
    days
}

/// So many days later; the same day where that is out of range.
pub(super) fn later(date: Date, days: i64) -> Date {
    let span = jiff::Span::new().try_days(days);
    span.and_then(|s| date.checked_add(s)).unwrap_or(date)
}

/// By local day: the busiest minute, and whether anything was refused.
pub(super) fn by_day(pool: &PoolMeasured, measure: &str, local: &Local) -> BTreeMap<Date, (u64, bool)> {
    let mut days: BTreeMap<Date, (u64, bool)> = BTreeMap::new();
    for hour in hours(pool, measure) {
        let day = days.entry(local.day(hour.hour)).or_default();
        day.0 = day.0.max(hour.busiest_minute);
        day.1 |= hour.throttled > 0;
    }
    days
}

/// The median, the mean of the middle two where their number is even; `None` of nothing.
pub(super) fn median(values: &mut [u64]) -> Option<f64> {
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)? as f64;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *values.get(values.len() / 2 - 1)? as f64;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the heat map's figure: the exact median, and none of nothing.
    #[test]
    fn medians() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3, 1, 2]), Some(2.0));
        assert_eq!(median(&mut [4, 1, 3, 2]), Some(2.5));
    }
}
