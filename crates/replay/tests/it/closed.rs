//! Replay against closed forms of queueing theory, within the error that its own seeds show.

use crate::support::Worlds;
use crate::support::{FIXED, MINUTE, Tested, call, lawful, limited, open, quota, runs, single};
use plimsoll_replay::{
    Arrivals, Broker, Jitter, Micros, Pool, Rate, Replay, Retry, RetryAfter, Rule, Runs, Settings, World,
    replay_all,
};

/// Runs of one call, exponentially long with a mean of a second, at the middles of 20,000 equal parts.
fn exponential() -> Result<Runs, plimsoll_replay::ReplayError> {
    let parts = 20_000;
    runs((0..parts).map(|part| {
        let level = (f64::from(part) + 0.5) / f64::from(parts);
        let seconds = -(1.0 - level).ln();
        single(Micros::ZERO, call(0, Micros((seconds * 1e6).round() as u64)))
    }))
}

/// Probability that an arrival waits, of `servers` under a load of `offered` (Erlang C).
fn erlang_c(servers: u32, offered: f64) -> f64 {
    let mut blocked = 1.0;
    for server in 1..=servers {
        blocked = offered * blocked / (f64::from(server) + offered * blocked);
    }
    blocked / (1.0 - offered / f64::from(servers) * (1.0 - blocked))
}

/// Mean wait, 95th percentile of waits and mean number inside, with their standard errors, over 24
/// seeds of twenty-five thousand calls.
fn waits(servers: u32, per_second: f64) -> Result<[(f64, f64); 3], plimsoll_replay::ReplayError> {
    let runs = exponential()?;
    let world = World { pools: vec![Pool { slots: Some(servers), ..open("station") }], ..World::default() };
    let replay = Replay::new(&world, &runs)?;
    let length = Micros::seconds((25_000.0 / per_second) as u64);
    let rate = Rate::steady(0, Micros::ZERO, length, 60.0 * per_second);
    let mut cases = Vec::new();
    for seed in 0..24 {
        let arrivals = Arrivals::resampled(&runs, std::slice::from_ref(&rate), seed)?;
        cases.push((arrivals, Settings { from: Micros::minutes(20), ..Settings::until(length) }));
    }
    let outcomes = replay_all(&replay, &cases, 2)?;
    outcomes.iter().for_each(lawful);
    let figure = |of: &dyn Fn(&plimsoll_replay::Outcome) -> f64| {
        let values: Vec<f64> = outcomes.iter().map(of).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    };
    Ok([
        figure(&|outcome| outcome.tiers[0].summary.waits.mean_ms.unwrap_or(0.0) / 1e3),
        figure(&|outcome| outcome.tiers[0].summary.wait_p95_ms / 1e3),
        figure(&|outcome| outcome.queues[0].in_flight_mean + outcome.queues[0].waiting_mean),
    ])
}

fn agrees(name: &str, (mean, error): (f64, f64), expected: f64) {
    println!("{name}: expected {expected:.4}, got {mean:.4} +- {error:.4}");
    assert!(error < 0.08 * expected, "{name} is not measured well enough to say: {error} of {expected}");
    assert!((mean - expected).abs() < 4.0 * error, "{name}: expected {expected}, got {mean} +- {error}");
}

/// M/M/1 and M/M/c: mean wait `C/(c mu - lambda)`, its percentile `ln(C/0.05)/(c mu - lambda)`, and
/// the number inside `lambda Wq + a`.
#[test]
fn waits_of_one_and_of_many_servers() -> Tested {
    for (servers, per_second) in [(1, 0.6), (4, 2.8), (16, 12.8)] {
        let waiting = erlang_c(servers, per_second);
        let spare = f64::from(servers) - per_second;
        let wait = waiting / spare;
        let [mean, p95, inside] = waits(servers, per_second)?;
        agrees(&format!("M/M/{servers} mean wait"), mean, wait);
        agrees(&format!("M/M/{servers} P95 wait"), p95, (waiting / 0.05).ln() / spare);
        agrees(&format!("M/M/{servers} number inside"), inside, per_second * wait + per_second);
    }
    Ok(())
}

