//! Who waits and who is refused: brokers, queues, slots, retries, failover.

use std::collections::BTreeMap;

use crate::support::{FIXED, Tested, Worlds, call, first, lawful, limited, open, quota, runs, single};
use plimsoll_replay::{
    Arrivals, Broker, Jitter, Micros, Outcome, Pool, PoolKind, Quota, Replay, ReplayError, Retry, RetryAfter,
    Route, Rule, Run, Runs, Settings, Step, Summary, TierRules, TierShare, World,
};

fn replayed(world: &World, runs: &Runs) -> Result<Outcome, ReplayError> {
    let outcome = Replay::new(world, runs)?
        .run(&Arrivals::recorded(runs), Settings { streams: true, ..Settings::until(Micros::HOUR) })?;
    lawful(&outcome);
    Ok(outcome)
}

fn tier(outcome: &Outcome, tier: u8) -> &Summary {
    let found = outcome.tiers.iter().find(|at| at.tier == tier);
    &found.unwrap_or_else(|| unreachable!("tier {tier} ran")).summary
}

fn of_tier(tier: u8, arrival: Micros, tokens: u64) -> Run {
    Run { tier, ..single(arrival, call(tokens, Micros::SECOND)) }
}

fn share(floor: u64, may_borrow: &[u8]) -> TierShare {
    TierShare {
        floors: BTreeMap::from([(0, floor)]),
        may_borrow: may_borrow.to_vec(),
        ..TierShare::default()
    }
}

/// PLANNING section 5: tier 0's floor is never lent, tier 1 may borrow what 2 and 3 leave unused, 2
/// goes before 3. Of 100 a minute 30 are tier 0's and 20 tier 1's. Tier 3 asks for everything first
/// and gets the rest, 50; tier 1 then has its floor alone; tier 0, late, is untouched.
#[test]
fn floors_hold_and_what_is_unused_is_lent() -> Tested {
    let mut world = limited(quota(100, FIXED));
    let tiers = BTreeMap::from([(0, share(30, &[])), (1, share(20, &[2, 3]))]);
    world.pools[0].broker = Some(Broker { tiers });
    let at = Micros::seconds;
    let many = |tier, from, count| (0..count).map(move |_| of_tier(tier, at(from), 10));
    let squeezed = runs(many(3, 1, 20).chain(many(1, 2, 7)).chain(many(0, 30, 3)))?;
    let outcome = replayed(&world, &squeezed)?;
    assert_eq!(tier(&outcome, 0).throttled, 0);
    assert_eq!(tier(&outcome, 1).throttled, 5);
    assert_eq!(tier(&outcome, 3).throttled, 15);
    // The next minute tier 1 goes first and borrows 30 of what tier 3, which waits, would have drawn;
    // tier 3's fifteen get in two, five, five and three a minute.
    assert_eq!(tier(&outcome, 1).waits.max_ms, Some(58_000.0));
    assert_eq!(tier(&outcome, 3).waits.max_ms, Some(239_000.0));
    assert!(outcome.pools[0].drawn <= 100);
    // Alone, tier 1 has its floor and all of the rest, but nothing of tier 0's.
    let alone = replayed(&world, &runs(many(1, 1, 10))?)?;
    assert_eq!(tier(&alone, 1).throttled, 3);
    // Tier 2 goes before tier 3, though 3 came first.
    let both = replayed(&world, &runs(many(3, 1, 10).chain(many(2, 2, 5)))?)?;
    assert_eq!(tier(&both, 2).waits.max_ms, Some(58_000.0));
    assert_eq!(tier(&both, 3).waits.max_ms, Some(119_000.0));
    Ok(())
}

/// LL1: of 10 requests a minute, split 0.9 to production and 0.1 to development, each has its 9 and its
/// 1 however much both ask for.
#[test]
fn ll1_a_limit_is_split_by_shares() -> Tested {
    let mut world = limited(quota(10, FIXED));
    let tiers = BTreeMap::from([(0, share(9, &[])), (1, share(1, &[]))]);
    world.pools[0].broker = Some(Broker { tiers });
    let flood = |tier| (0..10).map(move |_| of_tier(tier, Micros::ZERO, 1));
    let outcome = replayed(&world, &runs(flood(1).chain(flood(0)))?)?;
    assert_eq!((tier(&outcome, 0).throttled, tier(&outcome, 1).throttled), (1, 9));
    Ok(())
}

