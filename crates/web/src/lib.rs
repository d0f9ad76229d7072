//! What Plimsoll answers on its web port.
//!
//! Health for orchestrators, metrics for Prometheus, and SQL over HTTP. Anything that is true of the
//! process is asked of a [`Status`], so nothing here knows receivers; queries go through `profile`'s
//! pinned, read-only sessions.

mod answer;
mod queries;
mod routes;
mod status;

pub use queries::{Queries, QueryLimits};
pub use routes::serve;
pub use status::Status;
