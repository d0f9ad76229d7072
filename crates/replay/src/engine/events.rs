//! What happens next.
//!
//! The invariant: events come in the order of their time, then of their kind (whoever ends makes room
//! before anyone is let in), then of the call's number: a total order, so a replay has one outcome.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Micros;

/// What happens to a call, or to a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A call ends.
    End(u32),
    /// A call speaks.
    FirstToken(u32),
    /// A pool's queue is worth a look.
    Look(u32),
    /// A call is tried again.
    Retry(u32),
    /// A call is wanted.
    Want(u32),
    /// A call has waited as long as it may.
    Expire(u32),
}

/// Events to come, packed into one number each: time, kind, call.
#[derive(Debug, Default)]
pub(super) struct Events(BinaryHeap<Reverse<u128>>);

impl Events {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(BinaryHeap::with_capacity(capacity))
    }

    #[inline]
    pub(super) fn push(&mut self, at: Micros, event: Event) {
        let (kind, number) = match event {
            Event::End(call) => (0, call),
            Event::FirstToken(call) => (1, call),
            Event::Look(pool) => (2, pool),
            Event::Retry(call) => (3, call),
            Event::Want(call) => (4, call),
            Event::Expire(call) => (5, call),
        };
        let packed = u128::from(at.0) << 64 | u128::from(kind as u32) << 32 | u128::from(number);
        self.0.push(Reverse(packed));
    }

    /// The next event no later than an instant.
    #[inline]
    pub(super) fn pop_until(&mut self, last: Micros) -> Option<(Micros, Event)> {
        let at = Micros((self.0.peek()?.0 >> 64) as u64);
        if at > last {
            return None;
        }
        let packed = self.0.pop()?.0;
        let number = packed as u32;
        let event = match packed as u64 >> 32 {
            0 => Event::End(number),
            1 => Event::FirstToken(number),
            2 => Event::Look(number),
            3 => Event::Retry(number),
            4 => Event::Want(number),
            _ => Event::Expire(number),
        };
        Some((at, event))
    }
}
