//! How fast every workflow starts runs, at each instant that a plan looks at, and how sure that is.
//!
//! The way through it: `days` cuts the lake into local days and tells normal ones apart, `load` is the
//! rate of each hour of the week, `busy` the busy hour of normal days and of past events, `effect` what
//! an event does to it, `growth` where the level is going, and `rhythm` puts them together.
//! `document` is what the plan says of all that.

mod busy;
mod days;
mod document;
mod effect;
mod forecasters;
mod growth;
mod how;
mod load;
mod outlook;
mod past;
mod peaks;
mod rhythm;
mod student;
mod tell;

pub use document::{EventRatePlan, GrowthAhead, GrowthPlan, GrowthScore, LoadPlan, OccurrencePlan};
pub(crate) use growth::Factor;
pub(crate) use past::{occurrences, run_minutes};
pub use peaks::coming_peak;
pub(crate) use rhythm::{Alike, Learned, Rate, Rates, Rhythm, hours_after};
pub(crate) use tell::{event_rates, growth, load};
