//! The crate by its public API: histories of which the truth is known, the public traces, bad input.

mod reading;
mod sampling;
mod shared;
mod truth;
