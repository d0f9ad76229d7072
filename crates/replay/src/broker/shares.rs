//! What the tiers of one pool have drawn on their shares.
//!
//! The invariant: a call's draws are kept by share for as long as it runs, and are given back to the
//! shares that they came from, what was borrowed first.

use std::collections::BTreeMap;

use super::{Broker, TierShare};
use crate::bucket::Bucket;
use crate::quota::{Quota, Rule};
use crate::time::Micros;
use crate::world::Pool;

/// Why a call is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// No slot that the tier may use is free.
    Slot,
    /// A share is drawn down; it is worth another look at the time given, or never.
    Share { gate: usize, look: Option<Micros> },
}

/// Every tier's shares of one pool, and which call has drawn what.
#[derive(Debug)]
pub(crate) struct Shares {
    gates: Vec<Gate>,
    slots: Option<Slots>,
    /// Amounts and tickets by call, gate and share.
    ledger: Vec<Entry>,
    /// Which slot share a call stands in.
    stands: Vec<u8>,
    free: Vec<u32>,
    stride: usize,
}

/// What a call drew on one share.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    amount: u64,
    ticket: u32,
}

/// The shares of one bucket.
#[derive(Debug)]
struct Gate {
    buckets: Vec<Bucket>,
    draws_on: DrawsOn,
}

/// Which shares a tier draws on, in which order, by tier.
#[derive(Debug)]
struct DrawsOn(Vec<Vec<u8>>);

#[derive(Debug)]
struct Slots {
    most: Vec<u32>,
    used: Vec<u32>,
    draws_on: DrawsOn,
}

impl DrawsOn {
    /// `owners` are the tiers with a share of their own; the rest stands after them.
    fn new(broker: &Broker, owners: &[u8]) -> Self {
        let share = |tier: u8| owners.iter().position(|&owner| owner == tier).unwrap_or(owners.len()) as u8;
        let of_tier = |tier: u8| {
            let lenders = broker.tiers.get(&tier).map_or(&[][..], |set| &set.may_borrow);
            let mut order = vec![share(tier)];
            for &lender in lenders {
                if !order.contains(&share(lender)) {
                    order.push(share(lender));
                }
            }
            order
        };
        Self((0..=u8::MAX).map(of_tier).collect())
    }

    fn of(&self, tier: u8) -> &[u8] {
        &self.0[usize::from(tier)]
    }
}

impl Shares {
    /// `gates` names the quota of each of the pool's buckets, a quota's slice after its window.
    pub(crate) fn new(broker: &Broker, pool: &Pool, quotas: &[Quota]) -> Self {
        let gates: Vec<_> = pool.quotas.iter().flat_map(|&at| gates_of(broker, at, &quotas[at])).collect();
        let slots = pool.slots.map(|slots| {
            let floors = floors_of(broker, |set| set.floor_concurrent);
            let (owners, most) = cut(&floors, slots);
            Slots { used: vec![0; most.len()], most, draws_on: DrawsOn::new(broker, &owners) }
        });
        let width = gates.iter().map(|gate| gate.buckets.len()).max().unwrap_or(0);
        let stride = gates.len() * width;
        Self { gates, slots, ledger: Vec::new(), stands: Vec::new(), free: Vec::new(), stride }
    }

    fn width(&self) -> usize {
        self.stride / self.gates.len().max(1)
    }

    /// Whether a tier may send a call that draws these amounts, one for each gate.
    pub(crate) fn check(&mut self, tier: u8, now: Micros, amount: impl Fn(usize) -> u64) -> Result<(), Held> {
        if let Some(slots) = &self.slots
            && slots.share(tier).is_none()
        {
            return Err(Held::Slot);
        }
        for (at, gate) in self.gates.iter_mut().enumerate() {
            gate.check(tier, now, amount(at)).map_err(|look| Held::Share { gate: at, look })?;
        }
        Ok(())
    }

    /// Draws what was checked, and says under which number.
    pub(crate) fn take(&mut self, tier: u8, now: Micros, amount: impl Fn(usize) -> u64) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.ledger.resize(self.ledger.len() + self.stride, Entry::default());
            self.stands.push(0);
            (self.stands.len() - 1) as u32
        });
        let (width, first) = (self.width(), number as usize * self.stride);
        for (at, gate) in self.gates.iter_mut().enumerate() {
            let entry = first + at * width;
            gate.take(tier, now, amount(at), &mut self.ledger[entry..entry + width]);
        }
        if let Some(slots) = &mut self.slots
            && let Some(share) = slots.share(tier)
        {
            slots.used[usize::from(share)] += 1;
            self.stands[number as usize] = share;
        }
        number
    }

    /// Gives back what a call did not draw of what it took at `then`, and its slot.
    pub(crate) fn settle(
        &mut self,
        number: u32,
        tier: u8,
        then: Micros,
        now: Micros,
        settled: impl Fn(usize) -> u64,
    ) {
        let (width, first) = (self.width(), number as usize * self.stride);
        for (at, gate) in self.gates.iter_mut().enumerate() {
            let entry = first + at * width;
            gate.settle(tier, then, now, settled(at), &self.ledger[entry..entry + width]);
        }
        if let Some(slots) = &mut self.slots {
            slots.used[usize::from(self.stands[number as usize])] -= 1;
        }
        self.free.push(number);
    }
}

