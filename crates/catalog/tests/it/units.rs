//! What a provider file may say of units, and how a mistake is answered; the rows that ship of them.

use crate::files::said_to;
use plimsoll_catalog::{Carries, Catalog};

use crate::shipped::{catalog, entry};

/// A file of one model that is sold in units, on which the tests make their changes.
const SOLD: &str = r#"provider = "fake"
product = "sold"
[limits]
all = [{ name = "tokens_per_min", counts = "tokens", window_s = 60, from_units = true }]
[meter.sum]
unset_max_output = "zero"
refused = "free"
admission.tokens = { input_uncached = 1 }
settlement.tokens = { input_uncached = 1, output = 1 }
[unit.block]
name = "block"
per_s = 1
min = 4
increment = 2
max = 100
window = [{ from_units = 1, shortest_s = 5, longest_s = 9 }, { from_units = 9, shortest_s = 1, longest_s = 2 }]
term = [{ name = "1-month", hours = 730, price = [{ usd = "260" }, { usd = "250", from = "2026-06-01" }] }]
[source.page]
title = "a page"
read_on = "2026-10-01"
confidence = "own_page"
[[entry]]
scopes = ["global"]
models = ["one"]
limits = "all"
meter = "sum"
unit = "block"
unit_throughput = 1000
sources = ["page"]
"#;

fn said(old: &str, new: &str) -> String {
    said_to("sold.toml", SOLD, old, new)
}

/// Protects the answer to mistakes in units: an increment of 0, windows that grow, a throughput that is
/// missing or stands twice over, two prices from one day, a price per hour typed for a term's.
#[test]
fn mistakes_in_units_are_placed_and_explained() {
    assert_eq!(said("block", "block"), "nothing");
    let two = "unit = [\"block\", \"block\"]";
    for (old, new, place, remedy) in [
        ("increment = 2", "increment = 0", "sold.toml:10: unit.block.min", "are 1 or more"),
        ("max = 100", "max = 3", "sold.toml:10: unit.block.max", "below the 4"),
        ("from_units = 1,", "from_units = 2,", "sold.toml:10: unit.block.window", "from 1 unit"),
        ("shortest_s = 1,", "shortest_s = 0,", "sold.toml:10: unit.block.window", "1 or more"),
        (
            "shortest_s = 1, longest_s = 2",
            "shortest_s = 6, longest_s = 7",
            "sold.toml:10: unit.block.window",
            "shrink",
        ),
        (
            ", from = \"2026-06-01\"",
            "",
            "sold.toml:10: unit.block.term.1-month.price",
            "give the later its own `from`",
        ),
        (
            "usd = \"260\"",
            "usd = \"0.26\"",
            "sold.toml:10: unit.block.term.1-month.price",
            "for the whole term",
        ),
        ("unit_throughput = 1000\n", "", "sold.toml:22: entry.unit_throughput", "is missing beside `unit`"),
        (
            "unit_throughput = 1000",
            "unit_throughput = 0",
            "sold.toml:28: entry.unit_throughput",
            "not plausible",
        ),
        (
            "per_s = 1",
            "per_s = 1\nthroughput = 5\nunpublished = true",
            "sold.toml:10: unit.block.unpublished",
            "beside it",
        ),
        ("unit = \"block\"", "unit = \"blok\"", "sold.toml:27: entry.unit", "did you mean `block`?"),
        ("unit = \"block\"", two, "sold.toml:28: entry.unit_throughput", "into each [unit.x]"),
        (
            "unit = \"block\"",
            "unit = { geo = \"block\" }",
            "sold.toml:27: entry.unit",
            "for the scope `global`",
        ),
    ] {
        let said = said(old, new);
        assert!(said.starts_with(place) && said.contains(remedy), "{new}: {said}");
    }
}

/// Protects what is bought: the minimum, or a multiple of the increment above it; the price of the day.
#[test]
fn the_minimum_and_the_grid() {
    let o1 = entry("azure.ai.openai/provisioned/regional/o1").units.first().unwrap();
    let units = |count: u128| o1.units_for(count * 230, num_rational::Ratio::from(0));
    assert_eq!([units(1), units(25), units(26), units(51)], [Some(25), Some(25), Some(50), Some(100)]);
    let text = Catalog::load([("sold.toml", SOLD)]).unwrap();
    let unit = text.entries().next().unwrap().units.first().unwrap();
    let usd = |day: &str| unit.term("1-month").unwrap().usd(day.parse().unwrap()).unwrap().to_string();
    assert_eq!([usd("2026-05-31"), usd("2026-06-01")], ["260", "250"]);
}

/// Protects the shipped rows: every one that is sold in units has a throughput or says that none is
/// published, a price or a flag that says why there is none, and a dimension that the units carry.
#[test]
fn shipped_units_are_complete() {
    let mut products = std::collections::BTreeMap::new();
    for entry in catalog().entries().filter(|entry| !entry.units.is_empty()) {
        *products.entry(format!("{}/{}", entry.key.provider(), entry.key.product())).or_insert(0) += 1;
        for unit in &entry.units {
            assert_eq!(unit.throughput.is_none(), unit.unpublished, "{}", entry.key);
            let priced = unit.terms.iter().any(|term| !term.prices.is_empty());
            assert!(priced || !entry.flags.is_empty(), "{} has neither price nor flag", entry.key);
            let carried = entry.dimensions.iter().any(|limit| limit.counts == unit.carries.measure());
            assert!(carried, "{} carries {:?}", entry.key, unit.carries);
        }
        let apart = entry.units.iter().any(|unit| unit.carries == Carries::OutputTokens);
        assert_eq!(entry.units.len() > 1, apart, "{}", entry.key);
    }
    let expected = [
        ("aws.bedrock/provisioned", 3),
        ("aws.bedrock/reserved", 3),
        ("azure.ai.openai/provisioned", 74),
        ("gcp.vertex_ai/provisioned", 84),
        ("openai/reserved", 4),
        ("openai/reserved-capacity", 1),
        ("openai/scale", 9),
    ];
    let expected: std::collections::BTreeMap<String, i32> =
        expected.map(|(product, rows)| (product.to_owned(), rows)).into();
    assert_eq!(products, expected);
}
