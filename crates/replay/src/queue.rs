//! Calls that wait in front of a pool, in lanes.
//!
//! A lane is a tier and a class. The invariant: lanes are served by tier, then by who has waited
//! longest; within a lane first come, first served, and one lane that is held back holds up no other.

use std::collections::VecDeque;

use crate::time::Micros;

/// Most lanes of a pool.
pub(crate) const LANES: usize = 64;

/// The lanes of a pool that are held back, by number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Blocked(u64);

impl Blocked {
    pub(crate) fn add(&mut self, lane: u8) {
        self.0 |= 1 << lane;
    }

    fn has(self, lane: usize) -> bool {
        self.0 >> lane & 1 == 1
    }
}

#[derive(Debug)]
struct Lane {
    tier: u8,
    class: u16,
    calls: VecDeque<(Micros, u32)>,
    /// The gate whose share the first in it waits for, where that is why it waits.
    held: Option<usize>,
}

/// What waits in front of one pool.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    lanes: Vec<Lane>,
    waiting: usize,
}

impl Queue {
    /// A queue for these pairs of tier and class, in ascending order.
    pub(crate) fn new(pairs: impl IntoIterator<Item = (u8, u16)>) -> Self {
        let lanes =
            pairs.into_iter().map(|(tier, class)| Lane { tier, class, calls: VecDeque::new(), held: None });
        Self { lanes: lanes.collect(), waiting: 0 }
    }

    /// The lane of a pair; the pair is one that the queue was made for.
    pub(crate) fn lane(&self, tier: u8, class: u16) -> u8 {
        self.lanes.iter().position(|lane| (lane.tier, lane.class) == (tier, class)).unwrap_or(0) as u8
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(crate) fn lane_is_empty(&self, lane: u8) -> bool {
        self.lanes[usize::from(lane)].calls.is_empty()
    }

    pub(crate) fn push(&mut self, lane: u8, since: Micros, call: u32) {
        self.lanes[usize::from(lane)].calls.push_back((since, call));
        self.waiting += 1;
    }

    /// The call to be served next among the lanes that are not held back, and its lane.
    pub(crate) fn next(&self, blocked: Blocked) -> Option<(u8, u32)> {
        let open = self.lanes.iter().enumerate().filter(|(at, _)| !blocked.has(*at));
        let heads = open.filter_map(|(at, lane)| Some((lane.tier, *lane.calls.front()?, at)));
        heads.min().map(|(_, (_, call), at)| (at as u8, call))
    }

    /// Takes the head of a lane out.
    pub(crate) fn pop(&mut self, lane: u8) {
        let lane = &mut self.lanes[usize::from(lane)];
        lane.held = None;
        if lane.calls.pop_front().is_some() {
            self.waiting -= 1;
        }
    }

    /// Notes that the head of a lane waits for a share, and so does whoever stands behind it.
    pub(crate) fn hold(&mut self, lane: u8, gate: usize) {
        self.lanes[usize::from(lane)].held = Some(gate);
    }

    /// The gate whose share a lane waits for.
    pub(crate) fn held(&self, lane: u8) -> Option<usize> {
        self.lanes[usize::from(lane)].held
    }

    /// Takes a call out of a lane, wherever it stands; the one that has waited longest is found first.
    pub(crate) fn remove(&mut self, lane: u8, call: u32) {
        let Lane { calls, held, .. } = &mut self.lanes[usize::from(lane)];
        if let Some(at) = calls.iter().position(|&(_, waiting)| waiting == call)
            && calls.remove(at).is_some()
        {
            if at == 0 {
                *held = None;
            }
            self.waiting -= 1;
        }
    }
}
