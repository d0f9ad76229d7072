//! Recurrence rules of RFC 5545 (`RRULE`), expanded on local dates alone.
//!
//! It leaves zones, exceptions and counting to [`crate::ics`], which gives each local time its zone.
//! Own code, since the Rust library of that name still doubles and drops instances where clocks change
//! (fmeringdal/rust-rrule, issues 115 and 150): here no zone is known, so there is nothing to double.
//! Invariant: instances come in order, each once, and a rule that never happens is refused when read.

mod expand;
mod rule;
mod said;

pub(crate) use rule::{Recurrence, Until};
