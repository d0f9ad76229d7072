//! Demand to quota requests and reservations: pure arithmetic over measured runs, a plan spec, the
//! request ledger, the calendar and the catalog. No clock, no I/O, no randomness without a seed.
//!
//! The way through it: [`Spec`] and [`Ledger`] say what to plan for, [`windows`] says what to measure,
//! [`Measured`] is what was measured, [`make`] turns all of it into a [`Plan`]. [`size`] answers the
//! same questions from a handful of numbers, without telemetry.

mod cheaper;
mod context;
mod deadline;
mod demand;
mod digest;
mod document;
mod fault;
mod form;
mod ledger;
mod make;
mod measured;
mod money;
mod need;
mod pools;
mod quantity;
mod queue;
mod rates;
mod requests;
mod reservations;
mod risks;
mod runs;
mod size;
mod spec;
mod tiers;
mod timeline;
mod verdict;
mod warnings;
mod windows;

pub use context::{PlanError, PlanInput};
pub use document::*;
pub use ledger::{Ledger, LedgerRequest};
pub use make::make;
pub use measured::*;
pub use plimsoll_toml::Fault as SpecError;
pub use quantity::{Quantity, QuantityError};
pub use queue::poisson_quantile;
pub use rates::{EventRatePlan, GrowthAhead, GrowthPlan, GrowthScore, LoadPlan, OccurrencePlan};
pub use reservations::break_even;
pub use size::{MixPart, SIZE_DIMENSIONS, SizeError, SizeInput, SizeLimit, SizeOutput, size};
pub use spec::*;
pub use windows::{EventWindows, Windows, windows};
