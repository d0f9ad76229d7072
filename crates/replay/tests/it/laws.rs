//! What must hold of every replay: nothing is lost, Little's law is exact, and a seed decides.

use std::collections::BTreeMap;

use crate::support::{MINUTE, Tested, lawful};
use plimsoll_replay::{
    Arrivals, Broker, Draw, Jitter, Micros, Pool, PoolKind, Quota, Rate, Replay, ReplayError, Retry,
    RetryAfter, Route, Rule, Run, Runs, Settings, ShrinkStep, Step, TierRules, TierShare, Window, World,
    replay_all, spread,
};
use proptest::prelude::*;

fn rule() -> impl Strategy<Value = Rule> {
    let windows = vec![
        ShrinkStep { from_units: 1, window: Window(30) },
        ShrinkStep { from_units: 50, window: Window(5) },
    ];
    prop_oneof![
        Just(Rule::Fixed { window: MINUTE }),
        (prop::option::of(1u32..60))
            .prop_map(|burst| Rule::Token { window: MINUTE, burst: burst.map(Window) }),
        Just(Rule::Leaky { window: MINUTE }),
        Just(Rule::Sliding { window: MINUTE }),
        (1u64..4)
            .prop_map(move |per_unit_second| Rule::Shrinking { per_unit_second, windows: windows.clone() }),
    ]
}

fn quota() -> impl Strategy<Value = Quota> {
    (0u64..400, rule(), prop::option::of(1u32..20), any::<bool>()).prop_map(
        |(most, rule, slice, refused_count)| Quota {
            dimension: "tokens".to_owned(),
            most,
            rule,
            slice: slice.map(Window),
            refused_count,
        },
    )
}

fn broker() -> impl Strategy<Value = Broker> {
    let share = |tier: u8| {
        (prop::option::of(0u64..200), prop::sample::subsequence(vec![0u8, 1, 2], 0..3)).prop_map(
            move |(floor, lenders)| TierShare {
                floors: floor.map(|floor| (0, floor)).into_iter().collect(),
                floor_concurrent: None,
                may_borrow: lenders.into_iter().filter(|&lender| lender != tier).collect(),
            },
        )
    };
    (share(0), share(1)).prop_map(|(zero, one)| Broker { tiers: BTreeMap::from([(0, zero), (1, one)]) })
}

fn retry() -> impl Strategy<Value = Retry> {
    let after = prop_oneof![
        Just(RetryAfter::Ignored),
        Just(RetryAfter::Exact),
        (0u64..30_000).prop_map(|ms| RetryAfter::Set(Micros::millis(ms))),
        prop::collection::vec((0u64..9_000).prop_map(Micros::millis), 0..3).prop_map(RetryAfter::Measured),
    ];
    let jitter = prop_oneof![Just(Jitter::None), Just(Jitter::Half), Just(Jitter::Full)];
    (1u16..6, 0u64..5_000, after, jitter).prop_map(|(max_attempts, base, retry_after, jitter)| Retry {
        max_attempts,
        base: Micros::millis(base),
        cap: Micros::seconds(20),
        jitter,
        retry_after,
    })
}

/// Two pools that share a limit, one of them behind a broker, and a tool with slots.
fn world() -> impl Strategy<Value = World> {
    let pool = |name: &'static str, quotas: Vec<usize>| {
        (
            prop::option::of(1u32..5),
            prop::option::of(1u32..5),
            prop::option::of(0u32..3),
            prop::option::of(1u32..3),
            prop::option::of(broker()),
        )
            .prop_map(move |(hidden_concurrent, slots, class, failover_after, broker)| Pool {
                name: name.to_owned(),
                dimensions: vec!["tokens".to_owned()],
                quotas: quotas.clone(),
                hidden_concurrent,
                slots,
                class_slots: class.map(|slots| (1, slots)).into_iter().collect(),
                failover_after,
                broker,
                ..Pool::default()
            })
    };
    let tool = Pool { name: "tool".to_owned(), kind: PoolKind::Tool, slots: Some(2), ..Pool::default() };
    let rules = || {
        (prop::option::of(0u64..60_000), retry())
            .prop_map(|(wait, retry)| TierRules { max_wait: wait.map(Micros::millis), retry })
    };
    (pool("first", vec![0, 1]), pool("second", vec![0]), quota(), quota(), rules(), rules()).prop_map(
        move |(first, second, one, other, zero, rest)| {
            // A broker of the second pool knows the shared quota only, as its floors say.
            World {
                classes: vec!["interactive".to_owned(), "background".to_owned()],
                quotas: vec![one, other],
                pools: vec![first, second, tool.clone()],
                tiers: BTreeMap::from([(0, zero), (1, rest)]),
            }
        },
    )
}

fn route(pool: u32) -> impl Strategy<Value = Route> {
    (0u64..120, 0u64..120, 0u64..20_000, prop::option::of(0u64..9_000)).prop_map(
        move |(admission, settlement, latency, ttft)| Route {
            pool,
            draws: if pool == 2 { Vec::new() } else { vec![Draw { admission, settlement }] },
            latency: Micros::millis(latency),
            ttft: ttft.map(Micros::millis),
            nano_usd: settlement * 1_000,
        },
    )
}

