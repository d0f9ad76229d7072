//! Dialects: what telemetry calls the things that the columns of `spans` hold.
//!
//! A dialect is a TOML file. `file` has its shape, `load` reads and merges files, `pattern`, `version`
//! and `lookup` are the three ways in which a file names text. What the files mean for one span is
//! `rules`' business.

mod file;
mod load;
mod lookup;
mod pattern;
mod version;

pub(crate) use file::{Alias, Basis, CallStatus, Correction, Kind, KindRule, Origin, Place, SpanKind, Unit};
pub(crate) use load::Sourced;
pub(crate) use lookup::Lookup;
pub(crate) use pattern::Pattern;
pub(crate) use version::VersionRange;

pub use load::Dialects;
