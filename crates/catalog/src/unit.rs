//! Reserved units as a provider sells them: PTU, GSU, model unit.
//!
//! Leaves which count to buy to the planner. Invariants: a count is rounded once, up, from an exact
//! demand with its headroom already in; money is decimal.

use jiff::civil::Date;
use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::exact::{usd, within};

/// Hours that a month is priced at, 8,760 / 12.
pub const HOURS_PER_MONTH: u32 = 730;

/// A reserved unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// Its name with the provider, for example `PTU`.
    pub name: String,
    /// Settled tokens ([`crate::Draw::tokens`], so cached input and output already weighed) that one
    /// unit of this model serves in `per_s` seconds.
    #[serde(skip_deserializing)]
    pub throughput: u64,
    /// Seconds that `throughput` is for.
    pub per_s: u32,
    /// Fewest that are sold.
    pub min: u64,
    /// More come in steps of this many.
    pub increment: u64,
    /// Most in one deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// A reservation covers any model of the deployment type, so models are pooled for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_independent: bool,
    /// Terms that are sold, shortest first.
    #[serde(rename = "term")]
    pub terms: Vec<Term>,
}

/// A term for which units are bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Name: `hourly`, `1-month`, `1-year`.
    pub name: String,
    /// Hours that its price is for.
    pub hours: u32,
    /// Prices, oldest first; empty where none was found.
    #[serde(default, rename = "price")]
    pub prices: Vec<UnitPrice>,
}

/// What one unit costs for a whole term, from a date on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitPrice {
    /// First day; none: as far back as is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
    /// USD per unit and term.
    #[serde(deserialize_with = "usd")]
    pub usd: Decimal,
}

impl Unit {
    /// Units that serve `demand` (settled tokens in `per_s` seconds) with `headroom` on top (35/100
    /// for 35 %), rounded up once to what is sold. None where it cannot be counted in 64 bits.
    pub fn units_for(&self, demand: impl Into<Ratio<u128>>, headroom: Ratio<u128>) -> Option<u64> {
        let padded = demand.into().checked_mul(&headroom.checked_add(&Ratio::from(1))?)?;
        let per_step = u128::from(self.throughput).checked_mul(self.increment.into())?;
        let capacity = padded.denom().checked_mul(&per_step)?;
        let steps = if capacity == 0 {
            return None;
        } else {
            padded.numer().div_ceil(capacity)
        };
        let units = steps.checked_mul(self.increment.into())?.max(self.min.into());
        u64::try_from(units).ok()
    }

    /// Settled tokens that `units` serve in `per_s` seconds.
    pub fn capacity(&self, units: u64) -> u64 {
        self.throughput.saturating_mul(units)
    }

    /// The term of that name.
    pub fn term(&self, name: &str) -> Option<&Term> {
        self.terms.iter().find(|term| term.name == name)
    }

    /// The share of a unit's full use above which it is cheaper than paying on demand: its price an
    /// hour over what a fully used hour would cost on demand. `shape` is the settled tokens of a
    /// typical call (or of many), `on_demand_usd` what the same tokens cost on demand. Above 1 it
    /// never pays. None where the price is not known or the shape is empty.
    pub fn break_even(&self, usd_per_hour: Decimal, shape: u64, on_demand_usd: Decimal) -> Option<Decimal> {
        let per_hour =
            Decimal::from(self.throughput).checked_mul(3600.into())?.checked_div(self.per_s.into())?;
        let full_hour = on_demand_usd.checked_mul(per_hour)?.checked_div(shape.into())?;
        usd_per_hour.checked_div(full_hour)
    }

    /// What is wrong with it, if anything: the field and why.
    pub(crate) fn fault(&self) -> Option<(String, String)> {
        if self.min == 0 || self.increment == 0 || self.per_s == 0 {
            return Some(("min".to_owned(), "min, increment and per_s are 1 or more".to_owned()));
        }
        self.terms.iter().find_map(|term| {
            if term.hours == 0 {
                return Some((format!("term.{}", term.name), "hours are 1 or more".to_owned()));
            }
            term.prices.iter().find_map(|price| {
                let hourly = price.usd.checked_div(term.hours.into())?;
                // The dearest unit known cost 70 USD an hour, the cheapest reserved one 0.30.
                let hint = "USD per unit and hour; is the price for the whole term, and are hours right?";
                let bounds = Decimal::new(1, 2)..=Decimal::from(200);
                let fault = within(hourly.round_dp(6), bounds, hint).err()?;
                Some((format!("term.{}.price", term.name), fault))
            })
        })
    }
}

impl Term {
    /// The price in force on `as_of`, USD per unit and term.
    pub fn usd(&self, as_of: Date) -> Option<Decimal> {
        let in_force = |price: &&UnitPrice| price.from.is_none_or(|from| from <= as_of);
        self.prices.iter().filter(in_force).max_by_key(|price| price.from).map(|price| price.usd)
    }

    /// The same per unit and hour.
    pub fn usd_per_hour(&self, as_of: Date) -> Option<Decimal> {
        self.usd(as_of)?.checked_div(self.hours.into())
    }

    /// The same per unit and month of 730 hours.
    pub fn usd_per_month(&self, as_of: Date) -> Option<Decimal> {
        self.usd(as_of)?.checked_mul(HOURS_PER_MONTH.into())?.checked_div(self.hours.into())
    }
}
