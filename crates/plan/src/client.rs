//! What stands between runs and their providers in a replay: slots, queues, retries, failover.
//!
//! As measured, or as set for a what-if. Leaves shares of a pool to `broker_policy`. The invariant: what is
//! set names something that is there, and what is not set stays as it was measured.

use std::collections::BTreeMap;

use plimsoll_replay::{Jitter, Micros, PoolKind, Retry, RetryAfter, TierRules, World};

use crate::RehearsalError;
use crate::context::Context;
use crate::stage::{LEAST_URGENT, Props};

/// Most attempts that a replay makes of a call, whatever was measured.
const MOST_ATTEMPTS: u64 = 20;

/// Rules in place of what was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientRules {
    /// Calls that the client sends at once.
    pub slots: Vec<Slots>,
    /// Longest wait of a call by tier, before it expires.
    pub max_wait: BTreeMap<u8, Micros>,
    /// How clients retry.
    pub retry: RetryInstead,
    /// Refusals after which a call goes to the fallback of its pool; never where absent.
    pub failover_after: Option<u32>,
}

/// A cap on the calls that a client sends at once; more wait in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots {
    /// Pool key, or the name of a tool.
    pub of: String,
    /// Request class, where the cap is on one alone.
    pub class: Option<String>,
    /// Most calls at once.
    pub most: u32,
}

/// Parts of a retry rule in place of what was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetryInstead {
    /// Attempts in all.
    pub max_attempts: Option<u16>,
    /// Wait before the second attempt.
    pub base: Option<Micros>,
    /// Longest wait.
    pub cap: Option<Micros>,
    /// How waits are spread.
    pub jitter: Option<Jitter>,
    /// What is made of `retry-after`.
    pub retry_after: Option<RetryAfter>,
}

/// How the clients of each tier retry, by what was measured; those of which nothing was are left to the
/// defaults. Where several workflows share a tier, the one of which most was refused speaks for it.
pub(crate) fn measured_rules(context: &Context<'_>) -> BTreeMap<u8, TierRules> {
    let mut speaks: BTreeMap<u8, (u64, TierRules)> = BTreeMap::new();
    for workflow in &context.measured().workflows {
        let Some(seen) = workflow.retries.as_ref().filter(|seen| seen.refused > 0) else { continue };
        let tier = context.tier(&workflow.workflow).unwrap_or(LEAST_URGENT);
        let (first, longest) = (seen.first_wait_us, seen.longest_wait_us);
        let asked = seen.retry_after_us.iter().flatten().map(|us| Micros(us.max(0.0).round() as u64));
        let asked: Vec<Micros> = asked.collect();
        let known = Retry::default();
        let base = first.map_or(known.base, Micros);
        let retry = Retry {
            max_attempts: u16::try_from(seen.attempts.clamp(1, MOST_ATTEMPTS)).unwrap_or(u16::MAX),
            base,
            cap: longest.map_or(known.cap, Micros).max(base),
            jitter: known.jitter,
            retry_after: if asked.is_empty() { RetryAfter::Ignored } else { RetryAfter::Measured(asked) },
        };
        let rules = TierRules { max_wait: None, retry };
        if speaks.get(&tier).is_none_or(|(refused, _)| *refused < seen.refused) {
            speaks.insert(tier, (seen.refused, rules));
        }
    }
    speaks.into_iter().map(|(tier, (_, rules))| (tier, rules)).collect()
}

impl ClientRules {
    /// What must be on stage for them.
    pub(crate) fn props(&self, context: &Context<'_>) -> Props {
        let pool = |name: &str| context.pools().iter().any(|id| id.pool == name);
        let mut tools: Vec<String> =
            self.slots.iter().map(|slots| &slots.of).filter(|of| !pool(of)).cloned().collect();
        let mut classes: Vec<String> = self.slots.iter().filter_map(|slots| slots.class.clone()).collect();
        for names in [&mut tools, &mut classes] {
            names.sort_unstable();
            names.dedup();
        }
        Props { tools, classes, failover: self.failover_after.is_some() }
    }

    /// Sets the slots in a world.
    ///
    /// # Errors
    /// Where a tool or a class was never seen.
    pub(crate) fn set_slots(&self, context: &Context<'_>, world: &mut World) -> Result<(), RehearsalError> {
        let runs = || context.measured().sampled_runs.iter();
        for Slots { of, class, most } in &self.slots {
            let is_tool = world.pools.iter().any(|pool| pool.name == *of && pool.kind == PoolKind::Tool);
            let called =
                |tool: &str| runs().flat_map(|run| &run.calls).any(|call| call.tool && call.pool == *tool);
            if is_tool && !called(of) {
                return Err(RehearsalError::NoStation { name: of.clone() });
            }
            let class = match class {
                None => None,
                Some(class) if runs().any(|run| run.class.as_ref() == Some(class)) => {
                    let place = world.classes.iter().position(|known| known == class);
                    place.and_then(|place| u16::try_from(place).ok())
                }
                Some(class) => return Err(RehearsalError::NoClass { class: class.clone() }),
            };
            for pool in world.pools.iter_mut().filter(|pool| pool.name == *of) {
                match class {
                    None => pool.slots = Some(*most),
                    Some(class) => {
                        pool.class_slots.insert(class, *most);
                    }
                }
            }
        }
        Ok(())
    }

    /// Sets waits, retries and failover in a world in which they are as measured, or as a policy has them.
    pub(crate) fn set_rules(&self, world: &mut World) {
        for pool in world.pools.iter_mut().filter(|pool| pool.kind == PoolKind::Model) {
            pool.failover_after = self.failover_after.or(pool.failover_after);
        }
        for tier in 0..=LEAST_URGENT {
            let rules = world.tiers.entry(tier).or_default();
            self.retry.set(&mut rules.retry);
            rules.max_wait = self.max_wait.get(&tier).copied().or(rules.max_wait);
        }
    }
}

impl RetryInstead {
    fn set(&self, retry: &mut Retry) {
        let Self { max_attempts, base, cap, jitter, retry_after } = self.clone();
        retry.max_attempts = max_attempts.unwrap_or(retry.max_attempts);
        retry.base = base.unwrap_or(retry.base);
        retry.cap = cap.unwrap_or(retry.cap).max(retry.base);
        retry.jitter = jitter.unwrap_or(retry.jitter);
        retry.retry_after = retry_after.unwrap_or_else(|| retry.retry_after.clone());
    }
}
