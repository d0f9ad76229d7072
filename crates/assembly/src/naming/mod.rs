//! Match rules of `plimsoll.toml`, and what telemetry tells without them: they give workflows, accounts,
//! regions and pools their names.
//!
//! The caller asks once a span, before [`assemble`](crate::assemble). The first rule that matches
//! names it; without one the measured name stands, and of a pool what [`recognise`] makes of the call.
//! Reading the file is the caller's.

mod model;
mod recognise;
mod rules;
mod run;

pub use model::normal_model;
pub use recognise::{Place, Told, recognise};
pub use rules::{DeploymentRule, Globs, LookUp, Match, NameRule, Names, Naming, NamingError, Rules};
pub use run::RunRule;
