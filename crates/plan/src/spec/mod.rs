//! The plan spec (`plan.toml`): what to plan for, as typed, validated data.
//!
//! Reading files is the command's business; this takes text. The invariant: a [`Spec`] that exists
//! is usable, since everything that can be wrong with it was refused with its line or its key.

mod check;
mod event;
mod fallback;
mod limit;
mod policy;
mod pool;
mod reservation;
mod span;
mod version;
mod whole;
mod workflow;

pub use event::{EventRate, EventSpec};
pub use limit::{LIMIT_DIMENSIONS, LimitSpec};
pub use policy::{Policy, ThrottleTarget};
pub use pool::{Answer, Fallback, PoolSpec};
pub use reservation::ReservationSpec;
pub use span::Span;
pub(crate) use version::other_version;
pub(crate) use whole::FILE;
pub use whole::Spec;
pub use workflow::{Budget, Capacity, Slo, WorkflowSpec};
