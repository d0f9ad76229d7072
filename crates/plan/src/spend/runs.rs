//! How many runs each workflow starts in each month of the horizon.
//!
//! The invariant: every second of the horizon counts once, either as an hour of the week or as a part of the
//! event that moves the workflow then.

use std::collections::BTreeMap;

use rust_decimal::{Decimal, prelude::FromPrimitive};

use crate::context::Context;
use crate::horizon::Horizon;
use crate::quantity::Quantity;
use crate::rates::{Alike, Factor, Learned, Rhythm};
use crate::windows::EventWindows;

/// Runs of one workflow in one month.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Runs {
    /// As expected.
    pub(super) point: Decimal,
    /// At the P5 of growth.
    pub(super) low: Decimal,
    /// At the P95 of growth, and of rates in events.
    pub(super) high: Decimal,
}

impl Runs {
    fn add(&mut self, other: Self) {
        // Rates that nobody can mean are no reason to stop.
        self.point = self.point.saturating_add(other.point);
        self.low = self.low.saturating_add(other.low);
        self.high = self.high.saturating_add(other.high);
    }

    /// So many times as many.
    pub(super) fn times(self, factor: Decimal) -> Self {
        let of = |runs: Decimal| runs.saturating_mul(factor);
        Self { point: of(self.point), low: of(self.low), high: of(self.high) }
    }
}

/// Seconds of the horizon by kind of hour and month.
pub(super) struct Hours(BTreeMap<(Alike, usize), u64>);

impl Hours {
    pub(super) fn of(horizon: &Horizon) -> Self {
        let mut seconds = BTreeMap::new();
        for stretch in &horizon.stretches {
            if let Some(state) = horizon.states.get(stretch.state) {
                *seconds.entry((state.alike, stretch.month)).or_default() += stretch.seconds;
            }
        }
        Self(seconds)
    }
}

/// Runs of a workflow, month by month.
pub(super) fn by_month(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    horizon: &Horizon,
    hours: &Hours,
    learned: &Learned<'_>,
) -> Vec<Runs> {
    let mut months = vec![Runs::default(); horizon.months.len()];
    let moved = in_events(context, rhythm, horizon, learned, &mut months);
    // Of one month and one growth the hours of the week are summed first.
    let mut usual = BTreeMap::<(usize, usize), Decimal>::new();
    let mut sums: BTreeMap<usize, Vec<(Factor, Decimal)>> = BTreeMap::new();
    for ((alike, month), seconds) in &hours.0 {
        let left = seconds - moved.get(&(*alike, *month)).copied().unwrap_or(0);
        let per_min = *usual
            .entry(alike.hour())
            .or_insert_with(|| rhythm.usual(learned, *alike).as_ref().and_then(decimal).unwrap_or_default());
        if left == 0 || per_min.is_zero() {
            continue;
        }
        let (growth, runs) = (rhythm.growth_of(learned, *alike), per_min.saturating_mul(Decimal::from(left)));
        let of_month = sums.entry(*month).or_default();
        match of_month.iter_mut().find(|(known, _)| *known == growth) {
            Some((_, sum)) => *sum = sum.saturating_add(runs),
            None => of_month.push((growth, runs)),
        }
    }
    for (month, sums) in sums {
        let Some(of_month) = months.get_mut(month) else { continue };
        for (growth, sum) in sums {
            let runs = sum / Decimal::from(60);
            of_month.add(Runs {
                point: runs.saturating_mul(estimate(growth.point)),
                low: runs.saturating_mul(estimate(growth.low)),
                high: runs.saturating_mul(estimate(growth.high)),
            });
        }
    }
    months
}

/// Adds the runs of the events that move a workflow; returns the seconds that were so counted.
fn in_events(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    horizon: &Horizon,
    learned: &Learned<'_>,
    months: &mut [Runs],
) -> BTreeMap<(Alike, usize), u64> {
    let name = learned.measured.workflow.as_str();
    let mut moved = BTreeMap::new();
    for stretch in &horizon.stretches {
        let Some(state) = horizon.states.get(stretch.state).filter(|state| !state.on.is_empty()) else {
            continue;
        };
        let active: Vec<&EventWindows> =
            state.active(context).filter(|on| on.workflows.contains_key(name)).collect();
        let Some(event) = rhythm.mover(name, &active) else { continue };
        *moved.entry((state.alike, stretch.month)).or_default() += stretch.seconds;
        // A rate that is not known is none: the plan warns of it.
        let Some(rate) = rhythm.in_event(learned, event, stretch.from) else { continue };
        let growth = rhythm.growth(learned, stretch.from);
        let grown = ["measured", "assumed", "multiplier"].contains(&rate.from) && growth.point > 0.0;
        let fall = if grown { estimate(growth.low / growth.point) } else { Decimal::ONE };
        let runs_at = |per_min: &Quantity| runs(decimal(per_min).unwrap_or_default(), stretch.seconds);
        let point = runs_at(&rate.per_min);
        if let Some(of_month) = months.get_mut(stretch.month) {
            of_month.add(Runs { point, low: point.saturating_mul(fall), high: runs_at(&rate.high) });
        }
    }
    moved
}

/// Runs in so many seconds, at a rate a minute.
fn runs(per_min: Decimal, seconds: u64) -> Decimal {
    per_min.saturating_mul(Decimal::from(seconds)) / Decimal::from(60)
}

/// The decimal nearest to a fraction, to eighteen places.
fn decimal(value: &Quantity) -> Option<Decimal> {
    let ratio = value.to_ratio()?;
    let of = |part: &u128| Decimal::try_from_i128_with_scale(i128::try_from(*part).ok()?, 0).ok();
    Some(of(ratio.numer())?.checked_div(of(ratio.denom())?)?.round_dp(18))
}

/// A statistical estimate to the nearest millionth.
fn estimate(value: f64) -> Decimal {
    Decimal::from_f64(value).map_or(Decimal::ONE, |value| value.round_dp(6))
}
