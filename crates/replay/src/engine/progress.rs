//! How runs go on: steps are wanted, calls end, runs complete or are lost.
//!
//! The invariant: a run is over when none of its calls is open; a lost run starts no further step, but
//! what it has begun is played to its end, since it draws all the same.

use super::Engine;
use super::events::Event;
use super::state::{Begun, Lost, Stage, begin};
use crate::time::Micros;

impl Engine<'_> {
    /// A run arrives, and its first steps are wanted.
    pub(super) fn arrive(&mut self, run: u32, now: Micros) {
        let number = self.begun.len() as u32;
        let first_call = self.calls.len() as u32;
        let group = self.group_of[run as usize];
        begin(&mut self.calls, self.runs, run, number);
        self.begun.push(Begun {
            run,
            first_call,
            arrival: now,
            first_token: Micros::MAX,
            // Held open until every first step has been looked at.
            open: 1,
            lost: None,
            group,
            over: false,
        });
        let group = &mut self.groups[group as usize];
        group.counts.runs.offered += u64::from(now >= self.settings.from);
        group.runs.enter(now);
        self.tiers[group.rank].1.enter(now);
        for call in first_call..self.calls.len() as u32 {
            if self.calls[call as usize].waits_for == 0 {
                self.want_after_thought(call, now);
            }
        }
        self.close_one(number, now);
    }

    /// All that a call waits for has ended.
    fn want_after_thought(&mut self, number: u32, now: Micros) {
        let call = &self.calls[number as usize];
        self.begun[call.run as usize].open += 1;
        let think = self.runs.step(call.step).think;
        if think == Micros::ZERO {
            self.want(number, now);
        } else {
            self.events.push(now + think, Event::Want(number));
        }
    }

    /// A pause is over; a run that was lost in the meantime wants nothing more.
    pub(super) fn want_later(&mut self, number: u32, now: Micros) {
        let run = self.calls[number as usize].run;
        if self.begun[run as usize].lost.is_some() {
            self.close_one(run, now);
        } else {
            self.want(number, now);
        }
    }

    fn want(&mut self, number: u32, now: Micros) {
        let call = &mut self.calls[number as usize];
        call.wanted = now;
        let group = self.begun[call.run as usize].group as usize;
        self.groups[group].counts.operations.offered += u64::from(now >= self.settings.from);
        self.come(number, now);
    }

    pub(super) fn retry(&mut self, number: u32, now: Micros) {
        if self.calls[number as usize].stage == Stage::BackOff {
            self.attempt(number, now);
        }
    }

    pub(super) fn speak(&mut self, number: u32, now: Micros) {
        let call = &mut self.calls[number as usize];
        call.stage = Stage::Streaming;
        let pool = self.runs.route(self.runs.step(call.step), call.route).pool as usize;
        self.stations[pool].streaming.enter(now);
    }

    /// A call has waited as long as it may.
    pub(super) fn expire(&mut self, number: u32, now: Micros) {
        let stage = self.calls[number as usize].stage;
        if !matches!(stage, Stage::Queued | Stage::BackOff) {
            return;
        }
        let pool = self.route(&self.calls[number as usize]).pool as usize;
        if stage == Stage::Queued {
            let head = &self.runs.heads()[self.begun[self.calls[number as usize].run as usize].run as usize];
            let queue = &mut self.stations[pool].queue;
            queue.remove(queue.lane(head.tier, head.class), number);
        }
        self.lose(number, Lost::Expired, now);
        // Whoever stood behind may be smaller.
        if !self.stations[pool].queue.is_empty() {
            self.drain(pool, now);
        }
    }

    /// A call will never be let in.
    pub(super) fn lose(&mut self, number: u32, how: Lost, now: Micros) {
        self.stop_waiting(number, now);
        let call = &mut self.calls[number as usize];
        call.stage = Stage::Over;
        let run = call.run;
        let begun = &mut self.begun[run as usize];
        begun.lost.get_or_insert(how);
        if call.wanted >= self.settings.from {
            let counts = &mut self.groups[begun.group as usize].counts;
            counts.waits.add(now - call.wanted);
            match how {
                Lost::Failed => counts.operations.failed += 1,
                Lost::Expired => counts.operations.expired += 1,
            }
        }
        self.close_one(run, now);
    }

    /// A call ends: it settles, makes room, and what waited for it is wanted.
    pub(super) fn end(&mut self, number: u32, now: Micros) {
        let runs = self.runs;
        let call = &mut self.calls[number as usize];
        let streamed = call.stage == Stage::Streaming;
        call.stage = Stage::Over;
        let (run, step) = (call.run, call.step);
        let (at_pool, admitted, ledger) = (call.at_pool, call.admitted, call.ledger);
        let measured = call.wanted >= self.settings.from;
        let step_head = runs.step(step);
        let route = runs.route(step_head, call.route);
        let draws = runs.draws(route);
        let begun = &self.begun[run as usize];
        let (head, first_call) = (&runs.heads()[begun.run as usize], begun.first_call);
        let group = begun.group as usize;
        let pool = route.pool as usize;
        let station = &mut self.stations[pool];
        station.running.leave(admitted, now);
        if streamed {
            station.streaming.leave(admitted + route.ttft, now);
        }
        if let Some(running) = station.class_running.get_mut(&head.class) {
            *running -= 1;
        }
        for gate in &station.gates {
            let draw = draws[gate.dimension];
            let counter = &mut self.counters[gate.counter];
            counter.bucket.settle(admitted, now, draw.admission, draw.settlement);
            counter.demand.settle(at_pool, now, draw.admission, draw.settlement);
        }
        if let Some(shares) = &mut station.shares {
            let gates = &station.gates;
            let settled = |gate: usize| draws[gates[gate].dimension].settlement;
            shares.settle(ledger, head.tier, admitted, now, settled);
        }
        let counts = &mut self.groups[group].counts;
        counts.operations.completed += u64::from(measured);
        if now >= self.settings.from {
            counts.nano_usd += u128::from(route.nano_usd);
        }
        if !station.queue.is_empty() {
            self.drain(pool, now);
        }
        for at in runs.followers(step_head) {
            let follower = first_call + runs.follower(at);
            let call = &mut self.calls[follower as usize];
            call.waits_for -= 1;
            if call.waits_for == 0 && self.begun[run as usize].lost.is_none() {
                self.want_after_thought(follower, now);
            }
        }
        self.close_one(run, now);
    }

    /// One call of a run is no longer open; with the last, the run is over.
    fn close_one(&mut self, run: u32, now: Micros) {
        let begun = &mut self.begun[run as usize];
        begun.open -= 1;
        if begun.open > 0 {
            return;
        }
        begun.over = true;
        let (arrival, first_token) = (begun.arrival, begun.first_token);
        let (lost, group) = (begun.lost, &mut self.groups[begun.group as usize]);
        group.runs.leave(arrival, now);
        self.tiers[group.rank].1.leave(arrival, now);
        if arrival < self.settings.from {
            return;
        }
        match lost {
            None => {
                group.counts.runs.completed += 1;
                group.counts.completion.add(now - arrival);
                if first_token != Micros::MAX {
                    group.counts.ttft.add(first_token - arrival);
                }
            }
            Some(Lost::Failed) => group.counts.runs.failed += 1,
            Some(Lost::Expired) => group.counts.runs.expired += 1,
        }
    }
}
