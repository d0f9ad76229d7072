//! What metering costs: `cargo bench -p plimsoll-catalog`. One core, calls in the cache; the goal in SQL is 30 ns
//! an attempt at the median, admission, settlement and money together.
//!
//! Each pool's figure is for [`CALLS`] calls. `by_rates` is what SQL does, `by_rows` the same by the rules that it
//! makes ready, for comparison.

#[path = "../tests/it/side_by_side.rs"]
mod side_by_side;

use std::{hint::black_box, path::PathBuf};

use divan::Bencher;
use jiff::civil::{Date, date};
use plimsoll_catalog::{Call, Calls, Catalog, ChargedCalls, PoolKey, Rates, Tier};

fn main() {
    divan::main();
}

const CALLS: usize = 1_000;
const DAY: Date = date(2026, 11, 30);
const POOLS: [&str; 4] = [
    "anthropic/direct/global/claude-haiku-4.5",
    "aws.bedrock/runtime/geo/claude-haiku-4.5",
    "azure.ai.openai/provisioned/datazone/gpt-5.2",
    "openai/direct/global/gpt-5",
];

/// The rows that come with Plimsoll.
#[expect(clippy::expect_used, reason = "a bench without its files has nothing to measure")]
fn catalog() -> Catalog {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas/providers");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("schemas/providers is there")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|path| Some((path.display().to_string(), std::fs::read_to_string(path).ok()?)))
        .collect();
    files.sort();
    Catalog::load(files).expect("the files that come with Plimsoll are right")
}

/// Calls of all sizes, each a little different.
fn calls() -> Vec<Call> {
    let call = |n: u64| Call {
        input_uncached: 900 + n * 37 % 9_000,
        cache_read: n % 3 * 4_096,
        cache_write: n % 5 * 512,
        output: 40 + n * 13 % 1_500,
        reasoning: n % 7 * 5,
        max_output: (!n.is_multiple_of(4)).then_some(4_096),
        ..Call::default()
    };
    (0..CALLS as u64).map(call).collect()
}

#[divan::bench(args = POOLS)]
fn by_rates(bencher: Bencher<'_, '_>, pool: &str) {
    let (catalog, calls) = (catalog(), calls());
    let rates = pool.parse::<PoolKey>().ok().and_then(|key| catalog.rates(&key, Tier::Standard, DAY));
    let calls: Vec<(usize, Calls)> =
        calls.chunks(Calls::MOST).map(|of| (of.len(), side_by_side::side_by_side(of))).collect();
    let mut charged = ChargedCalls::default();
    let mut meter = |rates: &Rates<'_>| {
        for (number, calls) in &calls {
            rates.charge(black_box(calls), 0..*number, black_box(&mut charged));
        }
    };
    bencher.counter(divan::counter::ItemsCount::new(CALLS)).bench_local(|| rates.as_ref().map(&mut meter));
}

#[divan::bench(args = POOLS)]
fn by_rows(bencher: Bencher<'_, '_>, pool: &str) {
    let (catalog, calls) = (catalog(), calls());
    let entry = pool.parse::<PoolKey>().ok().and_then(|key| catalog.find(&key, DAY));
    bencher.counter(divan::counter::ItemsCount::new(CALLS)).bench_local(|| {
        for call in entry.iter().flat_map(|_| &calls) {
            black_box(entry.map(|entry| (entry.meter(black_box(call)), entry.cost(call, DAY))));
        }
    });
}
