//! What providers count, grant, reserve and charge: typed, dated data with exact arithmetic.
//!
//! A [`Catalog`] is read from texts (`schemas/providers/*.toml`, then a user's own) and answers by
//! pool key and date with an [`Entry`]. [`Entry::meter`] says what one call draws from the pool's
//! limits when it starts and when it ends; [`Entry::grants`] how limits are raised; [`Entry::channel`]
//! where and how fast; [`Entry::unit`] what is sold by reservation.
//!
//! Pure: no clock, no files. Token figures are integers, weights are decimal text read exactly,
//! a sum of weighted tokens is rounded once, up. What no source tells is absent, never a default;
//! where sources conflict, the entry carries a [`Flag`] that says what was taken.

mod catalog;
mod channel;
mod dimension;
mod entry;
mod exact;
mod file;
mod grant;
mod key;
mod meter;
mod price;
mod source;
mod unit;

pub use catalog::Catalog;
pub use channel::{Channel, Field, Fill, LeadTime};
pub use dimension::{Dimension, Enforcement, Measure, Quota};
pub use entry::Entry;
pub use exact::Weight;
pub use grant::{CapacityUnit, Grant, Grants, Step};
pub use key::{KeyError, PoolKey};
pub use meter::{Call, Combine, Draw, Meter, Metered, Refused, Stage, UnsetMaxOutput, Weights};
pub use plimsoll_toml::Fault;
pub use price::TokenPrice;
pub use source::{Confidence, Flag, Source};
pub use unit::{HOURS_PER_MONTH, Term, Unit, UnitPrice};
