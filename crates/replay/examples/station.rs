//! A station with slots, as a textbook has it: how long do calls wait?
//!
//! `cargo run --release -p plimsoll-replay --example station -- CALLS SLOTS LOAD SEED` replays so many
//! calls, a second long on average and exponentially spread, that arrive at random such that so much of
//! the slots is busy, and prints the mean wait in seconds. `bench/replay.py` runs it beside SimPy.

use std::error::Error;
use std::io::{Write, stdout};

use plimsoll_replay::{Arrivals, Micros, Pool, Rate, Replay, Route, Run, Runs, Settings, Step, World};

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [calls, slots, load, seed] = given.as_slice() else {
        return Err("give CALLS SLOTS LOAD SEED, such as 1000000 16 0.85 1".into());
    };
    let (calls, slots, load): (f64, u32, f64) = (calls.parse()?, slots.parse()?, load.parse()?);

    // The middles of a thousand equal parts of the distribution stand for it.
    let mut runs = Runs::new(["station"]);
    for part in 0..1_000 {
        let seconds = -(1.0 - (f64::from(part) + 0.5) / 1_000.0).ln();
        let latency = Micros((seconds * 1e6) as u64);
        let route = Route { pool: 0, draws: vec![], latency, ttft: None, nano_usd: 0 };
        let steps = vec![Step { after: vec![], think: Micros::ZERO, routes: vec![route] }];
        runs.push(&Run { workflow: 0, tier: 0, class: 0, arrival: Micros::ZERO, steps })?;
    }
    let world = World {
        pools: vec![Pool { name: "station".into(), slots: Some(slots), ..Pool::default() }],
        ..World::default()
    };

    let per_second = load * f64::from(slots);
    let length = Micros((calls / per_second * 1e6) as u64);
    let rate = Rate::steady(0, Micros::ZERO, length, 60.0 * per_second);
    let arrivals = Arrivals::resampled(&runs, &[rate], seed.parse()?)?;
    let outcome = Replay::new(&world, &runs)?.run(&arrivals, Settings::until(length))?;

    let summary = &outcome.tiers[0].summary;
    let mean = summary.waits.mean_ms.unwrap_or(0.0) / 1e3;
    writeln!(stdout(), "{} {mean}", summary.operations)?;
    Ok(())
}
