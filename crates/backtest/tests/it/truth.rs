//! Histories of which the truth is known, and what plans of them must not know.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use plimsoll_backtest::{Measure, Method, Request, Requests, Score, backtest};
use plimsoll_replay::Micros;
use rand::RngExt;
use rand_distr::{Distribution, Poisson};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

/// Poisson arrivals of so many a minute, minute by minute, each of 50 to 149 tokens.
fn arrivals(per_minute: impl Fn(u64) -> f64, minutes: u64, seed: u64) -> Requests {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut requests = Vec::new();
    for minute in 0..=minutes {
        let count = Poisson::new(per_minute(minute)).unwrap().sample(&mut random) as u64;
        // One at the very beginning, so that the first minute is whole.
        for nth in 0..count.max(1) {
            let offset = if (minute, nth) == (0, 0) { 0 } else { random.random_range(0..60_000_000) };
            requests.push(Request {
                at: Micros::minutes(minute) + Micros(offset),
                client: 0,
                tier: 0,
                latency: Micros::ZERO,
                input: random.random_range(50..150),
                cache_read: 0,
                output: 0,
            });
        }
    }
    Requests::new("trace", vec![String::new()], requests)
}

fn scores(requests: &Requests) -> [Score; 2] {
    backtest(&requests.trace(Measure::Tokens), 2).unwrap().try_into().unwrap()
}

fn covered(score: &Score) -> f64 {
    score.covered as f64 / score.windows as f64
}

/// Protects the goal where it can be met: a steady service is covered, hardly over-provisioned, and by
/// both better planned by replay; nothing is throttled that lies within the need.
#[test]
fn a_steady_service() {
    for seed in 0..5 {
        let [replay, p95] = scores(&arrivals(|_| 300.0, 120, seed));
        assert_eq!((replay.method, p95.method), (Method::Replay, Method::P95));
        assert!(covered(&replay) >= 0.99, "{replay:?}");
        let over = replay.over_provision.unwrap();
        assert!((0.99..1.3).contains(&over) && over < p95.over_provision.unwrap(), "{over}");
        assert!(replay.throttled_share < 0.001);
        assert_eq!(replay.windows, (0..10).map(|nth| 120 - (40 + nth * 8)).sum::<u64>());
    }
}

/// Protects rhythms: days with a busy noon are planned by their noons, also from the night.
#[test]
fn days_with_a_busy_noon() {
    let noon = |minute: u64| 20.0 + 80.0 * (-(((minute % 1440) as f64 - 720.0) / 120.0).powi(2)).exp();
    let [replay, _] = scores(&arrivals(noon, 15 * 1440, 1));
    assert!(covered(&replay) >= 0.999, "{replay:?}");
    let over = replay.over_provision.unwrap();
    assert!((0.95..1.3).contains(&over), "{over}");
}

/// Protects honesty: a load that doubles behind the last origin's back is not covered, and the score
/// says so.
#[test]
fn what_nobody_could_know_is_not_covered() {
    let [replay, _] = scores(&arrivals(|minute| if minute < 115 { 100.0 } else { 1000.0 }, 120, 1));
    assert!(replay.origins.iter().all(|origin| origin.windows - origin.covered >= 5), "{replay:?}");
    assert!(replay.over_provision.unwrap() < 0.5 && replay.throttled_share > 0.3);
}

/// Protects from peeking: what comes behind an origin, or was never sent, moves no plan made at it.
#[test]
fn plans_do_not_know_what_comes() {
    let quiet = arrivals(|_| 100.0, 90, 3);
    let mut storm = quiet.clone();
    let from = Micros::minutes(60);
    for request in storm.requests.iter_mut().filter(|request| request.at >= from) {
        request.input = 5000;
    }
    let plans = |requests: &Requests| scores(requests).map(|score| score.origins);
    for (quiet, storm) in plans(&quiet).iter().zip(&plans(&storm)) {
        for (quiet, storm) in quiet.iter().zip(storm) {
            assert_eq!(quiet.need == storm.need, quiet.minutes_before <= 60, "{quiet:?} {storm:?}");
        }
    }
}

/// Protects reproducibility: any number of threads gives the same scores.
#[test]
fn threads_change_nothing() {
    let trace = arrivals(|minute| 50.0 + minute as f64, 60, 4).trace(Measure::Tokens);
    assert_eq!(backtest(&trace, 1).unwrap(), backtest(&trace, 7).unwrap());
}

/// Protects other dimensions: requests are counted as such, and a trace without output has no need of it.
#[test]
fn every_dimension_has_its_own_need() {
    let requests = arrivals(|_| 60.0, 60, 5);
    let [replay, _] = backtest(&requests.trace(Measure::Requests), 2).unwrap().try_into().unwrap();
    assert_eq!(replay.dimension, "requests_per_min");
    assert!((60..150).contains(&replay.origins[0].need));
    let none = backtest(&requests.trace(Measure::OutputTokens), 2).unwrap_err().to_string();
    assert!(none.contains("output_tokens_per_min"), "{none}");
}
