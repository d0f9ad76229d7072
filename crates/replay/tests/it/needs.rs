//! Needs: the smallest limit that holds, told with the one that does not.

use crate::support::{FIXED, MINUTE, Tested, call, limited, quota, runs, single};
use plimsoll_replay::{
    Arrivals, Case, Draw, Micros, Need, PartsPerMillion, Quota, Rate, Replay, ReplayError, Route, Rule, Run,
    Runs, Search, Settings, ShrinkStep, Window, World, need,
};

fn exactly(targets: &[u32]) -> Search {
    let targets = targets.iter().copied().map(PartsPerMillion).collect();
    Search { precision: PartsPerMillion(0), ..Search::new(0, targets) }
}

fn recorded(runs: &Runs) -> Vec<Case> {
    vec![(Arrivals::recorded(runs), Settings::until(Micros::HOUR))]
}

fn needed(quota: Quota, runs: &Runs, search: &Search) -> Result<Need, ReplayError> {
    need(&Replay::new(&limited(quota), runs)?, &recorded(runs), search)
}

/// Calls of 7 tokens at uneven times in five minutes.
fn uneven() -> Result<Runs, ReplayError> {
    runs((0..200u64).map(|nth| single(Micros::millis(nth * nth * 7 % 300_000), call(7, Micros::SECOND))))
}

/// The most that falls into a window, counted by hand.
fn busiest(times: &[u64], window: u64, fixed: bool) -> u64 {
    let inside = |end: u64| {
        let counted = |&&at: &&u64| {
            if fixed { at / window == end / window && at <= end } else { at <= end && at + window > end }
        };
        times.iter().filter(counted).count() as u64 * 7
    };
    times.iter().map(|&end| inside(end)).max().unwrap_or(0)
}

/// With no throttling allowed, the need of a counting window is its busiest window, of a sliced limit
/// the busiest slice made whole, found by hand; to the token.
#[test]
fn the_need_of_a_window_is_its_busiest() -> Tested {
    let runs = uneven()?;
    let times: Vec<u64> = (0..200u64).map(|nth| nth * nth * 7 % 300_000).collect();
    let search = exactly(&[0]);
    let fixed = needed(quota(1, FIXED), &runs, &search)?;
    assert_eq!((fixed.most, fixed.too_low), (busiest(&times, 60_000, true), Some(fixed.most - 1)));
    let sliding = needed(quota(1, Rule::Sliding { window: MINUTE }), &runs, &search)?;
    assert_eq!(sliding.most, busiest(&times, 60_000, false));
    let sliced = needed(Quota { slice: Some(Window(1)), ..quota(1, FIXED) }, &runs, &search)?;
    assert_eq!(sliced.most, 60 * busiest(&times, 1_000, true));
    for found in [&fixed, &sliding, &sliced] {
        assert!(found.monotone && found.upper >= found.most, "{found:?}");
        assert!(found.operations == 200 * u64::from(found.replays));
    }
    Ok(())
}

/// A token bucket that holds a minute needs the largest of demand over `1 + minutes` for every
/// stretch of time; by hand over all pairs of calls.
#[test]
fn the_need_of_a_token_bucket_is_its_steepest_stretch() -> Tested {
    let runs = uneven()?;
    let mut times: Vec<u64> = (0..200u64).map(|nth| nth * nth * 7 % 300_000).collect();
    times.sort_unstable();
    let mut steepest = 0;
    for (first, &from) in times.iter().enumerate() {
        for (last, &to) in times.iter().enumerate().skip(first) {
            let demand = 7 * (last - first + 1) as u64;
            steepest = steepest.max((demand * 60_000).div_ceil(60_000 + to - from));
        }
    }
    let found = needed(quota(1, Rule::Token { window: MINUTE, burst: None }), &runs, &exactly(&[0]))?;
    assert_eq!((found.most, found.monotone), (steepest, true));
    Ok(())
}

