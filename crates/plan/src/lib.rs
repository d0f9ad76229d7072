//! Demand to quota requests and reservations: pure arithmetic over measured runs, a plan spec, the
//! request ledger, the calendar and the catalog. No clock, no I/O, no randomness without a seed.
//!
//! The way through it: [`Spec`] and [`Ledger`] say what to plan for, [`windows`] says what to measure,
//! [`Measured`] is what was measured, [`make`] turns all of it into a [`Plan`]. [`size`] answers the
//! same questions from a handful of numbers, without telemetry, and [`size_pool`] for one pool of the catalog.

mod change;
mod cheaper;
mod context;
mod deadline;
mod demand;
mod diff;
mod digest;
mod document;
mod document_filing;
mod due;
mod filing;
mod form;
mod horizon;
mod init;
mod inputs;
mod ledger;
mod limits;
mod lint;
mod make;
mod measured;
mod money;
mod need;
mod overlap;
mod patch;
mod place;
mod pool_size;
mod pools;
mod quantity;
mod queue;
mod rates;
mod rehearsal;
mod replayed;
mod requests;
mod reservations;
mod risks;
mod runs;
mod sampled;
mod size;
mod spec;
mod stage;
mod stress;
mod tiers;
mod timeline;
mod verdict;
mod warnings;
mod windows;
mod worksheet;

pub use context::{PlanError, PlanInput};
pub use diff::{Change, InputChange, PlanDiff, diff};
pub use document::*;
pub use document_filing::*;
pub use due::{Due, due};
pub use horizon::{HorizonNeed, horizon_needs};
pub use init::init;
pub use ledger::{Draft, LeadTimes, Ledger, LedgerRequest, LedgerText, Which};
pub use limits::{Applied, LimitRead, LimitsError, Origin, ProviderLimits, Unknown, apply, read_limits};
pub use make::make;
pub use measured::*;
pub use patch::patch;
pub use plimsoll_toml::Fault as SpecError;
pub use pool_size::*;
pub use quantity::{Quantity, QuantityError};
pub use queue::poisson_quantile;
pub use rates::{EventRatePlan, GrowthAhead, GrowthPlan, GrowthScore, LoadPlan, OccurrencePlan, coming_peak};
pub use rehearsal::{LimitInstead, Rehearsal, RehearsalError, Rehearsed, RehearsedRate, rehearse};
pub use replayed::{REPLAY_SEEDS, replay_minutes};
pub use reservations::break_even;
pub use size::{MixPart, SIZE_DIMENSIONS, SizeError, SizeInput, SizeLimit, SizeOutput, size};
pub use spec::*;
pub use windows::{EventWindows, Windows, windows};
pub use worksheet::*;
