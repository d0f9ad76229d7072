//! `[policy]`: how cautious the plan is. Every key has a default, given beside it.

use std::collections::BTreeMap;

use plimsoll_replay::PartsPerMillion;
use rust_decimal::Decimal;
use serde::Deserialize;

use super::Span;
use crate::quantity::Quantity;

/// How cautious to be. Shares are of one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Percentile of a run that the floor is made from: 0.5, 0.95 or 0.99. Default 0.95.
    pub percentile: Quantity,
    /// Added on top of the floor. Default 0.35. Refused where `1/(1 + headroom)` is above
    /// `review_utilization`, since a limit so chosen would alarm for ever.
    pub headroom: Quantity,
    /// Sustained P95 use above this: file before the next peak. Default 0.75.
    pub review_utilization: Quantity,
    /// Advised ceiling for pools that carry tier 0. Default 0.60.
    pub interactive_utilization: Quantity,
    /// Reserved units used less than this for a month are idle. Default 0.50.
    pub idle_reservation: Quantity,
    /// History that profiles are made from. Default 28 days.
    pub history: Span,
    /// How far back occurrences of events are looked for. Default 400 days.
    pub event_history: Span,
    /// How far ahead to plan. Default 400 days.
    pub horizon: Span,
    /// File at least this long before an event: the rule of a quarter ahead. Default 91 days.
    pub file_ahead: Span,
    /// What was confirmed and tested of a fallback longer ago than this is due again. Default 91 days.
    pub fallback_retest: Span,
    /// More of tiers 0 and 1 than this on one provider, model and region is a risk. Default 0.70.
    pub concentration: Quantity,
    /// Price rise to stress with. Default 0.25.
    pub price_shock: Quantity,
    /// Share of operations that may be throttled at the peak, by tier.
    pub throttle_target: ThrottleTarget,
    /// Shares of a pool's concurrent calls by request class, for a token broker. Default none.
    pub classes: BTreeMap<String, Quantity>,
    /// Budget, USD a month. Default none.
    pub budget_usd_month: Option<Decimal>,
    /// Time zone of the business calendar, an IANA name. Default UTC.
    pub time_zone: String,
    /// Holiday set by name, or the path of a `.toml` or `.ics` file, relative to the spec. Default `weekdays`: no holidays but weekends.
    pub holidays: String,
}

/// Share of operations that may be throttled at the peak, by tier. Defaults 0, 0.001, 0.01, 0.10.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ThrottleTarget {
    /// Customer-facing.
    pub tier0: Quantity,
    /// Deadline-bound.
    pub tier1: Quantity,
    /// Internal, asynchronous.
    pub tier2: Quantity,
    /// Deferrable.
    pub tier3: Quantity,
}

/// A default given as a fraction.
fn share(numerator: u64, denominator: u64) -> Quantity {
    Quantity::ratio(numerator, denominator).unwrap_or_default()
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            percentile: share(95, 100),
            headroom: share(35, 100),
            review_utilization: share(75, 100),
            interactive_utilization: share(60, 100),
            idle_reservation: share(50, 100),
            history: Span::of_days(28),
            event_history: Span::of_days(400),
            horizon: Span::of_days(400),
            file_ahead: Span::of_days(91),
            fallback_retest: Span::of_days(91),
            concentration: share(70, 100),
            price_shock: share(25, 100),
            throttle_target: ThrottleTarget::default(),
            classes: BTreeMap::new(),
            budget_usd_month: None,
            time_zone: "UTC".to_owned(),
            holidays: "weekdays".to_owned(),
        }
    }
}

impl ThrottleTarget {
    /// The targets as a replay takes them, by tier from 0.
    #[must_use]
    pub fn by_tier(&self) -> Vec<PartsPerMillion> {
        let million = Quantity::from(1_000_000);
        [&self.tier0, &self.tier1, &self.tier2, &self.tier3]
            .map(|share| PartsPerMillion(u32::try_from((share * &million).floor()).unwrap_or(u32::MAX)))
            .to_vec()
    }
}

impl Default for ThrottleTarget {
    fn default() -> Self {
        Self { tier0: share(0, 1), tier1: share(1, 1000), tier2: share(1, 100), tier3: share(10, 100) }
    }
}