/// A target is a share of each tier's operations: at one in ten the need is the tenth that is too
/// many, not the peak; tier 0 is held to nothing, and drives the need though it is small.
#[test]
fn targets_are_held_tier_by_tier() -> Tested {
    let of = |tier: u8, count: u64| {
        (0..count).map(move |nth| Run { tier, ..single(Micros::seconds(nth), call(1, Micros::millis(1))) })
    };
    let calls = runs(of(1, 50))?;
    let found = needed(quota(1, FIXED), &calls, &exactly(&[0, 100_000]))?;
    assert_eq!((found.most, found.too_low, found.upper), (45, Some(44), 50));
    let late = Run { tier: 0, ..single(Micros::seconds(55), call(1, Micros::millis(1))) };
    let both = runs(of(1, 50).chain([late]))?;
    assert_eq!(needed(quota(1, FIXED), &both, &exactly(&[0, 100_000]))?.most, 51);
    assert_eq!(needed(quota(1, FIXED), &both, &exactly(&[1_000_000]))?.most, 0);
    Ok(())
}

/// To a thousandth of a hundred million the search takes a dozen replays, not one for each token, and
/// is within the precision of the exact answer.
#[test]
fn few_replays_are_needed() -> Tested {
    let reserved =
        Route { draws: vec![Draw { admission: 640_000, settlement: 90_001 }], ..call(0, Micros::seconds(4)) };
    let calls = runs([single(Micros::ZERO, reserved)])?;
    let rate = Rate::steady(0, Micros::ZERO, Micros::minutes(30), 240.0);
    let mut cases = Vec::new();
    for seed in 0..3 {
        let arrivals = Arrivals::resampled(&calls, std::slice::from_ref(&rate), seed)?;
        cases.push((arrivals, Settings { seed, ..Settings::until(Micros::minutes(31)) }));
    }
    let replay = Replay::new(&limited(quota(1, FIXED)), &calls)?;
    let search = Search::new(0, vec![PartsPerMillion(0), PartsPerMillion(1_000)]);
    let found = need(&replay, &cases, &search)?;
    let exact = need(&replay, &cases, &Search { precision: PartsPerMillion(0), ..search })?;
    println!("{found:?}\n{exact:?}");
    assert!(found.replays <= 60 && found.most >= exact.most);
    assert!(found.most - exact.most <= exact.most / 999);
    assert!(found.too_low.is_some_and(|low| low < exact.most));
    Ok(())
}

/// Where more is not better: of windows that shrink as units grow, one to five units carry a burst over two
/// minutes that six to eight, held by the second, do not. A search by halves stops at one; the
/// need is the number from which all hold, and it says that the way there was not even.
#[test]
fn where_more_is_not_better_the_need_is_what_stays() -> Tested {
    let burst = runs((0..9).map(|nth| single(Micros::millis(100 * nth), call(10, Micros::SECOND))))?;
    let steps =
        [(1, 120), (6, 1)].map(|(from_units, window)| ShrinkStep { from_units, window: Window(window) });
    let rule = Rule::Shrinking { per_unit_second: 10, windows: steps.to_vec() };
    let found = needed(quota(1, rule), &burst, &exactly(&[0]))?;
    assert_eq!((found.most, found.too_low, found.monotone), (9, Some(8), false), "{found:?}");
    Ok(())
}

/// A need that something else stands in the way of is refused, and names it.
#[test]
fn what_another_limit_refuses_is_no_need() -> Tested {
    let calls = runs((0..5).map(|_| single(Micros::ZERO, call(1, Micros::SECOND))))?;
    let mut world: World = limited(quota(1, FIXED));
    world.pools[0].hidden_concurrent = Some(2);
    let found = need(&Replay::new(&world, &calls)?, &recorded(&calls), &exactly(&[0]));
    assert_eq!(found, Err(ReplayError::OtherBinds { dimension: "tokens".to_owned() }));
    let nothing =
        need(&Replay::new(&world, &calls)?, &recorded(&calls), &Search { quota: 3, ..exactly(&[0]) });
    assert!(matches!(nothing, Err(ReplayError::Quota { .. })));
    Ok(())
}
