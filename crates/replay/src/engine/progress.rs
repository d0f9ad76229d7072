//! How runs go on: steps are wanted, calls end, runs complete or are lost.
//!
//! The invariant: a run is over when none of its calls is open; a lost run starts no further step, but
//! what it has begun is played to its end, since it draws all the same.

use super::Engine;
use super::events::Event;
use super::state::{Begun, Call, Lost, Stage};
use crate::runs::Draw;
use crate::time::Micros;

impl Engine<'_> {
    /// A run arrives, and its first steps are wanted.
    pub(super) fn arrive(&mut self, run: u32, now: Micros) {
        let runs = self.runs;
        let head = &runs.heads()[run as usize];
        let group = self.group_of[run as usize];
        let begun = Begun {
            first_join: 0,
            joins: 0,
            tier: head.tier,
            class: head.class,
            arrival: now,
            first_token: Micros::MAX,
            // Held open until every first step has been looked at.
            open: 1,
            lost: None,
            group,
            over: false,
        };
        let number = self.slots.begin(runs, head, begun);
        let group = &mut self.groups[group as usize];
        group.counts.runs.offered += u64::from(now >= self.settings.from);
        group.runs.enter(now);
        self.tiers[group.rank].1.enter(now);
        for root in runs.roots(head) {
            self.want_after_thought(number, root, now);
        }
        self.close_one(number, now);
    }

    /// All that a step waits for has ended.
    fn want_after_thought(&mut self, run: u32, step: u32, now: Micros) {
        self.slots.begun[run as usize].open += 1;
        let record = self.runs.step(step);
        let number = self.slots.open(Call::new(run, step, step + record.to_route()));
        let think = record.think();
        if think == Micros::ZERO {
            self.want(number, now);
        } else {
            self.events.push(now + think, Event::Want(number));
        }
    }

    /// A pause is over; a run that was lost in the meantime wants nothing more.
    pub(super) fn want_later(&mut self, number: u32, now: Micros) {
        let run = self.slots.calls[number as usize].run;
        if self.slots.begun[run as usize].lost.is_some() {
            self.slots.close(number);
            self.close_one(run, now);
        } else {
            self.want(number, now);
        }
    }

    fn want(&mut self, number: u32, now: Micros) {
        let runs = self.runs;
        let call = &mut self.slots.calls[number as usize];
        call.wanted = now;
        let station = &self.stations[runs.route(call.on).pool()];
        call.counted = station.serves_operations && now >= self.settings.from;
        let group = self.slots.begun[call.run as usize].group as usize;
        self.groups[group].counts.operations.offered += u64::from(call.counted);
        self.come(number, now);
    }

    pub(super) fn retry(&mut self, number: u32, now: Micros) {
        let call = &self.slots.calls[number as usize];
        if call.stage == Stage::BackOff && call.mark == now {
            self.attempt(number, self.runs.route(call.on), now);
        }
    }

    pub(super) fn speak(&mut self, number: u32, now: Micros) {
        let call = &mut self.slots.calls[number as usize];
        call.stage = Stage::Streaming;
        let pool = self.runs.route(call.on).pool();
        self.stations[pool].streaming.enter(now);
    }

    /// A call has waited as long as it may: it goes elsewhere, or has expired.
    pub(super) fn expire(&mut self, number: u32, now: Micros) {
        let call = &self.slots.calls[number as usize];
        let stage = call.stage;
        let group = &self.groups[self.slots.begun[call.run as usize].group as usize];
        let its_own = call.expires && group.max_wait.is_some_and(|most| call.at_pool + most == now);
        if !matches!(stage, Stage::Queued | Stage::BackOff) || !its_own {
            return;
        }
        let pool = self.runs.route(call.on).pool();
        if stage == Stage::Queued {
            let (tier, class) = self.tier_and_class(number);
            let queue = &mut self.stations[pool].queue;
            queue.remove(queue.lane(tier, class), number);
        }
        if self.can_go_on(number, pool) {
            self.go_on(number, now);
        } else {
            self.lose(number, Lost::Expired, now);
        }
        // Whoever stood behind may be smaller.
        if !self.stations[pool].queue.is_empty() {
            self.drain(pool, now);
        }
    }

    /// A call will never be let in.
    pub(super) fn lose(&mut self, number: u32, how: Lost, now: Micros) {
        self.stop_waiting(number, now);
        self.slots.close(number);
        let call = &self.slots.calls[number as usize];
        let run = call.run;
        let begun = &mut self.slots.begun[run as usize];
        begun.lost.get_or_insert(how);
        if call.counted {
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
        let call = &self.slots.calls[number as usize];
        let streamed = call.stage == Stage::Streaming;
        let (run, step) = (call.run, call.step);
        let (at_pool, admitted, ledger) = (call.at_pool, call.mark, call.ledger);
        let counted = call.counted;
        let step = runs.step(step);
        let route = runs.route(call.on);
        let begun = &self.slots.begun[run as usize];
        let (group, tier, class) = (begun.group as usize, begun.tier, begun.class);
        let pool = route.pool();
        self.slots.close(number);
        let station = &mut self.stations[pool];
        station.running.leave(admitted, now);
        if streamed {
            station.streaming.leave(admitted + route.ttft(), now);
        }
        for (gate, &mut [demanded, drawn]) in station.gates.iter().zip(self.slots.tickets(number)) {
            let Draw { admission, settlement } = route.draw(gate.dimension);
            if admission != settlement {
                let counter = &mut self.counters[gate.counter];
                counter.bucket.settle((admitted, drawn), now, admission, settlement);
                counter.demand.settle((at_pool, demanded), now, admission, settlement);
            }
        }
        if let Some(running) = station.class_running.get_mut(&class) {
            *running -= 1;
        }
        if let Some(shares) = &mut station.shares {
            let gates = &station.gates;
            let settled = |gate: usize| route.draw(gates[gate].dimension).settlement;
            shares.settle(ledger, tier, admitted, now, settled);
        }
        let counts = &mut self.groups[group].counts;
        counts.operations.completed += u64::from(counted);
        if now >= self.settings.from {
            counts.nano_usd += u128::from(route.nano_usd());
        }
        if !station.queue.is_empty() {
            self.drain(pool, now);
        }
        for follower in step.followers() {
            if self.slots.is_ready(run, follower.join) && self.slots.begun[run as usize].lost.is_none() {
                self.want_after_thought(run, follower.step, now);
            }
        }
        self.close_one(run, now);
    }

    /// One call of a run is no longer open; with the last, the run is over.
    fn close_one(&mut self, run: u32, now: Micros) {
        let begun = &mut self.slots.begun[run as usize];
        begun.open -= 1;
        if begun.open > 0 {
            return;
        }
        self.slots.end(run);
        let begun = &self.slots.begun[run as usize];
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