impl Slots {
    /// The first share with a free slot that a tier may use.
    fn share(&self, tier: u8) -> Option<u8> {
        let order = self.draws_on.of(tier);
        order.iter().copied().find(|&share| self.used[usize::from(share)] < self.most[usize::from(share)])
    }
}

impl Gate {
    fn check(&mut self, tier: u8, now: Micros, amount: u64) -> Result<(), Option<Micros>> {
        let order = self.draws_on.of(tier);
        let free = order.iter().map(|&share| self.buckets[usize::from(share)].free(now));
        let free = free.fold(0u64, u64::saturating_add);
        let overshoots = self.buckets.iter().any(Bucket::overshoots);
        let of_all = |of: fn(&Bucket) -> u64| {
            order.iter().map(|&share| of(&self.buckets[usize::from(share)])).fold(0u64, u64::saturating_add)
        };
        if of_all(Bucket::largest) < amount {
            return Err(None);
        }
        // What is larger than all that the shares hold needs them full.
        let wanted = amount.min(of_all(Bucket::brim));
        if if overshoots { free > 0 } else { wanted <= free } {
            return Ok(());
        }
        // One of n shares must gain an n-th of what is missing before all of them can have gained it.
        let gain = (wanted - free.min(wanted)).div_ceil(order.len() as u64).max(1);
        let mut look = None;
        for &share in order {
            let bucket = &mut self.buckets[usize::from(share)];
            let (free, brim) = (bucket.free(now), bucket.brim());
            if free < brim
                && let Some(ready) = bucket.ready(now, free.saturating_add(gain).min(brim))
            {
                look = Some(look.map_or(ready, |earlier: Micros| earlier.min(ready)));
            }
        }
        Err(look)
    }

    fn take(&mut self, tier: u8, now: Micros, amount: u64, entry: &mut [Entry]) {
        entry.fill(Entry::default());
        let order = self.draws_on.of(tier);
        let mut left = amount;
        for &share in order {
            let part = left.min(self.buckets[usize::from(share)].free(now));
            entry[usize::from(share)].amount = part;
            left -= part;
        }
        // Only buckets that let a call pass the brim leave anything here.
        entry[usize::from(order[0])].amount += left;
        for (bucket, entry) in self.buckets.iter_mut().zip(entry) {
            if entry.amount > 0 {
                entry.ticket = bucket.charge(now, entry.amount);
            }
        }
    }

    fn settle(&mut self, tier: u8, then: Micros, now: Micros, settled: u64, entry: &[Entry]) {
        let order = self.draws_on.of(tier);
        let mut left = settled;
        for &share in order {
            let Entry { amount, ticket } = entry[usize::from(share)];
            let kept = amount.min(left);
            left -= kept;
            self.buckets[usize::from(share)].settle((then, ticket), now, amount, kept);
        }
        if left > 0 {
            self.buckets[usize::from(order[0])].charge(now, left);
        }
    }
}

fn floors_of<T>(broker: &Broker, floor: impl Fn(&TierShare) -> Option<T>) -> BTreeMap<u8, T> {
    broker.tiers.iter().filter_map(|(&tier, set)| Some((tier, floor(set)?))).collect()
}

/// The owners and what each gets of `all`, in the order of tiers, the rest last. Where there is less
/// than all floors together, the later tiers go short.
fn cut<T: Copy + Ord + std::ops::Sub<Output = T>>(floors: &BTreeMap<u8, T>, all: T) -> (Vec<u8>, Vec<T>) {
    let mut left = all;
    let mut most: Vec<T> = Vec::with_capacity(floors.len() + 1);
    for &floor in floors.values() {
        let got = floor.min(left);
        left = left - got;
        most.push(got);
    }
    most.push(left);
    (floors.keys().copied().collect(), most)
}

/// The shares of a quota's window and slice.
fn gates_of(broker: &Broker, at: usize, quota: &Quota) -> Vec<Gate> {
    let floors = floors_of(broker, |set| set.floors.get(&at).copied());
    let (owners, amounts) = cut(&floors, quota.most);
    let shares: Vec<Vec<Bucket>> = amounts
        .iter()
        .map(|&amount| {
            let part = part_of(quota, amount);
            Bucket::of(&part, part.most).into_iter().map(|(_, bucket)| bucket).collect()
        })
        .collect();
    let gate = |window: usize| Gate {
        buckets: shares.iter().filter_map(|share| share.get(window).cloned()).collect(),
        draws_on: DrawsOn::new(broker, &owners),
    };
    (0..quota.limit().enforced().count()).map(gate).collect()
}

/// A part of a quota as a quota of its own, over a window as long as the whole quota's.
fn part_of(quota: &Quota, most: u64) -> Quota {
    if !matches!(quota.rule, Rule::Shrinking { .. }) {
        return quota.with_most(most);
    }
    let limit = quota.limit();
    let share = u128::from(limit.most) * u128::from(most) / u128::from(quota.most.max(1));
    let most = u64::try_from(share).unwrap_or(u64::MAX);
    Quota { most, rule: Rule::Fixed { window: limit.window }, ..quota.clone() }
}
