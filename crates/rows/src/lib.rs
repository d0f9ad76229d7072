//! What the rows of a request trace say: by which names their columns are known, and which instant a
//! text is.
//!
//! Files of requests come from many hands, as CSV or JSON lines, and are read for two ends: into the
//! lake, a span a row, and into a backtest. Both must take the same column for the same thing, so what
//! is known of headers, names and instants stands here. Reading files is left to whoever has them.

mod columns;
mod header;
mod time;

pub use columns::{Field, Layout};
pub use header::{column_name, delimiter};
pub use time::{TimeError, TimeUnit, scaled, unix_nanos};
