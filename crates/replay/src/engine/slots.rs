//! Room for the runs that have begun and their calls.
//!
//! The invariant: room is only given to another run when every call of the last one is over, so what
//! is held is what is in flight, small enough to stay near the processor however many runs arrive.
//! An event may then outlive its call; [`Call::expires_at`] and [`Call::retries_at`] tell such ones.

use super::state::{Begun, Call};
use crate::runs::{RunHead, Runs};

#[derive(Debug, Default)]
pub(super) struct Slots {
    pub(super) calls: Vec<Call>,
    pub(super) begun: Vec<Begun>,
    free_begun: Vec<u32>,
    /// First calls of runs that are over, by how many calls they had.
    free_calls: Vec<Vec<u32>>,
}

impl Slots {
    /// Makes room for a run, and says under which number.
    pub(super) fn begin(&mut self, runs: &Runs, head: &RunHead, mut begun: Begun) -> u32 {
        let number = self.free_begun.pop().unwrap_or(self.begun.len() as u32);
        let steps = head.steps as usize;
        match self.free_calls.get_mut(steps).and_then(Vec::pop) {
            Some(first) => {
                begun.first_call = first;
                let calls = &mut self.calls[first as usize..];
                for (call, (at, step)) in calls.iter_mut().zip(runs.steps(head)) {
                    *call = Call::new(number, at, step.waits_for());
                }
            }
            None => {
                begun.first_call = self.calls.len() as u32;
                let calls = runs.steps(head).map(|(at, step)| Call::new(number, at, step.waits_for()));
                self.calls.extend(calls);
            }
        }
        begun.calls = head.steps;
        if number as usize == self.begun.len() {
            self.begun.push(begun);
        } else {
            self.begun[number as usize] = begun;
        }
        number
    }

    /// Gives the room of a run that is over to others.
    pub(super) fn free(&mut self, number: u32) {
        let Begun { first_call, calls, .. } = self.begun[number as usize];
        let calls = calls as usize;
        if self.free_calls.len() <= calls {
            self.free_calls.resize(calls + 1, Vec::new());
        }
        self.free_calls[calls].push(first_call);
        self.free_begun.push(number);
    }
}
