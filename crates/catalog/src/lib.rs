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

mod answers;
mod call;
mod call_text;
mod catalog;
mod channel;
mod diff;
mod dimension;
mod draw;
mod entry;
mod exact;
mod fields;
mod file;
mod flag;
mod grant;
mod key;
mod meter;
mod overflow;
mod price;
mod rates;
mod serving;
mod source;
mod tier;
mod unit;
mod weights;

pub use answers::Answers;
pub use call::Call;
pub use call_text::CallError;
pub use catalog::Catalog;
pub use channel::{Channel, Field, Fill, LeadTime};
pub use diff::{Change, changes};
pub use dimension::{Dimension, Enforcement, Measure, Quota};
pub use draw::{Draw, Metered};
pub use entry::{Entry, Sensitivity};
pub use exact::Weight;
pub use flag::{Alternative, Changed, Flag};
pub use grant::{CapacityUnit, Grant, Grants, Step};
pub use key::{KeyError, PoolKey};
pub use meter::{Combine, LongContext, Meter, Refused, UnsetMaxOutput};
pub use overflow::Overflow;
pub use plimsoll_toml::Fault;
pub use price::{LongPrice, TokenPrice};
pub use rates::Rates;
pub use serving::Serving;
pub use source::{Confidence, Source};
pub use tier::{Tier, TierError, TierRule};
pub use unit::{HOURS_PER_MONTH, Term, Unit, UnitPrice};
pub use weights::{Stage, Weights};
