//! What the dialects mean for one span: from attributes to the values of columns.
//!
//! `compile`, with `scopes` and `amend`, turns dialect files and a table schema into indices. `reading`
//! sorts one span's attributes into slots, `resolve` makes columns of them, `correct` puts right what
//! columns alone don't tell. `scalar` converts values and `literal` finds them in text; `usage`, `place`,
//! `kind` and `log` hold the few things that need more than an alias; `notes` are for those who ask why.
//! Nothing here knows protobuf messages beyond attributes, or Arrow beyond column types.

mod amend;
mod compile;
mod correct;
mod keys;
mod kind;
mod literal;
mod log;
mod notes;
mod place;
mod reading;
mod resolve;
mod scalar;
mod scopes;
mod usage;

pub(crate) use compile::{Rules, column};
pub(crate) use keys::KeySet;
pub(crate) use log::Names;
pub(crate) use reading::{Reading, duration_ms};
pub(crate) use scalar::Scalar;
