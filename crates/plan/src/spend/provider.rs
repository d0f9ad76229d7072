//! What one provider will be paid, for the forms that ask.
//!
//! The invariant: the share of a provider is that of the history's tokens at list price; where a price is
//! missing, no share is told.

use rust_decimal::Decimal;

use super::parts::cents;
use crate::SpendPlan;
use crate::context::{Context, PoolId};

/// On demand in the first whole month ahead, for the provider of a pool; `None` while nothing is forecast.
pub(crate) fn spend_in_a_month(context: &Context<'_>, pool: &PoolId, spend: &[SpendPlan]) -> Option<String> {
    let month = spend.get(1).or(spend.first())?;
    let key = pool.key()?;
    let mut paid = [Decimal::ZERO; 2];
    for id in context.pools() {
        let Some(measured) = context.pool_measured(id) else { continue };
        let sums = &measured.tokens;
        let call = plimsoll_catalog::Call {
            input_uncached: sums.input_uncached,
            cache_read: sums.cache_read,
            cache_write: sums.cache_write,
            output: sums.output,
            ..plimsoll_catalog::Call::default()
        };
        let entry = context.entry(&id.pool);
        // What units cover is not paid on demand, and what used nothing costs nothing.
        if call == plimsoll_catalog::Call::default() || entry.is_some_and(|entry| !entry.units.is_empty()) {
            continue;
        }
        let cost = entry?.cost(&call, context.today)?;
        let of_provider = id.key().is_some_and(|other| other.provider() == key.provider());
        paid = [
            paid[0].saturating_add(cost),
            paid[1].saturating_add(if of_provider { cost } else { Decimal::ZERO }),
        ];
    }
    let [all, own] = paid;
    let share = own.checked_div(all)?;
    let of = |usd: &str| Some(cents(usd.parse::<Decimal>().ok()?.saturating_mul(share)));
    Some(format!(
        "{} USD in {} ({} for runs at their median cost, {} at the P95 of growth), {} % of all that is spent on demand",
        of(&month.on_demand_usd)?,
        month.month,
        of(&month.p50_usd)?,
        of(&month.high_usd)?,
        (share * Decimal::from(100)).round(),
    ))
}
