//! Match rules of `plimsoll.toml`: they give workflows, accounts and pools their names.
//!
//! The caller asks once a span, before [`assemble`](crate::assemble). The first rule that matches
//! names it; without one the measured name stands. Reading the file is the caller's.

mod pool;
mod rules;
mod run;

pub use pool::{default_pool, normal_model};
pub use rules::{DeploymentRule, Globs, LookUp, Match, NameRule, Names, Naming, NamingError, Rules};
pub use run::RunRule;