/// Floors of slots: of four, two are tier 0's. Tier 1 runs two at once at most, though two are idle;
/// that is a wait, not a throttle.
#[test]
fn slots_have_floors_too() -> Tested {
    let floor = TierShare { floor_concurrent: Some(2), ..TierShare::default() };
    let broker = Broker { tiers: BTreeMap::from([(0, floor)]) };
    let world = World {
        pools: vec![Pool { slots: Some(4), broker: Some(broker), ..open("pool") }],
        ..World::default()
    };
    let outcome = replayed(&world, &runs((0..6).map(|_| of_tier(1, Micros::ZERO, 0)))?)?;
    assert_eq!((outcome.queues[0].in_flight_max, tier(&outcome, 1).throttled), (2, 0));
    assert_eq!(tier(&outcome, 1).waits.max_ms, Some(2_000.0));
    Ok(())
}

/// A call larger than all that its tier may ever draw fails at once and holds nobody up; one that
/// borrows gives back what it did not draw.
#[test]
fn a_call_that_never_fits_fails_at_once() -> Tested {
    let mut world = limited(quota(100, FIXED));
    world.pools[0].broker = Some(Broker { tiers: BTreeMap::from([(0, share(40, &[]))]) });
    let outcome = replayed(&world, &runs([of_tier(1, Micros::ZERO, 61), of_tier(1, Micros(1), 60)])?)?;
    assert_eq!((tier(&outcome, 1).failed, tier(&outcome, 1).completed), (1, 1));
    assert_eq!(tier(&outcome, 1).waits.max_ms, None.or(Some(0.0)));
    Ok(())
}

/// A bounded wait: two slots, calls of ten seconds, patience of fifteen. The fifth and sixth would
/// wait twenty, expire at fifteen, and their runs with them; the next step is never wanted.
#[test]
fn patience_ends() -> Tested {
    let mut world = World { pools: vec![Pool { slots: Some(2), ..open("pool") }], ..World::default() };
    world.tiers.insert(1, TierRules { max_wait: Some(Micros::seconds(15)), ..TierRules::default() });
    let second = Step { after: vec![0], ..first(call(0, Micros::SECOND)) };
    let run = Run { steps: vec![first(call(0, Micros::seconds(10))), second], ..of_tier(1, Micros::ZERO, 0) };
    let outcome = replayed(&world, &runs((0..6).map(|_| run.clone()))?)?;
    let told = tier(&outcome, 1);
    assert_eq!((told.expired, told.runs_expired, told.runs_completed), (2, 2, 4));
    assert_eq!(told.operations, 6 + 4);
    assert_eq!(told.waits.max_ms, Some(15_000.0));
    Ok(())
}

/// Retries: without jitter a refused call returns after 1, 2 and 4 s and finds the minute as it was;
/// its fourth attempt was its last. A client that heeds the limit comes back with the next minute.
#[test]
fn retries_back_off_and_give_up() -> Tested {
    let pair = runs([of_tier(1, Micros::seconds(10), 100), of_tier(1, Micros::seconds(11), 100)])?;
    let retry = Retry {
        max_attempts: 4,
        base: Micros::SECOND,
        jitter: Jitter::None,
        retry_after: RetryAfter::Ignored,
        ..Retry::default()
    };
    let outcome = replayed(&limited(quota(100, FIXED)).retrying(retry.clone()), &pair)?;
    let told = tier(&outcome, 1);
    assert_eq!((told.throttled, told.refused_attempts, told.failed), (1, 4, 1));
    assert_eq!(told.waits.max_ms, Some(7_000.0));
    let heeding = Retry { retry_after: RetryAfter::Exact, ..retry };
    let outcome = replayed(&limited(quota(100, FIXED)).retrying(heeding), &pair)?;
    let told = tier(&outcome, 1);
    assert_eq!((told.throttled, told.refused_attempts, told.completed), (1, 1, 2));
    assert_eq!(told.waits.max_ms, Some(49_000.0));
    Ok(())
}

/// Where refused attempts count, hammering keeps a window full: three refused attempts at 4 leave no
/// room for a call that would otherwise have fitted.
#[test]
fn refused_attempts_may_count() -> Tested {
    let calls = || runs([(1, 6), (2, 5), (3, 4)].map(|(at, tokens)| of_tier(1, Micros::seconds(at), tokens)));
    let told = |refused_count| {
        let limit = Quota { refused_count, ..quota(10, FIXED) };
        Ok::<_, ReplayError>(tier(&replayed(&limited(limit), &calls()?)?, 1).throttled)
    };
    assert_eq!((told(false)?, told(true)?), (1, 2));
    Ok(())
}

