//! The kinds of bucket that providers count with, behind one face.
//!
//! Leaves the rules' numbers to [`Quota`] and the decision what to do with a refusal to
//! the engine. The invariant: amounts and times are integers and exact; nothing is lost to rounding,
//! since levels that flow are kept in amount x microseconds.

mod fixed;
mod flow;
mod sliding;

use fixed::Fixed;
use flow::{Drain, Refill};
use sliding::Sliding;

use crate::limit::{Limit, Window};
use crate::quota::{Quota, Rule};
use crate::time::Micros;

/// One counter of one window. Every method takes the present, which never runs backwards.
#[derive(Debug, Clone)]
pub(crate) enum Bucket {
    Fixed(Fixed),
    Refill(Refill),
    Drain(Drain),
    Sliding(Sliding),
}

impl Bucket {
    /// The buckets of a quota when its amount is `most`: its window's, then its slice's.
    pub(crate) fn of(quota: &Quota, most: u64) -> Vec<(Window, Self)> {
        let quota = quota.with_most(most);
        let limit = quota.limit();
        limit.enforced().map(|(window, most)| (window, Self::new(&quota, limit, window, most))).collect()
    }

    fn new(quota: &Quota, limit: Limit, window: Window, most: u64) -> Self {
        let slice = window != limit.window;
        match &quota.rule {
            Rule::Token { .. } if !slice => Self::Refill(Refill::new(window, most, quota.holds())),
            Rule::Leaky { .. } if !slice => Self::Drain(Drain::new(window, most)),
            Rule::Sliding { .. } => Self::Sliding(Sliding::new(window, most)),
            _ => Self::Fixed(Fixed::new(window, most)),
        }
    }

    /// A counter without a limit, over the windows in which this one's peaks are told: fixed windows
    /// for fixed ones, else every window of the length.
    pub(crate) fn unlimited(&self, window: Window) -> Self {
        match self {
            Self::Fixed(_) => Self::Fixed(Fixed::new(window, u64::MAX)),
            _ => Self::Sliding(Sliding::new(window, u64::MAX)),
        }
    }

    /// Whether a call of this amount would be let through now.
    #[inline]
    pub(crate) fn fits(&mut self, now: Micros, amount: u64) -> bool {
        match self {
            Self::Fixed(bucket) => bucket.fits(now, amount),
            Self::Refill(bucket) => bucket.fits(now, amount),
            Self::Drain(bucket) => bucket.fits(now),
            Self::Sliding(bucket) => bucket.fits(now, amount),
        }
    }

    /// Draws an amount, whether it fits or not. The ticket is for settling.
    // Done twice for each limit of each call, and about as short as a call of it would be.
    #[inline(always)]
    pub(crate) fn charge(&mut self, now: Micros, amount: u64) -> u32 {
        match self {
            Self::Fixed(bucket) => bucket.charge(now, amount),
            Self::Refill(bucket) => bucket.charge(now, amount),
            Self::Drain(bucket) => bucket.charge(now, amount),
            Self::Sliding(bucket) => return bucket.charge(now, amount),
        }
        0
    }

    /// Corrects what was drawn at `then` under a ticket, `reserved`, to what the call drew in the end.
    #[inline]
    pub(crate) fn settle(&mut self, (then, ticket): (Micros, u32), now: Micros, reserved: u64, settled: u64) {
        if reserved == settled {
            return;
        }
        match self {
            Self::Fixed(bucket) => bucket.settle(then, now, reserved, settled),
            Self::Refill(bucket) => bucket.settle(now, reserved, settled),
            Self::Drain(bucket) => bucket.settle(now, reserved, settled),
            Self::Sliding(bucket) => bucket.settle(ticket, now, reserved, settled),
        }
    }

    /// What could be drawn now.
    pub(crate) fn free(&mut self, now: Micros) -> u64 {
        match self {
            Self::Fixed(bucket) => bucket.free(now),
            Self::Refill(bucket) => bucket.free(now),
            Self::Drain(bucket) => bucket.free(now),
            Self::Sliding(bucket) => bucket.free(now),
        }
    }

    /// The first instant after now at which an amount that does not fit now would, if nothing else
    /// were drawn; nothing where it never will.
    pub(crate) fn ready(&mut self, now: Micros, amount: u64) -> Option<Micros> {
        match self {
            Self::Fixed(bucket) => bucket.ready(now, amount),
            Self::Refill(bucket) => bucket.ready(now, amount),
            Self::Drain(bucket) => bucket.ready(now),
            Self::Sliding(bucket) => bucket.ready(now, amount),
        }
    }

    /// The largest amount that it ever lets through, however long one waits.
    pub(crate) fn largest(&self) -> u64 {
        match self {
            Self::Fixed(bucket) => bucket.most,
            Self::Refill(bucket) => bucket.largest(),
            Self::Drain(bucket) => bucket.largest(),
            Self::Sliding(bucket) => bucket.most,
        }
    }

    /// The most that is ever free in it.
    pub(crate) fn brim(&self) -> u64 {
        match self {
            Self::Refill(bucket) => bucket.holds,
            _ => self.largest(),
        }
    }

    /// Whether a call may pass what is left, as long as something is.
    pub(crate) fn overshoots(&self) -> bool {
        matches!(self, Self::Drain(_))
    }

    /// The most that stood in it at once.
    pub(crate) fn peak(&self) -> u64 {
        match self {
            Self::Fixed(bucket) => bucket.peak,
            Self::Refill(bucket) => bucket.peak(),
            Self::Drain(bucket) => bucket.peak(),
            Self::Sliding(bucket) => bucket.peak,
        }
    }
}
