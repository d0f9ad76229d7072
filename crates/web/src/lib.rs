//! What Plimsoll answers on its web port.
//!
//! Health for orchestrators and metrics for Prometheus; pages and SQL over the wire build on the same
//! router. Anything that is true of the process is asked of a [`Status`], so nothing here knows
//! receivers or tables.

mod routes;
mod status;

pub use routes::serve;
pub use status::Status;
