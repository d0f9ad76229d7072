//! The spend forecast in the plan's document. Dollars are decimal text.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One local month of the horizon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpendPlan {
    /// `2026-11`.
    pub month: String,
    /// First instant that is forecast: for the present month that of the plan.
    pub from: Timestamp,
    /// First instant after it.
    pub to: Timestamp,
    /// Spent in the month before `from`, on demand; null where that is not known.
    pub to_date_usd: Option<String>,
    /// On demand from then on, from the mean cost of a run.
    pub on_demand_usd: String,
    /// The same from the median cost of a run: what an ordinary run costs.
    pub p50_usd: String,
    /// The same at the P5 of growth.
    pub low_usd: String,
    /// The same at the P95 of growth and of event rates.
    pub high_usd: String,
    /// Units held, whether used or not, once.
    pub reserved_usd: String,
    /// To date, forecast and reserved together.
    pub total_usd: String,
    /// `policy.budget_usd_month`; null where none is set.
    pub budget_usd: Option<String>,
    /// What the total is above it; null where it is not.
    pub over_usd: Option<String>,
    /// What the total would be above it at `high_usd`; null where it would not be.
    pub over_high_usd: Option<String>,
    /// Share of the history's runs whose cost is known; the others are taken to cost the same.
    pub coverage: f64,
    /// Who spends it, most first.
    pub parts: Vec<SpendPart>,
}

/// One workflow's part of a month, for one tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpendPart {
    /// Workflow; null for units on which nobody drew whose spend is forecast.
    pub workflow: Option<String>,
    /// Tenant; null where telemetry tells none, or for the tenants behind the largest.
    pub tenant: Option<String>,
    /// Tenants that are summed in this row, beside the one that it names.
    pub others: u64,
    /// Tier, declared or as the telemetry told.
    pub tier: Option<u8>,
    /// Runs expected, rounded.
    pub runs: u64,
    /// On demand, from the mean cost of a run.
    pub on_demand_usd: String,
    /// From its median cost; of several tenants that of the one with most runs.
    pub p50_usd: String,
    /// Its share of the units held, by what it drew of them.
    pub reserved_usd: String,
    /// Spent in the month before `from`; null where that is not known, or the month has not begun.
    pub to_date_usd: Option<String>,
}
