//! What the dialects mean for one span: from attributes to the values of columns.
//!
//! `compile` turns dialect files and a table schema into indices; `reading` follows them for one span;
//! `scalar` converts values and `literal` finds them in text; `usage`, `place`, `kind` and `log` hold the
//! few things that need more than an alias. Nothing here knows protobuf messages beyond attributes, or
//! Arrow beyond column types.

mod compile;
mod keys;
mod kind;
mod literal;
mod log;
mod notes;
mod place;
mod reading;
mod scalar;
mod usage;

pub(crate) use compile::{Rules, column};
pub(crate) use keys::KeySet;
pub(crate) use log::Names;
pub(crate) use reading::{Reading, duration_ms};
pub(crate) use scalar::Scalar;
