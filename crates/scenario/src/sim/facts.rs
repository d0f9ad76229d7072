//! What the spans of a run tell of it.

use std::sync::Arc;

use super::pool::Tokens;
use super::tools::Execution;
use crate::file::Workflow;

/// The facts of one run, as far as they are known by now.
#[derive(Debug, Clone)]
pub(crate) struct RunFacts {
    pub(crate) spec: Arc<Workflow>,
    pub(crate) trace: [u8; 16],
    pub(crate) root: [u8; 8],
    pub(crate) agent: [u8; 8],
    pub(crate) queued: u64,
    pub(crate) started: u64,
    pub(crate) agent_started: u64,
    /// Places in the workflow's lists.
    pub(crate) tenant: usize,
    pub(crate) class: usize,
    pub(crate) outcome: usize,
    /// The version of model and prompt that holds, where not the first.
    pub(crate) version: Option<usize>,
    /// Numbers of the user and of the conversation, where the workflow has such.
    pub(crate) user: Option<(u32, u64)>,
    /// Modes that it was degraded to.
    pub(crate) degraded: Vec<String>,
    /// Whether it was admitted to less than the full service.
    pub(crate) reduced: bool,
    /// Nanoseconds that it was parked, where it was.
    pub(crate) parked: Option<u64>,
    /// From 1.
    pub(crate) resumed_from_step: Option<u64>,
    /// `error.type` that ended it.
    pub(crate) failure: Option<String>,
    pub(crate) totals: Totals,
    /// The part of the totals that belongs to the agent span under way.
    pub(crate) agent_totals: Totals,
}

/// What a run has used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) model_calls: u64,
    pub(crate) tool_calls: u64,
    pub(crate) model_retries: u64,
    pub(crate) tool_retries: u64,
    pub(crate) retrieved: u64,
    /// Input and output of the calls whose usage the client was told.
    pub(crate) known_input: u64,
    pub(crate) known_output: u64,
}

impl RunFacts {
    /// What token counts are multiplied by under the version that holds.
    pub(crate) fn more(&self) -> f64 {
        self.version.map_or(1.0, |version| self.spec.versions[version].tokens)
    }

    /// Prompt version that holds.
    pub(crate) fn prompt_version(&self) -> &str {
        let changed = self.version.and_then(|version| self.spec.versions[version].prompt_version.as_deref());
        changed.unwrap_or(&self.spec.prompt_version)
    }

    /// Counts a call that was answered.
    pub(super) fn count_call(&mut self, tokens: &Tokens, usage: bool) {
        for totals in [&mut self.totals, &mut self.agent_totals] {
            totals.model_calls += 1;
            if usage {
                totals.known_input += tokens.input();
                totals.known_output += tokens.output;
            }
        }
    }

    /// Counts an attempt that was not.
    pub(super) fn count_retry(&mut self) {
        self.totals.model_retries += 1;
        self.agent_totals.model_retries += 1;
    }

    /// Counts a tool that was executed.
    pub(super) fn count_tool(&mut self, execution: &Execution) {
        for totals in [&mut self.totals, &mut self.agent_totals] {
            totals.tool_calls += 1;
            totals.tool_retries += execution.retries;
        }
    }
}
