//! The example company's files, as they stand in `schemas/config/`.
//!
//! They describe the built-in scenario only: whoever changes a limit there changes it here too, and
//! a test holds the two together.

use crate::file::{Scenario, ScenarioError};

/// Text of `scenario-insurer.toml`.
pub const INSURER: &str = include_str!("../../../schemas/config/scenario-insurer.toml");
/// Text of the example company's `plan.toml`.
pub const DEMO_PLAN: &str = include_str!("../../../schemas/config/demo-plan.toml");
/// Text of the example company's `ledger.toml`.
pub const DEMO_LEDGER: &str = include_str!("../../../schemas/config/demo-ledger.toml");
/// Text of the example company's `plimsoll.toml`.
pub const DEMO_PLIMSOLL: &str = include_str!("../../../schemas/config/demo-plimsoll.toml");

impl Scenario {
    /// The example company: an insurer with four agent workflows.
    ///
    /// # Errors
    /// None in a released build, where a test has read the embedded text.
    pub fn insurer() -> Result<Self, ScenarioError> {
        Self::parse(INSURER)
    }

    /// What the example company plans for: its `plan.toml`.
    #[must_use]
    pub fn plan_toml(&self) -> &'static str {
        DEMO_PLAN
    }

    /// Every quota increase that the example company asked for: its `ledger.toml`.
    #[must_use]
    pub fn ledger_toml(&self) -> &'static str {
        DEMO_LEDGER
    }

    /// How the example company's lake is read and served: its `plimsoll.toml`.
    #[must_use]
    pub fn plimsoll_toml(&self) -> &'static str {
        DEMO_PLIMSOLL
    }
}
