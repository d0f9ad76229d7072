//! The answer, as scripts read it: field names are the JSON keys.
//!
//! Invariants: money and shares are decimal text; what is not known is null with a warning that says why.

use jiff::civil::Date;
use serde::Serialize;

use crate::quantity::Quantity;

/// What a demand needs of a pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolSize {
    /// The pool.
    pub pool: String,
    /// Day whose rules and prices were taken.
    pub as_of: Date,
    /// Units to have, where the pool is sold in one kind of unit.
    pub units: Option<u64>,
    /// Its name.
    pub unit: Option<String>,
    /// The same before it was rounded, with headroom.
    pub raw_units: Option<String>,
    /// Each kind of unit: one, or input and output apart. Empty where the pool is not sold in units.
    pub by_unit: Vec<UnitCount>,
    /// USD an hour: of the units for the shortest term that has a price, else on demand.
    pub hourly_usd: Option<String>,
    /// USD a day.
    pub daily_usd: Option<String>,
    /// USD a month of 730 hours.
    pub monthly_usd: Option<String>,
    /// What the units cost, by term.
    pub terms: Vec<TermCost>,
    /// Share of their full use above which units are cheaper than paying on demand, for `break_even_term`.
    pub break_even: Option<String>,
    /// The shortest term longer than an hour whose price is known, else the shortest.
    pub break_even_term: Option<String>,
    /// What the same calls cost on demand.
    pub on_demand: Option<OnDemand>,
    /// Calls a minute, mean.
    pub requests_per_min: Quantity,
    /// Need by dimension.
    pub rates: Vec<RateNeed>,
    /// What limits are raised in, to cover all needs together.
    pub grant: Option<Grant>,
    /// Calls in flight, mean (Little's law).
    pub in_flight: Option<Quantity>,
    /// Slots that hold them 95 % of the time (Poisson).
    pub in_flight_p95: Option<u64>,
    /// Whether a burst fits into the window over which units are enforced.
    pub burst: Option<BurstFit>,
    /// What the units held today do.
    pub held: Vec<HeldUnits>,
    /// Calls a minute, mean, at which the next step of units is needed.
    pub next_step_at: Option<String>,
    /// What other readings of uncertain points would give.
    pub sensitivities: Vec<OtherReading>,
    /// What to know before using the figures.
    pub warnings: Vec<String>,
}

/// How many of one kind of unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitCount {
    /// Its name.
    pub unit: String,
    /// Name of the dimension that it carries.
    pub dimension: String,
    /// Units, rounded once to what is sold.
    pub units: Option<u64>,
    /// Before that.
    pub raw_units: Option<String>,
    /// Fewest that are sold.
    pub min: u64,
    /// More come in steps of this many.
    pub increment: u64,
    /// USD per million tokens of what they carry at full use, for the shortest term that has a price.
    pub usd_per_million_at_full_use: Option<String>,
}

/// What all units cost for one term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TermCost {
    /// Name.
    pub term: String,
    /// Its hours.
    pub hours: u32,
    /// USD per unit and term, where there is one kind of unit.
    pub unit_usd: Option<String>,
    /// USD of all units for the term.
    pub term_usd: Option<String>,
    /// USD an hour.
    pub hourly_usd: Option<String>,
    /// USD a day.
    pub daily_usd: Option<String>,
    /// USD a month of 730 hours.
    pub monthly_usd: Option<String>,
    /// Share of full use above which it is cheaper than paying on demand; above 1 it never is.
    pub break_even: Option<String>,
}

/// What calls cost on demand, at the mean rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnDemand {
    /// Pool whose price list was taken.
    pub pool: String,
    /// One call.
    pub usd_per_call: String,
    /// An hour.
    pub hourly_usd: String,
    /// An hour, before it is rounded for print.
    #[serde(skip)]
    pub exact_hourly: Quantity,
    /// A day.
    pub daily_usd: String,
    /// A month of 730 hours.
    pub monthly_usd: String,
}

/// The need of one dimension.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateNeed {
    /// Its name.
    pub dimension: String,
    /// What one call draws at its start.
    pub per_call_admission: Quantity,
    /// At its end.
    pub per_call_settlement: Quantity,
    /// Drawn in the limit's window at the peak rate, at the start of calls.
    pub admission: Quantity,
    /// At their end.
    pub settlement: Quantity,
    /// The larger of the two: `admission` or `settlement`.
    pub binding: String,
    /// The larger with headroom, rounded up: the limit to have.
    pub need: u64,
    /// The smallest limit that the provider grants and that covers the need.
    pub ask: Option<u64>,
    /// Name of the tier that it lands on.
    pub grant_step: Option<String>,
    /// The limit that was given.
    pub limit: Option<Quantity>,
    /// Calls in one window that the limit holds.
    pub limit_fits_calls: Option<u64>,
    /// Calls a minute, mean, at which need reaches the limit.
    pub limit_at: Option<String>,
    /// The limit is below the need.
    pub violated: Option<bool>,
}

/// What limits are raised in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grant {
    /// Tier that covers every need.
    pub step: Option<String>,
    /// Capacity units that do.
    pub capacity_units: Option<u64>,
    /// Name of the capacity unit.
    pub unit: Option<String>,
}

/// A burst against the window over which units are enforced.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BurstFit {
    /// Drawn at once.
    pub amount: Quantity,
    /// The shortest window documented for so many units, seconds: the one that is judged by.
    pub window_s: u32,
    /// The longest, seconds.
    pub longest_window_s: u32,
    /// What the units let through in the shortest; nothing is carried over.
    pub budget: u64,
    /// The burst is within it.
    pub fits: bool,
}

/// Units held today against the demand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldUnits {
    /// Name of the unit.
    pub unit: String,
    /// Held.
    pub units: Quantity,
    /// Calls a minute of this shape that they serve, at full use.
    pub serves_requests_per_min: String,
    /// Calls an hour, whole.
    pub serves_requests_per_hour: u64,
    /// Units of the peak demand, before headroom, that they cover.
    pub covered: String,
    /// Units of it that overflow.
    pub overflow: String,
    /// Units to be deployed beyond those held, billed by the hour.
    pub beyond: Option<u64>,
}

/// What another reading of an uncertain point would give.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherReading {
    /// Name of the flag.
    pub flag: String,
    /// The question.
    pub question: String,
    /// What was taken.
    pub taken: String,
    /// The other answer.
    pub reading: String,
    /// Units by it, where the pool is sold in one kind.
    pub units: Option<u64>,
    /// Need by it, by dimension.
    pub needs: Vec<(String, u64)>,
}
