//! The plan as a document, continued: what stands behind a request, and on which day it is filed.
//!
//! As in `document`, the shapes are what scripts and the report read.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// How long the provider takes from filing to decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadTimePlan {
    /// Half of all requests are decided by then; null where only one figure is given.
    pub p50_days: Option<u32>,
    /// Nine in ten are.
    pub p90_days: u32,
    /// The days are business days of the plan's calendar.
    pub business_days: bool,
    /// Outcomes behind it; 0 where it is not from the ledger.
    pub n: u64,
    /// spec, ledger or catalog.
    pub source: String,
    /// The same in words.
    pub detail: String,
}

/// One figure that went into another, so that anybody can read it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureInput {
    /// What it is, with statistic and unit.
    pub what: String,
    /// The figure, exact, or in words where it is none.
    pub value: String,
    /// Values behind it, where it is measured.
    pub n: Option<u64>,
    /// Where it was read: a query's file (`sql/plan/draws.sql`), `plan.toml`, `ledger.toml` or `catalog`.
    pub source: String,
    /// Queries whose rows that one reads, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Parameters of the query.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Which of its rows, as a condition; else which line or key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
}

/// Something about a request that a reviewer would ask about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lint {
    /// tokens_against_requests, peak_below_steady, above_channel, above_proven_use, needed_too_soon,
    /// no_traffic, current_unknown, missing_field, secret.
    pub code: String,
    /// One sentence with the figures.
    pub detail: String,
}

/// One step of the filing schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filing {
    /// Day on which to do it.
    pub on: Date,
    /// Place among the steps of that day, from 1.
    pub order: u32,
    /// anchor, companion or case_text (what goes into the anchor's case, in words).
    pub kind: String,
    /// Pool key.
    pub pool: String,
    /// Account.
    pub account: Option<String>,
    /// Region.
    pub region: Option<String>,
    /// Dimension; null for a companion that is none of the pool's own.
    pub dimension: Option<String>,
    /// The provider's name of the quota, with its code, where known.
    pub quota: Option<String>,
    /// Value to ask for; null where it follows from the anchor's case.
    pub to: Option<u64>,
    /// Day on which to ask what became of it: the filing and the lead time's P50.
    pub escalate_on: Option<Date>,
    /// Last day on which a second request still has an even chance: the event less the P50.
    pub second_chance: Option<Date>,
    /// Why on that day, where something stands in the way of an earlier one.
    pub detail: Option<String>,
}

/// One request of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerPlan {
    /// Pool key.
    pub pool: String,
    /// Account; null where the entry names none.
    pub account: Option<String>,
    /// Region; null where the entry names none.
    pub region: Option<String>,
    /// Dimension.
    pub dimension: String,
    /// Event that it was made for; null where the entry names none.
    pub event: Option<String>,
    /// drafted, filed or decided.
    pub state: String,
    /// Limit asked for, in the dimension's unit.
    pub asked: u64,
    /// Limit granted, 0 where denied; null while it is not decided.
    pub granted: Option<u64>,
    /// Day of filing; null for a draft.
    pub filed: Option<Date>,
    /// Day of the decision.
    pub decided: Option<Date>,
    /// Calendar days from filing to the decision, or to the plan's day while it is open.
    pub days: Option<i64>,
    /// The provider's case number.
    pub case: Option<String>,
}
