//! What metering one call costs: both draws, its price, and both with every other reading.
//!
//! `cargo bench -p plimsoll-catalog`; "items" is calls.
#![expect(clippy::unwrap_used, reason = "a bench without its files has nothing to measure")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use jiff::civil::{Date, date};
use plimsoll_catalog::{Call, Catalog, PoolKey};

/// A pool of one sum, one of input and output apart with fractions, one that takes the larger.
const POOLS: [&str; 3] = [
    "aws.bedrock/runtime/geo/claude-sonnet-4.5",
    "anthropic/priority/global/claude-sonnet-4.5",
    "openai/direct/global/gpt-5",
];

const DAY: Date = date(2026, 11, 2);
const CALLS: u64 = 1000;

fn main() {
    divan::main();
}

fn catalog() -> Catalog {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let texts = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.display().to_string(), text)
    });
    Catalog::load(texts).unwrap()
}

/// Calls of different sizes, so that no branch is always taken.
fn calls() -> Vec<Call> {
    let call = |n: u64| Call {
        input_uncached: 100 + n * 37 % 9_000,
        cache_read: n * 53 % 20_000,
        cache_write: n * 11 % 700,
        output: n * 29 % 1_500,
        max_output: (!n.is_multiple_of(3)).then_some(4_096),
        ..Call::default()
    };
    (0..CALLS).map(call).collect()
}

/// Admission and settlement.
#[divan::bench(args = POOLS)]
fn meter(bencher: Bencher<'_, '_>, pool: &str) {
    let (catalog, calls) = (catalog(), calls());
    let entry = catalog.find(&PoolKey::parse(pool).unwrap(), DAY).unwrap();
    bencher.counter(ItemsCount::new(CALLS)).bench(|| {
        calls.iter().map(|call| black_box(entry.meter(black_box(call))).settlement.tokens).sum::<u64>()
    });
}

/// Dollars, in decimals.
#[divan::bench(args = POOLS)]
fn cost(bencher: Bencher<'_, '_>, pool: &str) {
    let (catalog, calls) = (catalog(), calls());
    let entry = catalog.find(&PoolKey::parse(pool).unwrap(), DAY).unwrap();
    bencher
        .counter(ItemsCount::new(CALLS))
        .bench(|| calls.iter().filter_map(|call| black_box(entry.cost(black_box(call), DAY))).count());
}

/// Reading every shipped file.
#[divan::bench]
fn load() -> usize {
    catalog().entries().count()
}
