//! Terms for which units are bought, and what they cost.
//!
//! Leaves how many to buy to [`crate::Unit`]. Invariants: money is decimal; a price that was not found is
//! absent; the price in force is that of the day that is asked about.

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::exact::{usd, within};

/// Hours that a month is priced at, 8,760 / 12.
pub const HOURS_PER_MONTH: u32 = 730;

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

    /// What `units` cost while they stand for `minutes`, USD: billing is prorated by the minute.
    pub fn usd_for(&self, units: u64, minutes: u64, as_of: Date) -> Option<Decimal> {
        let unit_minutes = Decimal::from(units).checked_mul(minutes.into())?;
        let term_minutes = Decimal::from(self.hours).checked_mul(60.into())?;
        self.usd(as_of)?.checked_mul(unit_minutes)?.checked_div(term_minutes)
    }
}

/// What is wrong with a term, if anything: the field of the unit and why.
pub(crate) fn fault(term: &Term) -> Option<(String, String)> {
    let field = |field: &str| format!("term.{}{field}", term.name);
    if term.hours == 0 {
        return Some((field(""), "hours are 1 or more".to_owned()));
    }
    let mut days: Vec<Option<Date>> = term.prices.iter().map(|price| price.from).collect();
    days.sort_unstable();
    if days.windows(2).any(|pair| pair.first() == pair.last()) {
        return Some((
            field(".price"),
            "two prices begin on one day; give the later its own `from`".to_owned(),
        ));
    }
    term.prices.iter().find_map(|price| {
        let hourly = price.usd.checked_div(term.hours.into())?;
        // The dearest unit known cost 70 USD an hour, the cheapest reserved one 0.30.
        let hint = "USD per unit and hour; is the price for the whole term, and are hours right?";
        let bounds = Decimal::new(1, 2)..=Decimal::from(200);
        Some((field(".price"), within(hourly.round_dp(6), bounds, hint).err()?))
    })
}
