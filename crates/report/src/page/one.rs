//! Page one as a whole: what its parts say, in the order in which they are read.

use super::{
    Break, Decision, EventAhead, KeyFigure, SignOff, Warned, breaks, decisions, events, key_figures,
    past_requests, sign_off, trust, warnings,
};
use plimsoll_plan::{DimensionPlan, Plan, PoolPlan};
use serde::Serialize;

use crate::{format, local::Local, names};

/// What page one says.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Page {
    /// The plan's verdict, with pools called by their models.
    pub(crate) verdict: String,
    /// `2 November 2026`.
    pub(crate) date: String,
    /// City of the calendar's time zone.
    pub(crate) city: String,
    /// At most four figures.
    pub(crate) key_figures: Vec<KeyFigure>,
    /// What to decide, earliest first.
    pub(crate) decisions: Vec<Decision>,
    /// Decisions that no longer fitted.
    pub(crate) decisions_left: usize,
    /// What breaks if nothing is signed, earliest first.
    pub(crate) breaks: Vec<Break>,
    /// How far the data can be trusted, one statement each.
    pub(crate) trust: Vec<String>,
    /// What is open with providers, and what came of the last request.
    pub(crate) requests: Vec<String>,
    /// Who signs what by when.
    pub(crate) sign_off: Vec<SignOff>,
    /// Events ahead.
    pub(crate) events: Vec<EventAhead>,
    /// Warnings by kind.
    pub(crate) warnings: Vec<Warned>,
    /// The command that makes this plan again.
    pub(crate) command: String,
}

impl Page {
    pub(crate) fn new(plan: &Plan, local: &Local) -> Self {
        let (decisions, decisions_left) = decisions::list(plan, local);
        let breaks = breaks::list(plan, local);
        Self {
            verdict: verdict(plan),
            date: format::day_long(local.day(plan.as_of)),
            city: local.city(),
            key_figures: key_figures::list(plan, local),
            sign_off: sign_off::list(plan, &decisions, &breaks),
            decisions,
            decisions_left,
            breaks,
            trust: trust::list(plan),
            requests: past_requests::list(plan),
            events: events::list(plan, local),
            warnings: warnings::list(plan),
            command: format!("plimsoll plan --spec plan.toml --as-of {}", plan.as_of),
        }
    }
}

/// The first sentence names pools as people do; their full keys stand in the tables.
pub(super) fn verdict(plan: &Plan) -> String {
    let mut keys: Vec<&str> = plan.pools.iter().map(|p| p.pool.as_str()).collect();
    keys.extend(plan.reservations.iter().map(|r| r.pool.as_str()));
    // The longest first, so that no key is taken for the start of another.
    keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    keys.into_iter()
        .filter(|key| key.contains('/'))
        .fold(plan.verdict.clone(), |text, key| text.replace(key, names::model(key)))
}

/// Every pool with each of its dimensions.
pub(super) fn dimensions(plan: &Plan) -> impl Iterator<Item = (&PoolPlan, &DimensionPlan)> {
    plan.pools.iter().flat_map(|pool| pool.dimensions.iter().map(move |d| (pool, d)))
}