/// Erlang's own table: two servers at one erlang make a third wait.
#[test]
fn the_closed_form_is_erlangs() {
    assert!((erlang_c(2, 1.0) - 1.0 / 3.0).abs() < 1e-12);
    assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
}

/// A token bucket by hand: one a second, ten held, thirty at once. Ten pass, twenty are refused, and
/// with clients that heed it one gets in with each second: the waits are 1 to 20 s, 7 s on average.
#[test]
fn a_token_bucket_by_hand() -> Tested {
    let runs = runs((0..30).map(|_| single(Micros::ZERO, call(1, Micros::millis(1)))))?;
    let bucket = quota(60, Rule::Token { window: MINUTE, burst: Some(plimsoll_replay::Window(10)) });
    let stubborn = Retry {
        max_attempts: 100,
        base: Micros::ZERO,
        jitter: Jitter::None,
        retry_after: RetryAfter::Exact,
        ..Retry::default()
    };
    let world = limited(bucket).retrying(stubborn);
    let outcome =
        Replay::new(&world, &runs)?.run(&Arrivals::recorded(&runs), Settings::until(Micros::MINUTE))?;
    lawful(&outcome);
    let tier = &outcome.tiers[0].summary;
    assert_eq!((tier.operations, tier.throttled, tier.completed), (30, 20, 30));
    assert_eq!(tier.refused_attempts, 20 * 21 / 2);
    assert_eq!(tier.waits.mean_ms, Some(7_000.0));
    assert_eq!(tier.waits.max_ms, Some(20_000.0));
    assert_eq!((outcome.pools[0].peak, outcome.pools[0].drawn, outcome.pools[0].limit), (30, 10, 60));
    Ok(())
}

/// A fluid, first-come-first-served bucket over fixed windows, as slosizer sizes units: what is not
/// served in a window is the backlog of the next, `B' = max(0, B + D - C)`, and the share of windows
/// whose demand is over the capacity is its overload probability. With draws of one, whole calls are
/// the fluid, so backlog, overload and waits are equal, not near.
#[test]
fn the_fluid_bucket_of_a_fixed_window() -> Tested {
    let demand: [u64; 8] = [5, 12, 30, 0, 8, 25, 3, 0];
    let capacity = 10;
    let spaced = |(window, &count): (usize, &u64)| {
        let start = 60_000_000 * window as u64;
        (0..count).map(move |nth| Micros(start + nth * 1_000_000)).collect::<Vec<_>>()
    };
    let arrivals: Vec<Micros> = demand.iter().enumerate().flat_map(spaced).collect();
    let runs = runs(arrivals.iter().map(|&at| single(at, call(1, Micros(1)))))?;
    let mut world = limited(quota(capacity, FIXED));
    world.pools[0].broker = Some(Broker::default());
    let replay = Replay::new(&world, &runs)?;
    let mut backlog = 0;
    for (window, &demand) in demand.iter().enumerate() {
        backlog = (backlog + demand).saturating_sub(capacity);
        let until = Micros::minutes(window as u64 + 1);
        let outcome = replay.run(&Arrivals::recorded(&runs), Settings::until(until))?;
        lawful(&outcome);
        let tier = &outcome.tiers[0].summary;
        let running = outcome.little.boundaries.iter().filter(|at| at.boundary == "pool").count();
        assert_eq!((tier.in_flight, running), (backlog, 1), "backlog after window {window}");
    }
    let (mut window, mut served, mut wait) = (0, 0, 0);
    for at in &arrivals {
        let own = at.0 / 60_000_000;
        if own > window {
            (window, served) = (own, 0);
        } else if served == capacity {
            (window, served) = (window + 1, 0);
        }
        served += 1;
        wait += (60_000_000 * window).saturating_sub(at.0);
    }
    let outcome = replay.run(&Arrivals::recorded(&runs), Settings::until(Micros::minutes(20)))?;
    let tier = &outcome.tiers[0].summary;
    let mean = tier.waits.mean_ms.unwrap_or(0.0);
    assert!((mean - wait as f64 / 1e3 / arrivals.len() as f64).abs() < 1e-6);
    assert_eq!(outcome.pools[0].peak, 30);
    assert_eq!(demand.iter().filter(|&&demand| demand > capacity).count(), 3);
    assert_eq!(tier.completed, arrivals.len() as u64);
    Ok(())
}
