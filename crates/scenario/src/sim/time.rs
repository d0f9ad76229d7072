//! Lengths of time in nanoseconds.

/// A millisecond.
pub(crate) const MILLI: u64 = 1_000_000;
/// A second.
pub(crate) const SECOND: u64 = 1_000 * MILLI;
/// A minute.
pub(crate) const MINUTE: u64 = 60 * SECOND;

/// Seconds as whole nanoseconds; nothing below zero.
pub(crate) fn nanos(seconds: f64) -> u64 {
    (seconds * SECOND as f64) as u64
}
