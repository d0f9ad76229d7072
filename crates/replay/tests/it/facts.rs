//! Facts of providers and of public bugs: T38, T39, T40, T42, AZ9.

use crate::support::{FIXED, MINUTE, Tested, call, lawful, limited, quota, runs, single};
use plimsoll_replay::{
    Arrivals, Draw, Micros, Outcome, Quota, Replay, ReplayError, Route, Rule, Run, Runs, Settings,
    ShrinkStep, Window, World,
};

fn replayed(world: &World, runs: &Runs) -> Result<Outcome, ReplayError> {
    let outcome = Replay::new(world, runs)?.run(&Arrivals::recorded(runs), Settings::until(Micros::HOUR))?;
    lawful(&outcome);
    Ok(outcome)
}

/// T38: 60,000 calls in the first second of a minute fit 120,000 a minute and break its second; each
/// window's peak is told beside its own limit, and the mean, 1,000 a second, is in neither.
#[test]
fn t38_a_burst_meets_the_limit_of_its_own_window() -> Tested {
    let burst = runs((0..60_000).map(|nth| single(Micros(nth * 16), call(1, Micros::millis(100)))))?;
    let sliced = Quota { slice: Some(Window(1)), ..quota(120_000, FIXED) };
    let outcome = replayed(&limited(sliced.clone()), &burst)?;
    let told: Vec<_> =
        outcome.pools.iter().map(|at| (at.window_s, at.limit, at.peak, at.throttled)).collect();
    assert_eq!(told, [(60, 120_000, 60_000, 0), (1, 2_000, 60_000, 58_000)]);
    assert_eq!(outcome.tiers[0].summary.throttled, 58_000);
    let whole = replayed(&limited(Quota { slice: None, ..sliced }), &burst)?;
    assert_eq!(whole.tiers[0].summary.throttled, 0);
    Ok(())
}

/// T39: 100 tokens every 30 s for 10 min: every half-open minute holds 200, however often it is
/// drawn on, and splitting the same calls over two shards, half of them streamed, changes nothing.
#[test]
fn t39_a_window_forgets_and_shards_change_nothing() -> Tested {
    let every = |shard: u64, streamed: bool| {
        let route = call(50, Micros::seconds(2));
        let route = Route { ttft: streamed.then_some(Micros::millis(300)), ..route };
        (0..21)
            .map(move |draw| Run { tier: shard as u8, ..single(Micros::seconds(30 * draw), route.clone()) })
    };
    let world = limited(quota(200, Rule::Sliding { window: MINUTE }));
    let sharded = runs(every(0, false).chain(every(1, true)))?;
    let whole = runs((0..21).map(|draw| single(Micros::seconds(30 * draw), call(100, Micros::seconds(2)))))?;
    for runs in [&sharded, &whole] {
        let outcome = replayed(&world, runs)?;
        assert_eq!((outcome.pools[0].peak, outcome.pools[0].drawn), (200, 200));
        assert_eq!(outcome.tiers.iter().map(|tier| tier.summary.throttled).sum::<u64>(), 0);
        // The 22nd would be one too many: at 199 every second draw is refused.
        let short = Replay::new(&world, runs)?.with_most(0, 199);
        let short = short.run(&Arrivals::recorded(runs), Settings::until(Micros::HOUR))?;
        assert_eq!(short.tiers.iter().map(|tier| tier.summary.throttled).sum::<u64>(), 10);
    }
    Ok(())
}

/// T40: ten calls in a second, 1,000 in and 64,000 reserved each, settle 15,000 in all. A limit of
/// 200,000 refuses seven of them, though what is used is 7.5 % of it.
#[test]
fn t40_reservations_are_refused_where_use_is_small() -> Tested {
    let draw = Draw { admission: 65_000, settlement: 1_500 };
    let route = Route { draws: vec![draw], ..call(0, Micros::seconds(5)) };
    let calls = runs((0..10).map(|nth| single(Micros::millis(50 * nth), route.clone())))?;
    let outcome = replayed(&limited(quota(200_000, FIXED)), &calls)?;
    let limit = &outcome.pools[0];
    assert_eq!((limit.peak, limit.drawn, limit.throttled), (650_000, 195_000, 7));
    let settled = runs((0..10).map(|nth| single(Micros::millis(50 * nth), call(1_500, Micros::seconds(5)))))?;
    assert_eq!(replayed(&limited(quota(200_000, FIXED)), &settled)?.pools[0].peak, 15_000);
    Ok(())
}

/// AZ9: of 600 requests a minute, held by the second, the eleventh in a second is refused; the first
/// of the next second is not.
#[test]
fn az9_the_eleventh_request_in_a_second_is_refused() -> Tested {
    let times = (0..11).map(|nth| Micros::millis(90 * nth)).chain([Micros::SECOND]);
    let calls = runs(times.map(|at| single(at, call(1, Micros::millis(10)))))?;
    let sliced = Quota { slice: Some(Window(1)), ..quota(600, FIXED) };
    let outcome = replayed(&limited(sliced), &calls)?;
    assert_eq!(outcome.tiers[0].summary.throttled, 1);
    assert_eq!((outcome.pools[1].peak, outcome.pools[1].throttled, outcome.pools[0].throttled), (11, 1, 0));
    Ok(())
}

/// T42: 300,000 tokens in one second, then nothing. One unit of 2,690 a second carries them where its
/// window is 120 s (322,800), not where it is 40 s (107,600); sixty units are held by the second or
/// five, and lose nothing of it either way at 161,400 a second.
#[test]
fn t42_the_window_shrinks_as_units_grow() -> Tested {
    let calls = runs((0..30).map(|nth| single(Micros::millis(30 * nth), call(10_000, Micros::millis(500)))))?;
    let throttled = |units, windows: &[(u64, u32)]| {
        let step = |&(from_units, window): &(u64, u32)| ShrinkStep { from_units, window: Window(window) };
        let windows = windows.iter().map(step).collect();
        let rule = Rule::Shrinking { per_unit_second: 2_690, windows };
        Ok::<_, ReplayError>(replayed(&limited(quota(units, rule)), &calls)?.tiers[0].summary.throttled)
    };
    let best = [(1, 120), (4, 30), (50, 5)];
    let worst = [(1, 40), (4, 5), (50, 1)];
    assert_eq!(throttled(1, &best)?, 0);
    assert_eq!(throttled(1, &worst)?, 20);
    assert_eq!(throttled(60, &best)?, 0);
    assert_eq!(throttled(60, &worst)?, 14);
    Ok(())
}

/// A fixed window forgets what was reserved before it; a call that settles over its reservation
/// counts where it ends.
#[test]
fn settlement_beyond_the_reservation_counts_at_the_end() -> Tested {
    let over = Route { draws: vec![Draw { admission: 10, settlement: 90 }], ..call(0, Micros::seconds(30)) };
    let calls = [single(Micros::seconds(45), over), single(Micros::seconds(80), call(30, Micros::SECOND))];
    let outcome = replayed(&limited(quota(100, FIXED)), &runs(calls)?)?;
    assert_eq!((outcome.pools[0].drawn, outcome.tiers[0].summary.throttled), (80, 1));
    Ok(())
}
