//! `[[reservation]]`: reserved units held today.

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::Deserialize;

/// Units held in one pool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReservationSpec {
    /// Pool key.
    pub pool: String,
    /// Account. Without it, any.
    pub account: Option<String>,
    /// Region. Without it, any.
    pub region: Option<String>,
    /// Units held.
    pub units: u64,
    /// Term as the provider sells it: `1-month`, `1-year`, `hourly`.
    pub term: String,
    /// Last day of the present term.
    pub until: Option<Date>,
    /// Last day on which its renewal can be cancelled.
    pub cancel_by: Option<Date>,
    /// Negotiated price of all units, USD a month. Without it, the catalog's list price.
    pub price_usd_month: Option<Decimal>,
    /// Line on which it starts, from 1.
    #[serde(skip)]
    pub line: usize,
}
