//! A pool while a replay runs: its gates, its queue, who is inside.

use std::collections::BTreeMap;

use crate::broker::Shares;
use crate::bucket::Bucket;
use crate::gauge::Gauge;
use crate::limit::Window;
use crate::queue::Queue;
use crate::time::Micros;
use crate::world::{Pool, PoolKind, World};

/// One bucket on the way into a pool.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Which of the counters of all quotas.
    pub(crate) counter: usize,
    /// Which of the call's draws.
    pub(crate) dimension: usize,
    /// Whether a refused attempt draws too.
    pub(super) refused_count: bool,
    /// Operations that it turned away first.
    pub(crate) throttled: u64,
}

/// What a quota's window, or its slice, lets through; and what was asked of it.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) quota: usize,
    pub(crate) window: Window,
    /// Whether it is a slice of the quota's own window.
    pub(crate) slice: bool,
    pub(crate) bucket: Bucket,
    /// Every operation once, at its first attempt, whether it was let through or not.
    pub(crate) demand: Bucket,
}

/// A pool.
#[derive(Debug)]
pub(crate) struct Station {
    pub(crate) gates: Vec<Gate>,
    pub(crate) queue: Queue,
    pub(super) shares: Option<Shares>,
    pub(super) slots: usize,
    pub(super) hidden: usize,
    pub(super) class_slots: BTreeMap<u16, u32>,
    pub(super) class_running: BTreeMap<u16, u32>,
    pub(super) failover_after: Option<u32>,
    /// Whether calls may have to wait in its queue.
    pub(super) queues: bool,
    /// Whether its calls are operations: those of tools are not.
    pub(super) serves_operations: bool,
    /// When its queue is looked at next.
    pub(super) look: Micros,
    pub(crate) running: Gauge,
    pub(crate) waiting: Gauge,
    pub(crate) streaming: Gauge,
    pub(crate) operations: u64,
    pub(crate) hidden_throttled: u64,
    pub(crate) held_for_slots: u64,
}

/// The counters of every quota, in order, and where each quota's begin.
pub(super) fn counters(world: &World) -> (Vec<Counter>, Vec<usize>) {
    let (mut counters, mut first) = (Vec::new(), Vec::new());
    for (at, quota) in world.quotas.iter().enumerate() {
        first.push(counters.len());
        for (place, (window, bucket)) in Bucket::of(quota, quota.most).into_iter().enumerate() {
            let demand = bucket.unlimited(window);
            counters.push(Counter { quota: at, window, slice: place > 0, bucket, demand });
        }
    }
    first.push(counters.len());
    (counters, first)
}

impl Station {
    pub(super) fn new(
        pool: &Pool,
        world: &World,
        first: &[usize],
        lanes: &[(u8, u16)],
        from: Micros,
    ) -> Self {
        let gates = pool.quotas.iter().flat_map(|&at| {
            let quota = &world.quotas[at];
            let dimension = pool.dimensions.iter().position(|name| *name == quota.dimension).unwrap_or(0);
            (first[at]..first[at + 1]).map(move |counter| Gate {
                counter,
                dimension,
                refused_count: quota.refused_count,
                throttled: 0,
            })
        });
        let most = |cap: Option<u32>| cap.map_or(usize::MAX, |cap| cap as usize);
        Self {
            gates: gates.collect(),
            queue: Queue::new(lanes.iter().copied()),
            shares: pool.broker.as_ref().map(|broker| Shares::new(broker, pool, &world.quotas)),
            slots: most(pool.slots),
            hidden: most(pool.hidden_concurrent),
            class_slots: pool.class_slots.clone(),
            class_running: pool.class_slots.keys().map(|&class| (class, 0)).collect(),
            failover_after: pool.failover_after,
            queues: pool.queues(),
            serves_operations: pool.kind == PoolKind::Model,
            look: Micros::MAX,
            running: Gauge::new(from),
            waiting: Gauge::new(from),
            streaming: Gauge::new(from),
            operations: 0,
            hidden_throttled: 0,
            held_for_slots: 0,
        }
    }
}
