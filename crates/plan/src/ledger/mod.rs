//! The request ledger (`ledger.toml`): every increase ever drafted or asked for, and what came of it.
//!
//! [`Ledger`] reads it and knows what is open, [`LeadTimes`] is what it teaches, and [`LedgerText`] changes
//! it as a person would: what stands in the file keeps its place, its form and its comments.

mod check;
mod edit;
mod file;
mod lead;
mod tell;

pub use edit::{Draft, LedgerText, Which};
pub use file::{Ledger, LedgerRequest};
pub(crate) use lead::ENOUGH_OUTCOMES;
pub use lead::LeadTimes;
