//! `[[workflow]]`: one named agent, who runs it and for whom.

use jiff::civil::Date;
use serde::Deserialize;

use super::{Arrivals, Before, Burstiness, Calls, Tools, Troubles};

/// A workflow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workflow {
    /// `gen_ai.workflow.name`.
    pub(crate) name: String,
    /// `gen_ai.agent.name`.
    pub(crate) agent: String,
    /// `service.name`.
    pub(crate) service: String,
    /// `service.version`.
    pub(crate) service_version: String,
    /// `deployment.environment.name`.
    pub(crate) environment: String,
    /// Where the service runs.
    pub(crate) cloud: Cloud,
    /// 0 customer-facing, 1 deadline-bound, 2 internal asynchronous, 3 deferrable.
    pub(crate) tier: u8,
    /// Whether a person waits for the answer.
    #[serde(default)]
    pub(crate) user_waiting: bool,
    /// Whether runs belong to a conversation with a named user.
    #[serde(default)]
    pub(crate) conversations: bool,
    /// Tenants by share of runs.
    pub(crate) tenants: Vec<Shared>,
    /// Request classes by share of runs.
    pub(crate) classes: Vec<Shared>,
    /// Business outcomes of finished runs by share.
    pub(crate) outcomes: Vec<Shared>,
    /// `plimsoll.prompt_version`.
    pub(crate) prompt_version: String,
    /// Model as this workflow's requests name it, where not as the pool says.
    pub(crate) model: Option<String>,
    /// What changed from a day on, oldest first.
    #[serde(default)]
    pub(crate) versions: Vec<Version>,
    /// When runs start.
    pub(crate) arrivals: Vec<Arrivals>,
    /// How unevenly.
    pub(crate) burstiness: Option<Burstiness>,
    /// What a run does before its generations.
    #[serde(default)]
    pub(crate) before: Vec<Before>,
    /// Its generations.
    pub(crate) calls: Calls,
    /// Its tools.
    pub(crate) tools: Option<Tools>,
    /// What goes wrong.
    #[serde(default)]
    pub(crate) troubles: Troubles,
}

/// Where a service runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cloud {
    /// `cloud.provider`.
    pub(crate) provider: String,
    /// `cloud.region`: the client's, not the model's.
    pub(crate) region: String,
    /// `cloud.account.id`.
    pub(crate) account: String,
}

/// A name with its share of runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shared {
    /// Name.
    pub(crate) name: String,
    /// Share; shares are weighed against each other.
    pub(crate) share: f64,
}

/// A change of the model or the prompt under a workflow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Version {
    /// First day, in the scenario's time zone.
    pub(crate) from: Date,
    /// Model that answers from then on.
    pub(crate) response_model: Option<String>,
    /// Prompt version from then on.
    pub(crate) prompt_version: Option<String>,
    /// What token counts are multiplied by from then on.
    #[serde(default = "one")]
    pub(crate) tokens: f64,
}

const fn one() -> f64 {
    1.0
}
