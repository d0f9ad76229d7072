//! Room for the runs that are in flight and their open calls.
//!
//! The invariant: room is only given away when what had it is over, so what is held is what is in
//! flight, small enough to stay near the processor however many runs arrive. An event may then outlive
//! its call, and find another in its place; [`Call::expires`](super::state::Call::expires) and
//! [`Call::mark`](super::state::Call::mark) tell such events.

use super::state::{Begun, Call, Stage};
use crate::runs::{RunHead, Runs};

#[derive(Debug, Default)]
pub(super) struct Slots {
    pub(super) calls: Vec<Call>,
    pub(super) begun: Vec<Begun>,
    /// How many earlier steps each join of each run still waits for.
    joins: Vec<u32>,
    /// Of each call and gate, under which tickets its demand was counted and it was let in.
    tickets: Vec<[u32; 2]>,
    gates: usize,
    free_calls: Vec<u32>,
    free_begun: Vec<u32>,
    /// Where the joins of runs that are over began, by how many they had.
    free_joins: Vec<Vec<u32>>,
}

impl Slots {
    /// For calls that pass so many gates at most.
    pub(super) fn new(gates: usize) -> Self {
        Self { gates, ..Self::default() }
    }

    /// The tickets of a call, gate by gate.
    pub(super) fn tickets(&mut self, call: u32) -> &mut [[u32; 2]] {
        let first = call as usize * self.gates;
        &mut self.tickets[first..first + self.gates]
    }

    /// Makes room for a run, and says under which number.
    pub(super) fn begin(&mut self, runs: &Runs, head: &RunHead, mut begun: Begun) -> u32 {
        let joins = runs.joins(head);
        begun.joins = joins.len() as u32;
        if begun.joins > 0 {
            begun.first_join = self.room_for(joins);
        }
        if let Some(number) = self.free_begun.pop() {
            self.begun[number as usize] = begun;
            return number;
        }
        self.begun.push(begun);
        (self.begun.len() - 1) as u32
    }

    fn room_for(&mut self, joins: impl ExactSizeIterator<Item = u32>) -> u32 {
        let Some(first) = self.free_joins.get_mut(joins.len()).and_then(Vec::pop) else {
            let first = self.joins.len() as u32;
            self.joins.extend(joins);
            return first;
        };
        self.joins[first as usize..].iter_mut().zip(joins).for_each(|(join, waits)| *join = waits);
        first
    }

    /// Gives the room of a run that is over to others.
    pub(super) fn end(&mut self, number: u32) {
        let begun = &mut self.begun[number as usize];
        begun.over = true;
        let joins = begun.joins as usize;
        if joins > 0 {
            if self.free_joins.len() <= joins {
                self.free_joins.resize(joins + 1, Vec::new());
            }
            self.free_joins[joins].push(begun.first_join);
        }
        self.free_begun.push(number);
    }

    /// Makes room for a call, and says under which number.
    pub(super) fn open(&mut self, call: Call) -> u32 {
        if let Some(number) = self.free_calls.pop() {
            self.calls[number as usize] = call;
            return number;
        }
        self.calls.push(call);
        self.tickets.resize(self.calls.len() * self.gates, [0; 2]);
        (self.calls.len() - 1) as u32
    }

    /// Gives the room of a call that is over to others.
    pub(super) fn close(&mut self, number: u32) {
        self.calls[number as usize].stage = Stage::Over;
        self.free_calls.push(number);
    }

    /// One of the steps that a follower waits for has ended; whether that was the last.
    #[inline]
    pub(super) fn is_ready(&mut self, run: u32, join: Option<u32>) -> bool {
        join.is_none_or(|join| {
            let waits = &mut self.joins[(self.begun[run as usize].first_join + join) as usize];
            *waits -= 1;
            *waits == 0
        })
    }
}