/// Failover: the second call is refused by the first pool, whose cap is hidden, and goes on to the
/// other at once, at the other's length and price. It is throttled, once, and completes.
#[test]
fn a_refused_call_fails_over() -> Tested {
    let other = Route { pool: 1, nano_usd: 7, ..call(1, Micros::seconds(3)) };
    let step = Step {
        routes: vec![
            Route { nano_usd: 5, ttft: Some(Micros::millis(200)), ..call(1, Micros::seconds(10)) },
            other,
        ],
        ..first(call(1, Micros::ZERO))
    };
    let run = Run { steps: vec![step], ..of_tier(0, Micros::ZERO, 0) };
    let mut world = World {
        pools: vec![
            Pool { hidden_concurrent: Some(1), failover_after: Some(1), ..open("first") },
            Pool { slots: Some(1), ..open("other") },
        ],
        ..World::default()
    };
    let both = runs((0..2).map(|_| run.clone()))?;
    let outcome = replayed(&world, &both)?;
    let told = tier(&outcome, 0);
    assert_eq!((told.operations, told.throttled, told.failed_over, told.completed), (2, 1, 1, 2));
    assert_eq!((told.nano_usd, outcome.nano_usd), (12, 12));
    assert_eq!((told.completion.p50_ms, told.ttft.max_ms), (Some(6_500.0), Some(200.0)));
    let concurrent = &outcome.pools[0];
    assert_eq!((concurrent.dimension.as_str(), concurrent.limit, concurrent.throttled), ("concurrent", 1, 1));
    let stream =
        outcome.little.boundaries.iter().find(|at| (at.boundary, at.name.as_str()) == ("stream", "first"));
    assert!(stream.is_some_and(|stream| stream.entered == 1 && (stream.l - 9.8 / 3_600.0).abs() < 1e-9));
    // Without failover it is tried again in place.
    world.pools[0].failover_after = None;
    let outcome = replayed(&world.retrying(Retry::never()), &both)?;
    assert_eq!((tier(&outcome, 0).failed, tier(&outcome, 0).failed_over), (1, 0));
    Ok(())
}

/// Fan-out over a tool with two slots: six tool calls of a second after one model call take three
/// seconds, and the step that joins them starts after the last.
#[test]
fn a_fan_out_waits_for_a_tool() -> Tested {
    let tool = Route { pool: 1, draws: Vec::new(), ..call(0, Micros::SECOND) };
    let fan = (0..6).map(|_| Step { after: vec![0], ..first(tool.clone()) });
    let join = Step { after: (1..7).collect(), think: Micros::millis(500), ..first(call(1, Micros::SECOND)) };
    let steps = std::iter::once(first(call(1, Micros::SECOND))).chain(fan).chain([join]).collect();
    let run = Run { steps, ..of_tier(2, Micros::ZERO, 0) };
    let tool = Pool { name: "search".to_owned(), kind: PoolKind::Tool, slots: Some(2), ..Pool::default() };
    let world = World { pools: vec![open("pool"), tool], ..World::default() };
    let outcome = replayed(&world, &runs([run])?)?;
    assert_eq!(tier(&outcome, 2).completion.max_ms, Some(5_500.0));
    assert_eq!((outcome.queues[1].in_flight_max, outcome.queues[1].held_for_slots), (2, 1));
    let inside = outcome.little.boundaries.iter().find(|at| at.boundary == "tool");
    assert!(inside.is_some_and(|tool| tool.entered == 6 && tool.w_s == 1.0));
    Ok(())
}

/// Class caps: the background's one slot holds up no interactive call behind it.
#[test]
fn a_class_that_is_full_holds_up_no_other() -> Tested {
    let pool = Pool { class_slots: BTreeMap::from([(1, 1)]), ..open("pool") };
    let classes = vec!["interactive".to_owned(), "background".to_owned()];
    let world = World { classes, pools: vec![pool], ..World::default() };
    let of = [1, 1, 1, 0, 0].map(|class| Run { class, ..of_tier(class as u8, Micros::ZERO, 0) });
    let outcome = replayed(&world, &runs(of)?)?;
    assert_eq!(tier(&outcome, 0).waits.max_ms, Some(0.0));
    assert_eq!(tier(&outcome, 1).waits.max_ms, Some(2_000.0));
    Ok(())
}

