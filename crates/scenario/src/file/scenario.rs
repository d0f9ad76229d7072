//! The file as a whole.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::{Pool, ScenarioError, Workflow, check};

/// A company, as a scenario file describes it.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(crate) from: Date,
    pub(crate) days: u32,
    pub(crate) seed: u64,
    pub(crate) zone: TimeZone,
    pub(crate) holidays: Vec<Date>,
    pub(crate) pools: Vec<Arc<Pool>>,
    pub(crate) workflows: Vec<Arc<Workflow>>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    from: Date,
    days: u32,
    seed: u64,
    time_zone: String,
    #[serde(default)]
    holidays: Vec<Date>,
    pool: Vec<Pool>,
    workflow: Vec<Workflow>,
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// What is wrong with the text, with its line and, for a misspelt key or name, what was probably
    /// meant.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let text: Text = plimsoll_toml::read("scenario", text)?;
        let zone = TimeZone::get(&text.time_zone).map_err(|_| ScenarioError::TimeZone(text.time_zone))?;
        text.pool.iter().try_for_each(check::pool)?;
        text.workflow.iter().try_for_each(|workflow| check::workflow(workflow, &text.pool))?;
        Ok(Self {
            from: text.from,
            days: text.days,
            seed: text.seed,
            zone,
            holidays: text.holidays,
            pools: text.pool.into_iter().map(Arc::new).collect(),
            workflows: text.workflow.into_iter().map(Arc::new).collect(),
        })
    }

    /// Names of its workflows, in the order of the file.
    pub fn workflow_names(&self) -> impl Iterator<Item = &str> {
        self.workflows.iter().map(|workflow| workflow.name.as_str())
    }
}
