//! Plans made from the first part of a history, held against the rest: traces in, scores out.
//!
//! A need is worth what it would have been worth: from ten instants of a history a plan is made of what
//! lies before each, and held against all that came after it. How many minutes were within the need, how
//! far was it above the largest of them, and who would have been throttled.
//!
//! The way through it: [`read_requests`] and [`generate`] make [`Requests`] of files; what a limit
//! counts of them is a [`Trace`]; [`backtest`] plans from each origin of its [`Period`] by both methods
//! and [`score`]s them. Whoever plans by other means, as for a lake, hands [`score`] what was
//! [`Issued`].
//!
//! Pure: texts and structs in, structs out; a seed decides what is left to chance.

mod backtest;
mod error;
mod need;
mod period;
mod read;
mod request;
mod score;
mod trace;

pub use backtest::backtest;
pub use error::{BacktestError, ReadError};
pub use period::Period;
pub use read::{ServeGenClient, generate, read_requests};
pub use request::{Measure, Request, Requests};
pub use score::{Issued, Method, OriginScore, Score, TierScore, score};
pub use trace::{Call, Trace};