fn run() -> impl Strategy<Value = Run> {
    let routes = prop_oneof![
        route(0).prop_map(|one| vec![one]),
        (route(0), route(1)).prop_map(|(one, other)| vec![one, other]),
        route(2).prop_map(|tool| vec![tool]),
    ];
    let step = (prop::collection::vec(any::<prop::sample::Index>(), 0..3), 0u64..3_000, routes);
    (0u8..3, 0u16..2, 0u64..200_000, prop::collection::vec(step, 1..6)).prop_map(
        |(tier, class, arrival, steps)| {
            let step = |(at, (after, think, routes)): (usize, (Vec<prop::sample::Index>, u64, _))| Step {
                after: if at == 0 {
                    Vec::new()
                } else {
                    after.iter().map(|before| before.index(at) as u32).collect()
                },
                think: Micros::millis(think),
                routes,
            };
            let steps = steps.into_iter().enumerate().map(step).collect();
            Run { workflow: u32::from(tier) % 2, tier, class, arrival: Micros::millis(arrival), steps }
        },
    )
}

fn all(of: &[Run]) -> Result<Runs, ReplayError> {
    let mut runs = Runs::new(["one", "other"]);
    of.iter().try_for_each(|run| runs.push(run))?;
    Ok(runs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Little's law to the microsecond at every boundary, and nothing lost, whatever the rules, cut
    /// off anywhere; and the same again gives the same.
    #[test]
    fn whatever_happens_the_laws_hold(
        world in world(),
        of in prop::collection::vec(run(), 1..40),
        from in 0u64..100,
        length in 1u64..300,
        streams in any::<bool>(),
    ) {
        let runs = all(&of)?;
        let replay = Replay::new(&world, &runs)?;
        let from = Micros::seconds(from);
        let settings = Settings { from, until: from + Micros::seconds(length), seed: 7, streams };
        let outcome = replay.run(&Arrivals::recorded(&runs), settings)?;
        lawful(&outcome);
        for limit in &outcome.pools {
            prop_assert!(limit.throttled <= limit.operations);
        }
        prop_assert_eq!(&outcome, &replay.run(&Arrivals::recorded(&runs), settings)?);
    }

    /// With room for everyone a run takes its longest path, and is never throttled.
    #[test]
    fn without_limits_a_run_takes_its_longest_path(of in prop::collection::vec(run(), 1..10)) {
        let runs = all(&of)?;
        let pool = |name: &str, dimensions: &[&str]| Pool {
            name: name.to_owned(),
            dimensions: dimensions.iter().map(|&name| name.to_owned()).collect(),
            ..Pool::default()
        };
        let world = World {
            classes: vec!["one".to_owned(), "other".to_owned()],
            pools: vec![pool("first", &["tokens"]), pool("second", &["tokens"]), pool("tool", &[])],
            ..World::default()
        };
        let outcome = Replay::new(&world, &runs)?.run(&Arrivals::recorded(&runs), Settings::until(Micros::HOUR))?;
        lawful(&outcome);
        let path = |run: &Run| {
            let mut ends: Vec<u64> = Vec::new();
            for step in &run.steps {
                let start = step.after.iter().map(|&before| ends[before as usize]).max().unwrap_or(0);
                ends.push(start + step.think.0 + step.routes[0].latency.0);
            }
            ends.into_iter().max().unwrap_or(0)
        };
        let longest = of.iter().map(path).max().unwrap_or(0);
        let told = outcome.tiers.iter().filter_map(|tier| tier.summary.completion.max_ms).fold(0.0, f64::max);
        prop_assert!((told - longest as f64 / 1e3).abs() < 1e-9);
        prop_assert!(outcome.tiers.iter().all(|tier| tier.summary.throttled == 0));
    }
}

/// A seed decides everything, the number of threads nothing; figures are spread over seeds.
#[test]
fn a_seed_decides_and_threads_do_not() -> Tested {
    let step = Step {
        after: Vec::new(),
        think: Micros::ZERO,
        routes: vec![crate::support::call(10, Micros::SECOND)],
    };
    let runs = all(&[Run { workflow: 0, tier: 0, class: 0, arrival: Micros::ZERO, steps: vec![step] }])?;
    let world =
        crate::support::limited(crate::support::quota(500, Rule::Token { window: MINUTE, burst: None }));
    let world = crate::support::Worlds::retrying(world, Retry { jitter: Jitter::Full, ..Retry::default() });
    let replay = Replay::new(&world, &runs)?;
    let rate = Rate::steady(0, Micros::ZERO, Micros::HOUR, 55.0);
    let mut cases = Vec::new();
    for seed in 0..9 {
        let arrivals = Arrivals::resampled(&runs, std::slice::from_ref(&rate), seed)?;
        cases.push((arrivals, Settings { seed, ..Settings::until(Micros::HOUR) }));
    }
    let one = replay_all(&replay, &cases, 1)?;
    assert_eq!(one, replay_all(&replay, &cases, 2)?);
    assert_eq!(one, replay_all(&replay, &cases, 16)?);
    assert_ne!(one[0].tiers, one[1].tiers);
    let spreads = spread(&one);
    let share = spreads.iter().find(|at| at.of == "tier 0" && at.figure == "throttled_share");
    assert!(share.is_some_and(|at| at.seeds == 9 && at.p5 <= at.mean && at.mean <= at.p95 && at.p5 < at.p95));
    Ok(())
}
