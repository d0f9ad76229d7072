//! A broker's policy made from a plan, and set in a world that is replayed.
//!
//! Leaves its form to `broker_policy`. The invariant: what is set is what the file says; a floor of a limit that
//! does not bind is left out, and one larger than its limit goes short as the broker itself would let it.

use std::collections::BTreeMap;

use plimsoll_replay::{Broker, Micros, PoolKind, RetryAfter, TierShare, World};

use crate::broker_policy::{
    BrokerPolicy, BucketPolicy, CallsPolicy, ClassPolicy, EstimatePolicy, PoolPolicy, RetryPolicy,
    TierPolicy, ToolPolicy, VERSION,
};
use crate::client::{Slots, measured_rules};
use crate::context::{Context, PlanError, PlanInput, PoolId};
use crate::demand::{Counted, Kind};
use crate::pools::all_counted;
use crate::quantity::Quantity;
use crate::queue::poisson_quantile;
use crate::spec::Fallback;
use crate::stage::quota;
use crate::{ClientRules, Plan, PoolPlan};

/// The policy that goes with a plan, at the limits that it asks for.
///
/// # Errors
/// As for the plan itself.
pub fn broker_policy(input: &PlanInput<'_>, plan: &Plan) -> Result<BrokerPolicy, PlanError> {
    let context = Context::new(input)?;
    let pools = all_counted(&context);
    let of = |pool: &PoolPlan| {
        let (id, counted) = pools.iter().find(|(id, _)| context.is_of(pool, id))?;
        let policy = pool_policy(&context, plan, pool, id, counted);
        (!policy.buckets.is_empty() && !policy.tiers.is_empty()).then_some(policy)
    };
    let tool = |at: &&crate::InFlightMeasured| at.boundary == "tool" && at.max > 0;
    let tools = input.measured.in_flight.iter().filter(tool).map(|at| ToolPolicy {
        tool: at.name.clone(),
        concurrent: count((&Quantity::from(at.max) * &context.with_headroom()).ceil()),
    });
    Ok(BrokerPolicy {
        version: VERSION,
        plan_id: Some(plan.plan_id.clone()),
        as_of: Some(plan.as_of),
        pools: plan.pools.iter().filter_map(of).collect(),
        tools: tools.collect(),
        retries: measured_rules(&context)
            .iter()
            .map(|(tier, rules)| RetryPolicy::new(*tier, &rules.retry))
            .collect(),
    })
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn pool_policy(
    context: &Context<'_>,
    plan: &Plan,
    pool: &PoolPlan,
    id: &PoolId,
    counted: &[Counted],
) -> PoolPolicy {
    let bucket = |counted: &Counted| {
        let row = pool.dimensions.iter().find(|row| row.dimension == counted.dimension)?;
        let limit = row.ask.or(row.limit)?;
        let quota = quota(context, id, counted, limit);
        Some(BucketPolicy {
            dimension: counted.dimension.clone(),
            limit,
            window_s: counted.window_s,
            burst: quota.holds(),
        })
    };
    let minute = |counted: &&Counted| matches!(counted.kind, Kind::PerMinute(_));
    let rows = plan
        .tiers
        .iter()
        .filter(|row| row.pool == pool.pool && row.account == pool.account && row.region == pool.region);
    let tiers: Vec<TierPolicy> = rows
        .map(|row| TierPolicy {
            tier: row.tier,
            floors: row.floors.clone(),
            floor_concurrent: Some(count(row.floor_concurrent)).filter(|calls| *calls > 0),
            may_borrow: row.may_borrow.clone(),
            max_wait_s: row.max_wait_s,
        })
        .collect();
    let floors: u64 = tiers.iter().filter_map(|tier| tier.floor_concurrent).map(u64::from).sum();
    // As many as the pool is seen to need, nearly always, with headroom; never fewer than all floors together.
    let concurrent = pool.concurrency.as_ref().filter(|inside| inside.mean > 0.0).map(|inside| {
        let with_headroom = inside.mean * context.with_headroom().to_f64();
        count(poisson_quantile(with_headroom, 0.999).max(inside.max.unwrap_or(0)).max(floors).max(1))
    });
    let share = |(class, share): (&String, &Quantity)| {
        let calls = (&Quantity::from(u64::from(concurrent?)) * share).floor().max(1);
        Some(ClassPolicy { class: class.clone(), concurrent: count(calls) })
    };
    let mut shed: Vec<u8> = tiers.iter().map(|tier| tier.tier).filter(|tier| *tier > 0).collect();
    shed.reverse();
    let fallback = context.pool_spec(id).and_then(|spec| spec.fallback.as_ref());
    PoolPolicy {
        pool: pool.pool.clone(),
        account: pool.account.clone(),
        region: pool.region.clone(),
        concurrent,
        buckets: counted.iter().filter(minute).filter_map(bucket).collect(),
        classes: context.spec().policy.classes.iter().filter_map(share).collect(),
        tiers: if concurrent.is_some() {
            tiers
        } else {
            tiers.into_iter().map(|tier| TierPolicy { floor_concurrent: None, ..tier }).collect()
        },
        shed,
        estimate: context.entry(&id.pool).map(|entry| EstimatePolicy {
            meter: entry.meter.clone(),
            model_max_output: entry.max_output_tokens,
            calls_per_run: pool
                .contributors
                .iter()
                .filter_map(|part| calls(context, &part.workflow))
                .collect(),
        }),
        failover_after: fallback.filter(|fallback| is_proven(fallback)).map(|_| 1),
        fallback: fallback.map(|fallback| fallback.pool.clone()),
    }
}

/// Whether calls may go there by themselves: its quota, its credentials and its answers were looked at.
fn is_proven(fallback: &Fallback) -> bool {
    fallback.quota_confirmed.is_some()
        && fallback.credentials_tested.is_some()
        && fallback.evaluation.is_some()
}

fn calls(context: &Context<'_>, workflow: &str) -> Option<CallsPolicy> {
    let stat = context.workflow(workflow)?.metrics.get("model_calls").filter(|stat| stat.n > 0)?;
    let whole = |value: f64| Quantity::of_percentile(value).map(|value| value.ceil());
    Some(CallsPolicy { workflow: workflow.to_owned(), p50: whole(stat.p50)?, p95: whole(stat.p95)? })
}

impl BrokerPolicy {
    /// The slots and the ways to fall back that it asks for, under those that are set beside it.
    pub(crate) fn client(&self, set: &ClientRules) -> ClientRules {
        let mut client = ClientRules { slots: Vec::new(), ..set.clone() };
        for tool in &self.tools {
            client.slots.push(Slots { of: tool.tool.clone(), class: None, most: tool.concurrent });
        }
        for pool in &self.pools {
            let slots = |class: Option<String>, most| Slots { of: pool.pool.clone(), class, most };
            client.slots.extend(pool.concurrent.map(|most| slots(None, most)));
            let classes = pool.classes.iter();
            client.slots.extend(classes.map(|class| slots(Some(class.class.clone()), class.concurrent)));
        }
        client.slots.extend(set.slots.iter().cloned());
        client
    }

    /// Whether calls of any pool go on to its fallback.
    pub(crate) fn fails_over(&self) -> bool {
        self.pools.iter().any(|pool| pool.failover_after.is_some())
    }

    /// Sets shares, waits and retries in a world; its pools stand in the order of `ids`.
    pub(crate) fn set(&self, world: &mut World, ids: &[PoolId]) {
        let World { quotas, pools, tiers, .. } = world;
        let models = pools.iter_mut().filter(|pool| pool.kind == PoolKind::Model);
        for (pool, id) in models.zip(ids) {
            let fits = |mine: &Option<String>, theirs: &Option<String>| mine.is_none() || mine == theirs;
            let covers = |policy: &&PoolPolicy| {
                policy.pool == id.pool
                    && fits(&policy.account, &id.account)
                    && fits(&policy.region, &id.region)
            };
            let Some(policy) = self.pools.iter().find(covers) else { continue };
            let share = |tier: &TierPolicy| {
                let floors: BTreeMap<usize, u64> = tier
                    .floors
                    .iter()
                    .filter_map(|(dimension, floor)| Some((pool.quota_of(quotas, dimension)?, *floor)))
                    .collect();
                let floor_concurrent = tier.floor_concurrent.filter(|_| pool.slots.is_some());
                (tier.tier, TierShare { floors, floor_concurrent, may_borrow: tier.may_borrow.clone() })
            };
            let tiers_of_pool = policy.tiers.iter().map(share).collect();
            pool.broker = Some(Broker { tiers: tiers_of_pool });
            pool.failover_after = policy.failover_after.or(pool.failover_after);
            for tier in &policy.tiers {
                let wait = Micros::seconds(tier.max_wait_s);
                let rules = tiers.entry(tier.tier).or_default();
                // A tier has one patience: that of the pool where it may wait longest.
                rules.max_wait = Some(rules.max_wait.map_or(wait, |longest| longest.max(wait)));
            }
        }
        for policy in &self.retries {
            let retry = &mut tiers.entry(policy.tier).or_default().retry;
            retry.max_attempts = policy.max_attempts;
            (retry.base, retry.cap) = (Micros::millis(policy.base_ms), Micros::millis(policy.cap_ms));
            retry.jitter = policy.jitter;
            if !policy.heed_retry_after {
                retry.retry_after = RetryAfter::Ignored;
            } else if retry.retry_after == RetryAfter::Ignored {
                retry.retry_after = RetryAfter::Exact;
            }
        }
    }
}
