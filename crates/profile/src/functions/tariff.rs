//! Rates by pool, tier and day, made once a batch for each.
//!
//! Leaves the columns to [`metered`](super::metered). Invariant: attempts of a place that no row of the catalog
//! knows are counted plainly, and what they cost is unknown.

use std::ops::Range;

use jiff::tz::TimeZone;
use plimsoll_catalog::{Call, Calls, Catalog, Charged, ChargedCalls, Draw, PoolKey, Rates, Tier};

use crate::windows::{DAY_MICROS, civil_day};

/// Pool, tier and day of attempts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place<'a> {
    pub(super) pool: Option<&'a str>,
    pub(super) tier: Option<&'a str>,
    /// Days since 1970.
    pub(super) day: Option<i64>,
}

/// Rates of a place.
pub(super) struct Tariff<'c> {
    rates: Option<Rates<'c>>,
    /// Units that are held cover the calls, so that they add nothing to the bill.
    pub(super) covered: bool,
    /// A tier that the catalog has no name for: its price is not known.
    pub(super) unnamed_tier: bool,
    /// What an attempt draws that a limit refused.
    refused: Charged,
}

impl<'c> Tariff<'c> {
    pub(super) fn new(catalog: &'c Catalog, place: &Place<'_>) -> Self {
        let day = place.day.and_then(|day| civil_day(&TimeZone::UTC, day.checked_mul(DAY_MICROS)?));
        let key = place.pool.and_then(|pool| PoolKey::parse(pool).ok());
        let named = place.tier.map_or(Ok(Tier::Standard), str::parse::<Tier>);
        let served = named.as_ref().copied().unwrap_or_default();
        let rates = key.zip(day).and_then(|(key, day)| catalog.rates(&key, served, day));
        let refused = Call { max_output: Some(0), status: Some(429), ..Call::default() };
        let refused = rates.as_ref().map_or_else(|| plain(&refused), |rates| rates.charged(&refused));
        let covered = rates.as_ref().is_some_and(Rates::covered);
        Self { rates, covered, unnamed_tier: named.is_err(), refused }
    }

    /// Charges `which` of the calls; those in `refused` as such.
    pub(super) fn charge(&self, calls: &Calls, which: Range<usize>, refused: u64, into: &mut ChargedCalls) {
        match &self.rates {
            Some(rates) => rates.charge(calls, which.clone(), into),
            None => which.clone().for_each(|call| into.set(call, &plain(&calls.call(call)))),
        }
        for call in which.filter(|call| refused >> call & 1 > 0) {
            into.set(call, &self.refused);
        }
    }
}

/// Every token once, where no rule is known.
fn plain(call: &Call) -> Charged {
    let drawn = Draw::plain(call);
    Charged { admission: drawn, settlement: drawn, list_value: None }
}
