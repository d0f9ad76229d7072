//! The spec as a whole: its tables, and how it is read.

use super::{EventSpec, Policy, PoolSpec, ReservationSpec, WorkflowSpec, check, other_version};
use plimsoll_toml::read;
use serde::Deserialize;

use crate::SpecError;
use crate::digest::sha256;
use crate::place::lines;

/// What messages call the file.
pub(crate) const FILE: &str = "plan.toml";

/// `plan.toml`, read and checked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Version of the file's form; 1, or absent.
    pub version: Option<i64>,
    /// How cautious to be.
    #[serde(default)]
    pub policy: Policy,
    /// Provider limits, in file order.
    #[serde(default, rename = "pool")]
    pub pools: Vec<PoolSpec>,
    /// Workflows, in file order.
    #[serde(default, rename = "workflow")]
    pub workflows: Vec<WorkflowSpec>,
    /// Business-calendar peaks, in file order.
    #[serde(default, rename = "event")]
    pub events: Vec<EventSpec>,
    /// Reserved units held today, in file order.
    #[serde(default, rename = "reservation")]
    pub reservations: Vec<ReservationSpec>,
    /// Digest of the text that this was read from, lower-case hex.
    #[serde(skip)]
    pub sha256: String,
}

impl Spec {
    /// Reads and checks the text of a `plan.toml`.
    ///
    /// # Errors
    /// [`SpecError`] with key and line for text that is not a spec, for one of another version, and for
    /// values that cannot be planned with.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        if let Some(fault) = other_version(FILE, text) {
            return Err(fault);
        }
        let mut spec: Self = read(FILE, text)?;
        check::check(&spec).map_err(|refusal| refusal.place.refuse(FILE, text, refusal.problem))?;
        let of_events = lines("event", spec.events.len(), text);
        spec.events.iter_mut().zip(of_events).for_each(|(event, line)| event.line = line);
        let of_pools = lines("pool", spec.pools.len(), text);
        spec.pools.iter_mut().zip(of_pools).for_each(|(pool, line)| pool.line = line);
        let of_held = lines("reservation", spec.reservations.len(), text);
        spec.reservations.iter_mut().zip(of_held).for_each(|(held, line)| held.line = line);
        spec.sha256 = sha256(text.as_bytes());
        Ok(spec)
    }

    /// The entry of a pool: the same key, and the same account and region where the entry names them.
    /// Telemetry that does not tell its account or region falls under the only entry that it can.
    #[must_use]
    pub fn pool(&self, key: &str, account: Option<&str>, region: Option<&str>) -> Option<&PoolSpec> {
        let covering = self.pools.iter().find(|pool| pool.covers(key, account, region));
        covering.or_else(|| {
            let mut possible = self.pools.iter().filter(|pool| pool.may_cover(key, account, region));
            possible.next().filter(|_| possible.next().is_none())
        })
    }

    /// The entry of a workflow.
    #[must_use]
    pub fn workflow(&self, name: &str) -> Option<&WorkflowSpec> {
        self.workflows.iter().find(|workflow| workflow.name == name)
    }
}
