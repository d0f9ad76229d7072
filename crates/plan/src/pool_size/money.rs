//! What calls cost on demand, and from which pool's price list.
//!
//! Invariant: a price that is not known gives no figure, never a zero.

use plimsoll_catalog::{Catalog, Entry, HOURS_PER_MONTH, PoolKey};

use super::{Calls, OnDemand, PoolDemand};
use crate::{money::usd, quantity::Quantity};

/// What one call costs on demand, USD, with the pool whose price list says so.
pub(super) struct Price {
    pub(super) pool: PoolKey,
    pub(super) per_call: Quantity,
}

impl Price {
    /// By the price that was given, else by the pool's own list, else by that of the product which its
    /// overflow goes to: in the same scope, else globally, else in any.
    pub(super) fn of(catalog: &Catalog, entry: &Entry, demand: &PoolDemand) -> Option<Self> {
        let pool = demand.pool.clone();
        if demand.price.is_some() {
            let per_call = mean_cost(demand, entry)?;
            return Some(Self { pool, per_call });
        }
        let to = entry.overflow.as_ref().map(|overflow| overflow.to.as_str());
        let mut lists: Vec<&Entry> = catalog
            .in_force(demand.as_of)
            .filter(|other| {
                let key = &other.key;
                (key.provider(), key.model()) == (pool.provider(), pool.model()) && Some(key.product()) == to
            })
            .collect();
        let rank = |scope: &str| {
            let known = [pool.scope(), "global"];
            known.iter().position(|known| *known == scope).unwrap_or(known.len())
        };
        lists.sort_by_key(|other| rank(other.key.scope()));
        std::iter::once(entry).chain(lists).find_map(|list| {
            let per_call = mean_cost(demand, list)?;
            Some(Self { pool: list.key.clone(), per_call })
        })
    }

    /// By the hour, day and month, at the mean rate.
    pub(super) fn on_demand(&self, calls_per_min: &Quantity) -> OnDemand {
        let hour = self.per_hour(calls_per_min);
        OnDemand {
            pool: self.pool.to_string(),
            usd_per_call: decimal(&self.per_call, 12),
            hourly_usd: usd(&hour),
            exact_hourly: hour.clone(),
            daily_usd: usd(&(&hour * &24.into())),
            monthly_usd: usd(&(&hour * &u64::from(HOURS_PER_MONTH).into())),
        }
    }

    /// USD an hour at that rate.
    pub(super) fn per_hour(&self, calls_per_min: &Quantity) -> Quantity {
        &(&self.per_call * calls_per_min) * &60.into()
    }
}

/// What the mean call costs by the price that was given, else by the list of `entry`.
fn mean_cost(demand: &PoolDemand, entry: &Entry) -> Option<Quantity> {
    let cost = |calls: &Calls| calls.shape.cost(entry, demand.price.as_ref(), demand.as_of);
    let costs: Option<Vec<Quantity>> = demand.calls.iter().map(cost).collect();
    Some(demand.mean(costs?))
}

/// A decimal text of at most so many places, half up, without closing zeros.
pub(super) fn decimal(value: &Quantity, places: u32) -> String {
    let text = fixed(value, places);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A decimal text of so many places, half up.
pub(crate) fn fixed(value: &Quantity, places: u32) -> String {
    let scale = Quantity::from(10u64.pow(places.min(18)));
    let half = Quantity::ratio(1, 2).unwrap_or_default();
    let digits = (&(value * &scale) + &half).floor().to_string();
    let places = usize::try_from(places.min(18)).unwrap_or(18);
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

/// Two places; more where two would show a fraction as the whole number beside it.
pub(super) fn count(value: &Quantity) -> String {
    let text = fixed(value, 2);
    if text.ends_with(".00") && !value.is_whole() { decimal(value, 9) } else { text }
}
