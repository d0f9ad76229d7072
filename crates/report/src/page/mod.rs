//! Page one: what a signer reads, worked out of the plan.
//!
//! Only what needs more than a look-up is made here (the decisions in the order of their dates, key
//! figures, what breaks if nothing is done, how far the data can be trusted). Everything else a
//! template reads from the plan itself.

mod breaks;
mod decisions;
mod events;
mod key_figures;
mod one;
mod past_requests;
mod sign_off;
mod trust;
mod warnings;

pub(crate) use breaks::Break;
pub(crate) use decisions::Decision;
pub(crate) use events::EventAhead;
pub(crate) use key_figures::KeyFigure;
pub(crate) use one::Page;
pub(crate) use sign_off::SignOff;
pub(crate) use warnings::Warned;
