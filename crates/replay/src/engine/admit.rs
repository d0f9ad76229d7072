//! Whether a call is let in: slots, then the broker, then the provider.
//!
//! The invariant: a call that is not let in has drawn nothing, except where a limit counts refused
//! attempts too; and whatever waits in a lane goes before what comes to that lane later.

use super::Engine;
use super::events::Event;
use super::state::{Lost, Stage};
use crate::broker::Held;
use crate::queue::Blocked;
use crate::runs::RouteRecord;
use crate::time::Micros;

/// Why an attempt was not let in.
#[derive(Debug, Clone, Copy)]
enum Barred {
    /// No slot of the pool is free for anyone.
    Full,
    /// No slot is free for this lane.
    LaneFull,
    /// The broker holds it back, until a look at the time given is worthwhile; or for ever.
    Held { gate: usize, look: Option<Micros> },
    /// The provider refuses it: at a gate, or because it runs as many as it will.
    Refused { gate: Option<usize> },
}

impl Engine<'_> {
    pub(super) fn tier_and_class(&self, call: u32) -> (u8, u16) {
        let begun = &self.slots.begun[self.slots.calls[call as usize].run as usize];
        (begun.tier, begun.class)
    }

    /// A call comes to a pool: it is counted as asked for there, and tried.
    pub(super) fn come(&mut self, number: u32, now: Micros) {
        let runs = self.runs;
        let call = &mut self.slots.calls[number as usize];
        call.at_pool = now;
        call.refused_here = 0;
        call.throttled_here = false;
        call.expires = false;
        let measured = call.wanted >= self.settings.from;
        let route = runs.route(call.on);
        let station = &mut self.stations[route.pool()];
        station.operations += u64::from(measured);
        for (gate, tickets) in station.gates.iter().zip(self.slots.tickets(number)) {
            tickets[0] = self.counters[gate.counter].demand.charge(now, route.draw(gate.dimension).admission);
        }
        self.attempt(number, route, now);
    }

    /// Tries a call on the route that it is on, and wherever it fails over to.
    pub(super) fn attempt(&mut self, number: u32, route: RouteRecord<'_>, now: Micros) {
        let pool = route.pool();
        if self.stations[pool].queues {
            let (tier, class) = self.tier_and_class(number);
            let lane = self.stations[pool].queue.lane(tier, class);
            if !self.stations[pool].queue.lane_is_empty(lane) {
                if let Some(gate) = self.stations[pool].queue.held(lane) {
                    self.throttled(number, pool, Some(gate));
                }
                self.line_up(number, pool, now);
                return;
            }
        }
        match self.admit(number, route, now) {
            Ok(()) => {}
            Err(Barred::Full | Barred::LaneFull) => {
                self.stations[pool].held_for_slots += 1;
                self.line_up(number, pool, now);
            }
            Err(Barred::Held { gate, look }) => {
                self.hold(number, pool, gate, look, now);
                if look.is_some() {
                    let lane = self.line_up(number, pool, now);
                    self.stations[pool].queue.hold(lane, gate);
                }
            }
            Err(Barred::Refused { gate }) => self.refuse(number, pool, gate, now),
        }
    }

    /// Lets those in a pool's queue in who can be, in their order.
    pub(super) fn drain(&mut self, pool: usize, now: Micros) {
        let mut blocked = Blocked::default();
        while let Some((lane, number)) = self.stations[pool].queue.next(blocked) {
            let route = self.runs.route(self.slots.calls[number as usize].on);
            match self.admit(number, route, now) {
                Ok(()) => self.stations[pool].queue.pop(lane),
                Err(Barred::Full) => break,
                Err(Barred::LaneFull) => blocked.add(lane),
                Err(Barred::Held { gate, look }) => {
                    if look.is_some() {
                        blocked.add(lane);
                        self.stations[pool].queue.hold(lane, gate);
                    } else {
                        self.stations[pool].queue.pop(lane);
                    }
                    self.hold(number, pool, gate, look, now);
                }
                Err(Barred::Refused { gate }) => {
                    self.stations[pool].queue.pop(lane);
                    self.refuse(number, pool, gate, now);
                }
            }
        }
    }

    pub(super) fn look(&mut self, pool: u32, now: Micros) {
        let station = &mut self.stations[pool as usize];
        if station.look == now {
            station.look = Micros::MAX;
            self.drain(pool as usize, now);
        }
    }

    /// Lets a call in: first past the client's own slots and broker, then past the provider.
    fn admit(&mut self, number: u32, route: RouteRecord<'_>, now: Micros) -> Result<(), Barred> {
        let queues = self.stations[route.pool()].queues;
        if queues {
            self.pass_client(number, route, now)?;
        }
        let station = &mut self.stations[route.pool()];
        if station.running.inside() >= station.hidden {
            return Err(Barred::Refused { gate: None });
        }
        for (at, gate) in station.gates.iter().enumerate() {
            let amount = route.draw(gate.dimension).admission;
            if !self.counters[gate.counter].bucket.fits(now, amount) {
                return Err(Barred::Refused { gate: Some(at) });
            }
        }
        for (gate, tickets) in station.gates.iter().zip(self.slots.tickets(number)) {
            let amount = route.draw(gate.dimension).admission;
            tickets[1] = self.counters[gate.counter].bucket.charge(now, amount);
        }
        if queues {
            self.take_of_client(number, route, now);
        }
        self.start(number, route, now);
        Ok(())
    }

    /// Whether the client itself sends a call: its slots, then its broker.
    fn pass_client(&mut self, number: u32, route: RouteRecord<'_>, now: Micros) -> Result<(), Barred> {
        let (tier, class) = self.tier_and_class(number);
        let station = &mut self.stations[route.pool()];
        if station.running.inside() >= station.slots {
            return Err(Barred::Full);
        }
        if let Some(slots) = station.class_slots.get(&class)
            && station.class_running.get(&class) >= Some(slots)
        {
            return Err(Barred::LaneFull);
        }
        let Some(shares) = &mut station.shares else { return Ok(()) };
        let gates = &station.gates;
        shares.check(tier, now, |gate| route.draw(gates[gate].dimension).admission).map_err(|held| match held
        {
            Held::Slot => Barred::LaneFull,
            Held::Share { gate, look } => Barred::Held { gate, look },
        })
    }

    /// Takes a slot of the client's and draws on the broker's shares.
    fn take_of_client(&mut self, number: u32, route: RouteRecord<'_>, now: Micros) {
        let (tier, class) = self.tier_and_class(number);
        let station = &mut self.stations[route.pool()];
        if let Some(running) = station.class_running.get_mut(&class) {
            *running += 1;
        }
        if let Some(shares) = &mut station.shares {
            let gates = &station.gates;
            let ledger = shares.take(tier, now, |gate| route.draw(gates[gate].dimension).admission);
            self.slots.calls[number as usize].ledger = ledger;
        }
    }

    fn start(&mut self, number: u32, route: RouteRecord<'_>, now: Micros) {
        self.stop_waiting(number, now);
        let call = &mut self.slots.calls[number as usize];
        call.mark = now;
        call.stage = Stage::Running;
        let begun = &mut self.slots.begun[call.run as usize];
        if route.ttft() != Micros::MAX {
            begun.first_token = begun.first_token.min(now + route.ttft());
            if self.settings.streams && route.ttft() < route.latency() {
                self.events.push(now + route.ttft(), Event::FirstToken(number));
            }
        }
        if call.counted {
            self.groups[begun.group as usize].counts.waits.add(now - call.wanted);
        }
        self.stations[route.pool()].running.enter(now);
        self.events.push(now + route.latency(), Event::End(number));
    }

    /// The broker has nothing for a call now; where it never will have, the call has failed.
    fn hold(&mut self, number: u32, pool: usize, gate: usize, look: Option<Micros>, now: Micros) {
        self.throttled(number, pool, Some(gate));
        match look {
            None if self.can_go_on(number, pool) => self.go_on(number, now),
            None => self.lose(number, Lost::Failed, now),
            Some(look) if look < self.stations[pool].look => {
                self.stations[pool].look = look;
                self.events.push(look, Event::Look(pool as u32));
            }
            Some(_) => {}
        }
    }

    /// The provider has refused a call: it goes elsewhere, waits for its next attempt, or has failed.
    fn refuse(&mut self, number: u32, pool: usize, gate: Option<usize>, now: Micros) {
        self.throttled(number, pool, gate);
        let runs = self.runs;
        let call = &mut self.slots.calls[number as usize];
        call.refused = call.refused.saturating_add(1);
        call.refused_here = call.refused_here.saturating_add(1);
        let route = runs.route(call.on);
        let (refused, here) = (call.refused, u32::from(call.refused_here));
        let group = self.slots.begun[call.run as usize].group as usize;
        self.groups[group].counts.refused += u64::from(call.counted);
        let station = &self.stations[pool];
        for gate in station.gates.iter().filter(|gate| gate.refused_count) {
            self.counters[gate.counter].bucket.charge(now, route.draw(gate.dimension).admission);
        }
        if station.failover_after.is_some_and(|after| here >= after.max(1)) && self.can_go_on(number, pool) {
            return self.go_on(number, now);
        }
        if refused >= self.groups[group].retry.max_attempts {
            return self.lose(number, Lost::Failed, now);
        }
        let exact = gate.and_then(|gate| {
            let gate = &self.stations[pool].gates[gate];
            self.counters[gate.counter].bucket.ready(now, route.draw(gate.dimension).admission)
        });
        let retry = &self.groups[group].retry;
        let wait = retry.wait(refused, exact.map(|ready| ready - now), &mut self.random);
        self.slots.calls[number as usize].stage = Stage::BackOff;
        self.wait(number, pool, now);
        self.slots.calls[number as usize].mark = now + wait;
        self.events.push(now + wait, Event::Retry(number));
    }

    /// Whether a call has another pool to go to, and goes there when it is not served.
    pub(super) fn can_go_on(&self, number: u32, pool: usize) -> bool {
        let call = &self.slots.calls[number as usize];
        let another = u32::from(call.route) + 1 < self.runs.step(call.step).routes();
        another && self.stations[pool].failover_after.is_some()
    }

    /// A call leaves a pool for the next that it can go to.
    pub(super) fn go_on(&mut self, number: u32, now: Micros) {
        self.stop_waiting(number, now);
        let call = &mut self.slots.calls[number as usize];
        call.on += self.runs.route(call.on).length();
        call.route += 1;
        let (counted, run) = (call.counted, call.run);
        let group = self.slots.begun[run as usize].group as usize;
        self.groups[group].counts.failed_over += u64::from(counted);
        self.come(number, now);
    }

    fn line_up(&mut self, number: u32, pool: usize, now: Micros) -> u8 {
        let (tier, class) = self.tier_and_class(number);
        let queue = &mut self.stations[pool].queue;
        let lane = queue.lane(tier, class);
        queue.push(lane, now, number);
        self.slots.calls[number as usize].stage = Stage::Queued;
        self.wait(number, pool, now);
        lane
    }

    /// Counts a call among those that wait, and sets the end of its patience, both once.
    fn wait(&mut self, number: u32, pool: usize, now: Micros) {
        let call = &mut self.slots.calls[number as usize];
        let group = &mut self.groups[self.slots.begun[call.run as usize].group as usize];
        if !call.waits {
            call.waits = true;
            self.stations[pool].waiting.enter(now);
            group.waiting.enter(now);
            self.tiers[group.rank].2.enter(now);
        }
        if !call.expires
            && let Some(most) = group.max_wait
        {
            call.expires = true;
            self.events.push(call.at_pool + most, Event::Expire(number));
        }
    }

    /// Ends a call's wait at its pool, if it waited.
    pub(super) fn stop_waiting(&mut self, number: u32, now: Micros) {
        let call = &mut self.slots.calls[number as usize];
        if !call.waits {
            return;
        }
        call.waits = false;
        let since = call.at_pool;
        let group = &mut self.groups[self.slots.begun[call.run as usize].group as usize];
        group.waiting.leave(since, now);
        self.tiers[group.rank].2.leave(since, now);
        let pool = self.runs.route(call.on).pool();
        self.stations[pool].waiting.leave(since, now);
    }

    /// Counts an operation as throttled: in all and at this pool, once each.
    fn throttled(&mut self, number: u32, pool: usize, gate: Option<usize>) {
        let call = &mut self.slots.calls[number as usize];
        let measured = call.wanted >= self.settings.from;
        if !call.throttled {
            call.throttled = true;
            let group = self.slots.begun[call.run as usize].group as usize;
            self.groups[group].counts.throttled += u64::from(call.counted);
        }
        if !call.throttled_here {
            call.throttled_here = true;
            let station = &mut self.stations[pool];
            match gate {
                Some(gate) => station.gates[gate].throttled += u64::from(measured),
                None => station.hidden_throttled += u64::from(measured),
            }
        }
    }
}
