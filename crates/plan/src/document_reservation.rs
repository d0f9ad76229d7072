//! Reserved units in the plan's document: what is held, what is recommended, and what else was looked at.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// A reservation, held or to be bought. Dollars are of a month of 730 hours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReservationPlan {
    /// Pool key; of the first deployment where the reservation covers several.
    pub pool: String,
    /// Account.
    #[serde(default)]
    pub account: Option<String>,
    /// Region; null for global pools.
    #[serde(default)]
    pub region: Option<String>,
    /// PTU, GSU, model unit, ...
    pub unit: String,
    /// Units held today.
    pub held: u64,
    /// Units that the plan recommends, over all deployments.
    pub recommended: u64,
    /// Term that is recommended; the held one's where nothing is.
    pub term: Option<String>,
    /// Share of the held units' throughput that was used, over covered minutes.
    pub utilization: Option<f64>,
    /// Share of the recommended units that the demand of the term would use.
    #[serde(default)]
    pub expected_utilization: Option<f64>,
    /// Utilisation above which the unit is cheaper than on demand; null while prices are unknown.
    pub break_even: Option<f64>,
    /// Cost of the units that are recommended.
    pub monthly_cost_usd: Option<String>,
    /// Cost of what is held.
    pub held_cost_usd: Option<String>,
    /// Idle part of what is held.
    pub idle_usd: Option<String>,
    /// What does not fit into the recommended units, on demand.
    #[serde(default)]
    pub overflow_usd: Option<String>,
    /// Recommended units, units by the hour and overflow together.
    #[serde(default)]
    pub total_usd: Option<String>,
    /// The same demand without any reservation.
    #[serde(default)]
    pub on_demand_usd: Option<String>,
    /// Other counts and terms with their cost: none, the best count of every term, the next counts.
    pub alternatives: Vec<Alternative>,
    /// What the recommendation costs above the cheapest that protects nobody.
    pub insurance_usd: Option<String>,
    /// Tier that this insurance protects.
    #[serde(default)]
    pub insures: Option<u8>,
    /// Units that the floors of tiers 0 and 1 need in ordinary hours.
    #[serde(default)]
    pub floor_units: u64,
    /// Units to buy by the hour for the length of an event, beside those of the term.
    #[serde(default)]
    pub by_the_hour: Vec<HourlyUnits>,
    /// hold, buy, step_up, step_down, let_lapse, unknown.
    pub action: String,
    /// What `policy.idle_reservation` says of it; null where enough is used, or nothing is held.
    #[serde(default)]
    pub idle: Option<String>,
    /// Day on which the present term ends.
    pub until: Option<Date>,
    /// Model version that the units are bound to, or that they serve any.
    #[serde(default)]
    pub bound_to: String,
    /// Day on which that model is retired, where announced.
    #[serde(default)]
    pub retires: Option<Date>,
    /// Deployments that it covers, each with its own count.
    #[serde(default)]
    pub pools: Vec<Deployment>,
    /// What to do in which order: quota, capacity and reservation are three things.
    #[serde(default)]
    pub steps: Vec<String>,
    /// Share of the time with at least this many units in demand: (share, units), for the load-duration
    /// chart; of the first deployment.
    pub load_duration: Vec<(f64, f64)>,
    /// Where the demand comes from: `replayed` at the rates of the calendar over the term, or `measured`
    /// minutes of the past.
    #[serde(default)]
    pub basis: Option<String>,
    /// Window by which use is enforced, seconds.
    #[serde(default)]
    pub window_s: u32,
    /// What was replayed; null where nothing was.
    #[serde(default)]
    pub replay: Option<ReservationReplay>,
    /// Why, with its n.
    pub reason: String,
}

/// One alternative to a reservation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Units.
    pub units: u64,
    /// Term.
    pub term: String,
    /// Reservation and overflow, USD a month.
    pub monthly_cost_usd: String,
    /// The overflow in it.
    #[serde(default)]
    pub overflow_usd: Option<String>,
    /// Share of the units that would be used.
    #[serde(default)]
    pub utilization: Option<f64>,
    /// Utilisation above which a unit of this term is cheaper than on demand.
    #[serde(default)]
    pub break_even: Option<f64>,
    /// Whether it covers the floors of tiers 0 and 1.
    #[serde(default)]
    pub covers_floors: bool,
}

/// Units for the hours of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourlyUnits {
    /// Event.
    pub event: String,
    /// Units beside those of the term.
    pub units: u64,
    /// Minutes of the event within the term.
    pub minutes: u64,
    /// What they cost over the term, USD.
    pub usd: String,
}

/// One model's deployment under a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// Pool key.
    pub pool: String,
    /// Units recommended.
    pub units: u64,
    /// Units that the floors of tiers 0 and 1 need.
    pub floor_units: u64,
}

/// What was replayed to size a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationReplay {
    /// Calls.
    pub calls: u64,
    /// Minutes, over all kinds of hours.
    pub minutes: u64,
    /// Kinds of hours: of the week, of events, of weeks that growth is told of.
    pub states: u64,
}
