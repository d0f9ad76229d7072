//! A provider's limit as it is enforced, and what demand does to it.
//!
//! Today it holds one rule, which the planner's warnings are made from: a limit is held against the
//! peaks of its own window, and of its slices, and of no other. Replaying whole runs through a limit
//! grows from here. Pure: no clock, no I/O.

mod limit;

pub use limit::{Breach, Limit, Window};