/// A queue that grows says how fast: three a minute come, two a minute are let through.
#[test]
fn a_queue_that_grows_says_how_fast() -> Tested {
    let mut world = limited(quota(2, FIXED));
    world.pools[0].broker = Some(Broker::default());
    let steady = runs((0..180).map(|nth| of_tier(1, Micros::seconds(20 * nth), 1)))?;
    let outcome = replayed(&world, &steady)?;
    assert_eq!(tier(&outcome, 1).queue_growth_per_min, 1.0);
    assert_eq!(tier(&outcome, 1).in_flight, 60);
    Ok(())
}

/// The keys that the command's JSON has, with whole numbers for tokens and money.
#[test]
fn an_outcome_is_json() -> Result<(), Box<dyn std::error::Error>> {
    let pair = runs([of_tier(1, Micros::ZERO, 60), of_tier(1, Micros::SECOND, 60)])?;
    let told = serde_json::to_value(replayed(&limited(quota(100, FIXED)), &pair)?)?;
    let tier = &told["tiers"][0];
    assert_eq!(
        ["tier", "operations", "throttled", "completed", "nano_usd"].map(|key| tier[key].as_u64()),
        [1, 2, 1, 1, 0].map(Some)
    );
    assert_eq!(tier["wait_p95_ms"].as_f64(), Some(0.0));
    let pool = &told["pools"][0];
    assert_eq!((&pool["pool"], &pool["dimension"]), (&"pool".into(), &"tokens".into()));
    assert_eq!((pool["limit"].as_u64(), pool["peak"].as_u64()), (Some(100), Some(120)));
    assert_eq!(pool["throttled_share"].as_f64(), Some(0.5));
    assert_eq!(told["little"]["exact"].as_bool(), Some(true));
    Ok(())
}

/// What does not fit together is refused with words that say what to change.
#[test]
fn what_does_not_fit_is_refused() -> Tested {
    let calls = runs([of_tier(1, Micros::ZERO, 1)])?;
    let told = |world: &World| Replay::new(world, &calls).map(|_| ()).map_err(|error| error.to_string());
    let fits = limited(quota(1, FIXED));
    assert_eq!(told(&fits), Ok(()));
    let wrong = |change: &dyn Fn(&mut World)| {
        let mut world = fits.clone();
        change(&mut world);
        told(&world).err().unwrap_or_default()
    };
    assert!(wrong(&|world| world.pools.clear()).contains("add the pool"));
    assert!(wrong(&|world| world.pools[0].quotas.push(4)).contains("add the quota"));
    assert!(wrong(&|world| world.pools[0].dimensions.push("x".to_owned())).contains("meter the call"));
    assert!(wrong(&|world| world.quotas[0].dimension = "x".to_owned()).contains("add the dimension"));
    assert!(
        wrong(&|world| world.quotas[0].rule = Rule::Fixed { window: plimsoll_replay::Window(0) })
            .contains("at least 1")
    );
    assert!(
        wrong(&|world| world.quotas[0].rule = Rule::Shrinking { per_unit_second: 1, windows: vec![] })
            .contains("at least one")
    );
    let myself = Broker { tiers: BTreeMap::from([(1, share(1, &[1]))]) };
    assert!(wrong(&|world| world.pools[0].broker = Some(myself.clone())).contains("name other tiers"));
    let never = Retry { max_attempts: 0, ..Retry::default() };
    assert!(wrong(&|world| *world = world.clone().retrying(never.clone())).contains("at least one"));
    let mut circle = Runs::new(["work"]);
    let step = Step {
        routes: vec![call(1, Micros::SECOND), call(1, Micros::SECOND)],
        ..first(call(1, Micros::SECOND))
    };
    circle.push(&Run { steps: vec![step], ..of_tier(1, Micros::ZERO, 0) })?;
    assert!(matches!(Replay::new(&fits, &circle), Err(ReplayError::Circle { .. })));
    let later = Step { after: vec![0], ..first(call(1, Micros::SECOND)) };
    assert!(matches!(
        runs([Run { steps: vec![later], ..of_tier(1, Micros::ZERO, 0) }]),
        Err(ReplayError::Order { .. })
    ));
    assert!(matches!(
        runs([Run { steps: vec![], ..of_tier(1, Micros::ZERO, 0) }]),
        Err(ReplayError::NoSteps { .. })
    ));
    Ok(())
}
