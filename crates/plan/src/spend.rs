//! What the coming months will cost, by workflow, tenant and tier, beside the budget.
//!
//! Runs expected at the rates of the calendar x the mean cost of a run on demand, and every unit held once.
//! A mean, since costs add up; the median stands beside it, since most runs cost less. Leaves what should be
//! held to `reservations`. The way through it: `runs` counts the runs of each month, `parts` says who they are
//! of and what they cost. The invariants: dollars are decimal and rounded once, where they are told; a cost
//! that is not known is no cost of zero.

mod parts;
mod runs;

pub(crate) use parts::spend;
