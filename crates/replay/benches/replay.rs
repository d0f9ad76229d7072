//! Speed of replay: `cargo bench -p plimsoll-replay`. One core; the goal is five million calls a second.
//!
//! A million calls each: chats of one call, as SimPy's model in `bench/replay.py` has them; agents of
//! nine calls under three limits; the same under a limit that refuses a tenth; and with a broker.

use std::collections::BTreeMap;

use divan::counter::ItemsCount;
use plimsoll_replay::{
    Arrivals, Broker, Draw, Micros, Pool, Quota, Rate, Replay, Route, Rule, Run, Runs, Settings, Step,
    TierShare, Window, World,
};

fn main() {
    divan::main();
}

const MINUTE: Window = Window(60);

/// Ten thousand different runs of so many calls one after another, in two tiers.
fn runs(calls: u32) -> Runs {
    let mut runs = Runs::new(["bench"]);
    for number in 0..10_000u64 {
        let step = |place: u32| {
            let spread = (number * 9 + u64::from(place)) * 2_654_435_761 % 1_000;
            let (input, output) = (1_000 + 10 * spread, 100 + spread);
            Step {
                after: place.checked_sub(1).into_iter().collect(),
                think: Micros::millis(if place == 0 { 0 } else { 20 }),
                routes: vec![Route {
                    pool: 0,
                    draws: vec![
                        Draw::flat(1),
                        Draw::flat(input),
                        Draw { admission: 4_096, settlement: output },
                    ],
                    latency: Micros::millis(500 + 5 * spread),
                    ttft: Some(Micros::millis(300)),
                    nano_usd: 3_000 * input + 15_000 * output,
                }],
            }
        };
        let run = Run {
            workflow: 0,
            tier: (number % 2) as u8,
            class: 0,
            arrival: Micros::ZERO,
            steps: (0..calls).map(step).collect(),
        };
        runs.push(&run).unwrap_or_else(|error| unreachable!("{error}"));
    }
    runs
}

/// A pool with a limit by the slice, a bucket that refills, and a window that slides.
fn world(tokens: u64, broker: Option<Broker>) -> World {
    let quota = |dimension: &str, most, rule, slice| Quota {
        dimension: dimension.to_owned(),
        most,
        rule,
        slice,
        refused_count: false,
    };
    World {
        quotas: vec![
            quota("requests_per_min", 1 << 40, Rule::Fixed { window: MINUTE }, Some(Window(1))),
            quota("input_tokens_per_min", tokens, Rule::Token { window: MINUTE, burst: None }, None),
            quota("output_tokens_per_min", 1 << 40, Rule::Sliding { window: MINUTE }, None),
        ],
        pools: vec![Pool {
            name: "bench".to_owned(),
            dimensions: ["requests_per_min", "input_tokens_per_min", "output_tokens_per_min"]
                .map(str::to_owned)
                .to_vec(),
            quotas: vec![0, 1, 2],
            broker,
            ..Pool::default()
        }],
        ..World::default()
    }
}

/// A million calls within an hour.
fn bench(bencher: divan::Bencher<'_, '_>, calls: u32, tokens: u64, broker: Option<Broker>) {
    let (runs, world) = (runs(calls), world(tokens, broker));
    let per_minute = 1e6 / 60.0 / f64::from(calls);
    let rate = Rate::steady(0, Micros::ZERO, Micros::HOUR, per_minute);
    let prepared =
        Replay::new(&world, &runs).and_then(|replay| Ok((replay, Arrivals::resampled(&runs, &[rate], 1)?)));
    let (replay, arrivals) = prepared.unwrap_or_else(|error| unreachable!("{error}"));
    let settings = Settings::until(Micros::minutes(70));
    bencher.counter(ItemsCount::new(arrivals.calls(&runs))).bench(|| replay.run(&arrivals, settings));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn chats(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, 1, 1 << 40, None);
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn agents(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, 9, 1 << 40, None);
}

/// 16,667 calls of 6,000 tokens a minute against nine tenths of that.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn agents_refused(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, 9, 90_000_000, None);
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn agents_brokered(bencher: divan::Bencher<'_, '_>) {
    let floor = TierShare { floors: BTreeMap::from([(1, 60_000_000)]), ..TierShare::default() };
    let broker = Broker { tiers: BTreeMap::from([(0, floor)]) };
    bench(bencher, 9, 110_000_000, Some(broker));
}
