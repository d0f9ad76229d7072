//! Memory that is asked for before it is taken.
//!
//! Invariant: `used` is the sum of the living reservations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// There is no room; what asked must be tried again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the {limit} bytes for requests in flight are taken: send fewer at a time, or try again")]
pub(crate) struct Exhausted {
    limit: usize,
}

/// A number of bytes that many share.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    used: AtomicUsize,
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0) }
    }

    /// Takes bytes whether they are there or not: for what can no longer be refused.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Reservation {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Reservation { budget: Arc::clone(self), bytes }
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.used() >= self.limit
    }
}

impl Reservation {
    /// Adds bytes to the reservation.
    ///
    /// # Errors
    /// The budget has not that many left; the reservation is as before.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let limit = self.budget.limit;
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= limit);
        match self.budget.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => {
                self.bytes += bytes;
                Ok(())
            }
            Err(_) => Err(Exhausted { limit }),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
