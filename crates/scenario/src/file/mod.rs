//! The scenario file: what a user may write, read and checked.
//!
//! One TOML table a file, in the order in which the example has them. Everything that can be wrong
//! with a text is found here; the simulation trusts what it is given.

mod arrivals;
mod calls;
mod check;
mod error;
mod pool;
mod scenario;
mod spread;
mod tools;
mod troubles;
mod workflow;

pub(crate) use arrivals::{Arrivals, Burstiness, Days};
pub(crate) use calls::{Before, Cached, Calls, Operation};
pub use error::ScenarioError;
pub(crate) use pool::{Headers, Limits, Meter, Pool};
pub use scenario::Scenario;
pub(crate) use spread::Spread;
pub(crate) use tools::Tools;
pub(crate) use troubles::Troubles;
pub(crate) use workflow::{Shared, Workflow};
