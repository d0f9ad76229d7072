//! What happens next.
//!
//! The invariant: events come in the order of their time, then of their kind (whoever ends makes room
//! before anyone is let in), then of the call's number: a total order, so a replay has one outcome.
//!
//! Since time never runs backwards most of them wait on wheels, as timers do (Varghese and Lauck 1987),
//! and are not compared: an event moves from a coarser wheel to a finer one a few times, and joins the few
//! of the near future, which a heap orders.

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

impl Event {
    /// Time, kind and number in one: events come in the order of these.
    fn at(self, at: Micros) -> u128 {
        let (kind, number) = match self {
            Self::End(call) => (0u32, call),
            Self::FirstToken(call) => (1, call),
            Self::Look(pool) => (2, pool),
            Self::Retry(call) => (3, call),
            Self::Want(call) => (4, call),
            Self::Expire(call) => (5, call),
        };
        u128::from(at.0) << 64 | u128::from(kind) << 32 | u128::from(number)
    }

    fn read(packed: u128) -> (Micros, Self) {
        let number = packed as u32;
        let event = match packed as u64 >> 32 {
            0 => Self::End(number),
            1 => Self::FirstToken(number),
            2 => Self::Look(number),
            3 => Self::Retry(number),
            4 => Self::Want(number),
            _ => Self::Expire(number),
        };
        (time(packed), event)
    }
}

fn time(packed: u128) -> Micros {
    Micros((packed >> 64) as u64)
}

/// Bits of time that a wheel counts.
const BITS: u32 = 4;
/// Slots of a wheel.
const SLOTS: usize = 1 << BITS;
/// Wheels, so that all of time is counted.
const WHEELS: usize = u64::BITS.div_ceil(BITS) as usize;

/// Events of a slot that are not worth a finer wheel.
const FEW: usize = 16;

/// Events to come, packed.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Those before an instant.
    near: BinaryHeap<Reverse<u128>>,
    until: u64,
    /// Where the wheels stand. Each event on them is on the one that counts the highest bit in which its time
    /// differs from this; so what is on a wheel comes before what is on the next coarser one.
    now: u64,
    wheels: [Wheel; WHEELS],
    /// Which wheels hold any, bit by bit.
    filled: u64,
}

#[derive(Debug, Default)]
struct Wheel {
    slots: [Vec<u128>; SLOTS],
    /// Which slots hold any, bit by bit.
    filled: u64,
}

impl Events {
    /// Adds an event, which is not before any that has come.
    #[inline]
    pub(super) fn push(&mut self, at: Micros, event: Event) {
        self.place(event.at(at));
    }

    #[inline]
    fn place(&mut self, packed: u128) {
        let Micros(at) = time(packed);
        let bit = (at ^ self.now).checked_ilog2().filter(|_| at >= self.until);
        let Some(bit) = bit else { return self.near.push(Reverse(packed)) };
        let wheel = bit / BITS;
        let slot = at >> (wheel * BITS) & (SLOTS as u64 - 1);
        self.filled |= 1 << wheel;
        let wheel = &mut self.wheels[wheel as usize];
        wheel.filled |= 1 << slot;
        wheel.slots[slot as usize].push(packed);
    }

    /// The next event no later than an instant.
    #[inline]
    pub(super) fn pop_until(&mut self, last: Micros) -> Option<(Micros, Event)> {
        while self.near.is_empty() {
            self.advance()?;
        }
        if time(self.near.peek()?.0) > last {
            return None;
        }
        let Reverse(packed) = self.near.pop()?;
        Some(Event::read(packed))
    }

    /// Takes the next slot's events nearer.
    fn advance(&mut self) -> Option<()> {
        let fine = self.filled.trailing_zeros();
        let wheel = self.wheels.get_mut(fine as usize)?;
        let place = wheel.filled.trailing_zeros();
        let mut events = std::mem::take(wheel.slots.get_mut(place as usize)?);
        wheel.filled &= wheel.filled - 1;
        if wheel.filled == 0 {
            self.filled &= self.filled - 1;
        }
        let shift = fine * BITS;
        self.now = (self.now >> shift & !(SLOTS as u64 - 1) | u64::from(place)) << shift;
        self.until = self.now.saturating_add(if events.len() <= FEW { 1 << shift } else { 1 });
        events.drain(..).for_each(|event| self.place(event));
        // None of them came back to it, so its room is kept.
        self.wheels[fine as usize].slots[place as usize] = events;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is added, near or as far as time goes, comes in the order in which a sorted set has it, and
        /// nothing before its time.
        #[test]
        fn events_come_as_a_sorted_set_has_them(
            steps in prop::collection::vec((any::<u64>(), 0u32..64, 0u32..9, 0usize..3), 1..300),
        ) {
            let (mut events, mut sorted, mut now) = (Events::default(), BTreeSet::new(), Micros::ZERO);
            for (far, nearer, number, pops) in steps {
                let at = now + Micros(far >> nearer);
                let event = if far % 2 == 0 { Event::End(number) } else { Event::Want(number) };
                if sorted.insert(event.at(at)) {
                    events.push(at, event);
                }
                let last = now + Micros(far >> nearer.saturating_add(1).min(63));
                for _ in 0..pops {
                    let first = sorted.first().copied().filter(|&first| time(first) <= last);
                    prop_assert_eq!(events.pop_until(last), first.map(Event::read));
                    match first {
                        Some(first) => {
                            sorted.remove(&first);
                            now = time(first);
                        }
                        None => now = last,
                    }
                }
            }
            while let Some(first) = sorted.pop_first() {
                prop_assert_eq!(events.pop_until(Micros::MAX), Some(Event::read(first)));
            }
            prop_assert_eq!(events.pop_until(Micros::MAX), None);
        }
    }
}
