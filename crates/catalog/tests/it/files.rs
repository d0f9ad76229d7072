//! What a provider file may say, and how a mistake in one is answered.

use jiff::civil::date;
use plimsoll_catalog::{Catalog, Fault, PoolKey};

/// A small file of one model, `fake/direct/global/one`, on which the tests make their changes.
const SMALL: &str = r#"edition = "2026-10"
provider = "fake"
product = "direct"

[limits]
all = [{ name = "tokens_per_min", counts = "tokens", window_s = 60 }]

[meter.sum]
unset_max_output = "zero"
refused = "free"
admission.tokens = { input_uncached = "1", max_output = "1" }
settlement.tokens = { input_uncached = "1", output = "1" }

[unit.block]
name = "block"
per_s = 60
min = 1
increment = 1
term = [{ name = "1-month", hours = 730, price = [{ usd = "260" }] }]

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
prices = [{ input = "3.00", output = "15.00" }]
sources = ["page"]
"#;

/// What the catalog says to `SMALL` with one text put in place of another.
fn said(old: &str, new: &str) -> String {
    said_to("small.toml", SMALL, old, new)
}

/// What the catalog says to a file with one text put in place of another.
pub(crate) fn said_to(file: &str, text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old}");
    match Catalog::load([(file, text.replacen(old, new, 1))]) {
        Ok(_) => "nothing".to_owned(),
        Err(fault) => fault.to_string(),
    }
}

/// Protects the answer to every mistake that a hand is likely to make: place, field, remedy.
#[test]
fn mistakes_are_placed_and_explained() {
    assert_eq!(said("fake", "fake"), "nothing");
    let mut wrong = Vec::new();
    for (old, new, place, remedy) in [
        ("refused", "refusd", "small.toml:10: meter.sum", "did you mean `refused`?"),
        ("\"free\"", "\"fre\"", "small.toml:10: meter.sum.refused", "did you mean `free`?"),
        ("meter = \"sum\"", "meter = \"sums\"", "small.toml:30: entry.meter", "did you mean `sum`?"),
        ("input = \"3.00\"", "input = \"0.000003\"", "small.toml:33: entry", "is it typed per token?"),
        ("input = \"3.00\"", "input = 3.5", "small.toml:33: entry", "in quotes"),
        (
            ", output = \"1\"",
            ", output = \"5000\"",
            "small.toml:12: meter.sum.settlement",
            "expected 0.01 to 200",
        ),
        (", output = \"1\"", ", output = \"-1\"", "small.toml:12: meter.sum.settlement", "is negative"),
        ("usd = \"260\"", "usd = \"260000\"", "small.toml:14: unit.block", "is the price for the whole term"),
        ("max_output = \"1\"", "output = \"1\"", "small.toml:8: meter.sum.admission", "weigh `max_output`"),
        ("tokens_per_min", "tokens_per_minute", "small.toml:6: limits.all", "write requests_per_min"),
        ("window_s = 60", "window_s = 30", "small.toml:6: limits.all", "over 60 s"),
        ("unit_throughput = 1000\n", "", "small.toml:26: entry.unit_throughput", "is missing"),
        ("\"2026-10\"", "\"October\"", "small.toml:1: edition", "write it as 2026-11"),
        ("models = [\"one\"]", "models = [\"one\", \"one\"]", "small.toml:26: entry", "stands twice"),
        ("models = [\"one\"]", "models = [\"o ne\"]", "small.toml:26: entry.models", "is no pool key"),
        ("sources = [\"page\"]", "", "small.toml:26: entry.sources", "say where the row was read"),
        ("read_on", "red_on", "small.toml", "did you mean `read_on`?"),
        ("increment = 1\n", "increment = 0\n", "small.toml:14: unit.block", "increment"),
        (
            "\"1\", max_output",
            "\"1000\", max_output",
            "small.toml:11: meter.sum.admission",
            "expected 0.01 to 200",
        ),
        ("input = \"3.00\"", "input = \"3000000\"", "small.toml:33: entry", "expected 0.001 to 1000 USD"),
        (
            "input = \"3.00\"",
            "input_price_per_token = 3.0",
            "small.toml:33: entry",
            "unknown field `input_price_per_token`",
        ),
        ("output = \"15.00\"", "output = \"2.00\"", "small.toml:33: entry.prices", "are they swapped?"),
        ("output = \"15.00\"", "cache_read = \"4\"", "small.toml:33: entry.prices", "are they swapped?"),
        (
            "output = \"15.00\" }",
            "output = \"15.00\" }, { input = \"2.00\" }",
            "small.toml:33: entry.prices",
            "two prices of one tier hold on the same days",
        ),
        (
            "output = \"15.00\" }",
            "output = \"15.00\", until = \"2026-09-01\" }, { from = \"2026-08-01\", input = \"2.00\" }",
            "small.toml:33: entry.prices",
            "end the earlier by then",
        ),
        ("provider = \"fake\"\n", "", "small.toml: provider", "is missing"),
        ("[meter.sum]", "[metre.sum]", "small.toml", "did you mean `meter`?"),
    ] {
        let said = said(old, new);
        if !said.starts_with(place) || !said.contains(remedy) {
            wrong.push(format!("`{new}`: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Protects dates: the newest row in force answers; before the first dated row, none.
#[test]
fn the_newest_row_in_force_answers() -> Result<(), Box<dyn std::error::Error>> {
    let dated = |day: &str, input: &str| {
        SMALL
            .replacen("meter = \"sum\"", &format!("meter = \"sum\"\nfrom = \"{day}\""), 1)
            .replacen("\"3.00\"", input, 1)
    };
    let files = [("a", dated("2026-03-01", "\"3\"")), ("b", dated("2026-09-01", "\"2\""))];
    let catalog = Catalog::load(files)?;
    let key = PoolKey::parse("fake/direct/global/one")?;
    let input = |day| catalog.find(&key, day)?.price(day)?.input.map(|usd| usd.to_string());
    assert_eq!(input(date(2026, 2, 28)), None);
    assert_eq!(input(date(2026, 8, 31)).as_deref(), Some("3"));
    assert_eq!(input(date(2026, 9, 1)).as_deref(), Some("2"));
    Ok(())
}

/// Protects a user's own folder: the same row takes the place of the shipped one, another is added,
/// and the digest tells.
#[test]
fn a_later_file_overrides() -> Result<(), Box<dyn std::error::Error>> {
    let own = SMALL.replacen("\"3.00\"", "\"2.50\"", 1).replacen("[\"one\"]", "[\"one\", \"two\"]", 1);
    let shipped = Catalog::load([("small.toml", SMALL)])?;
    let both = Catalog::load([("small.toml", SMALL), ("own.toml", &own)])?;
    assert_eq!(both.entries().count(), 2);
    let key = PoolKey::parse("fake/direct/global/one")?;
    let day = date(2026, 11, 2);
    let input = both.find(&key, day).and_then(|row| row.price(day)?.input);
    assert_eq!(input.map(|usd| usd.to_string()).as_deref(), Some("2.5"));
    assert_ne!(shipped.sha256(), both.sha256());
    let again: Result<Catalog, Fault> = Catalog::load([("small.toml", SMALL)]);
    assert_eq!(shipped.sha256(), again?.sha256());
    Ok(())
}

/// Protects retirement: a retired model still answers, and says so from its day on.
#[test]
fn a_retired_model_still_answers() -> Result<(), Box<dyn std::error::Error>> {
    let text = SMALL.replacen("meter = \"sum\"", "meter = \"sum\"\nretires = \"2026-06-01\"", 1);
    let catalog = Catalog::load([("small.toml", text)])?;
    let row = catalog.find(&PoolKey::parse("fake/direct/global/one")?, date(2026, 11, 2));
    assert!(row.is_some_and(|row| row.is_retired(date(2026, 6, 1))));
    assert!(row.is_some_and(|row| !row.is_retired(date(2026, 5, 31))));
    Ok(())
}

/// Protects fallbacks: a pool's own row comes first, then the pattern with the fewest `*`; and a
/// stranger gets a suggestion, not a row.
#[test]
fn fallbacks_come_after_a_row_of_its_own() -> Result<(), Box<dyn std::error::Error>> {
    let any_model = SMALL.replacen("[\"one\"]", "[\"*\"]", 1);
    let any_scope = any_model.replacen("[\"global\"]", "[\"*\"]", 1);
    let catalog = Catalog::load([("a", any_scope.as_str()), ("b", &any_model), ("c", SMALL)])?;
    let found = |key: &str| -> Result<String, Box<dyn std::error::Error>> {
        let row = catalog.find(&PoolKey::parse(key)?, date(2026, 11, 2));
        Ok(row.map(|row| row.key.to_string()).unwrap_or_default())
    };
    assert_eq!(found("fake/direct/global/one")?, "fake/direct/global/one");
    assert_eq!(found("fake/direct/global/two")?, "fake/direct/global/*");
    assert_eq!(found("fake/direct/geo/two")?, "fake/direct/*/*");
    assert_eq!(found("other/direct/geo/two")?, "");
    let typo = PoolKey::parse("fake/direkt/global/one")?;
    let meant = catalog.did_you_mean(&typo).map(ToString::to_string);
    assert_eq!(meant.as_deref(), Some("fake/direct/global/one"));
    Ok(())
}

/// Protects the pool key: four parts, printed as read.
#[test]
fn keys_are_read_and_printed() -> Result<(), Box<dyn std::error::Error>> {
    let text = "openai-compatible/vllm/local/meta-llama/Llama-3.3-70B";
    let key = PoolKey::parse(text)?;
    assert_eq!((key.model(), key.to_string().as_str()), ("meta-llama/Llama-3.3-70B", text));
    for wrong in ["", "a/b/c", "a//c/d", "a/b/c/", "a/b/c/d e"] {
        assert!(PoolKey::parse(wrong).is_err(), "{wrong}");
    }
    Ok(())
}

/// Protects the person who mends a file: every mistake is told, each once, in the order of lines, and the
/// rows that have none are read.
#[test]
fn every_mistake_is_told_at_once() {
    let text = SMALL
        .replacen("\"free\"", "\"fre\"", 1)
        .replacen("refused", "refusd", 1)
        .replacen("\"260\"", "\"260000\"", 1)
        .replacen("read_on", "red_on", 1)
        .replacen("\"3.00\"", "\"0.000003\"", 1)
        .replacen("meter = \"sum\"", "meter = \"sums\"", 1);
    let good = SMALL.replacen("[\"one\"]", "[\"two\"]", 1);
    let (catalog, faults) = Catalog::read([("wrong", text.as_str()), ("good", good.as_str())]);
    let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let lines: Vec<Option<usize>> = faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [10, 14, 23, 33].map(Some), "{said:#?}");
    assert_eq!(catalog.entries().count(), 1);
    let both = SMALL.replacen("\"3.00\", output = \"15.00\"", "\"0.000003\", output = \"0.00002\"", 1);
    let (_, faults) = Catalog::read([("both", both)]);
    assert_eq!(faults.len(), 2, "two mistakes of one line: {faults:#?}");
    let broken = SMALL.replacen("name = \"block\"", "name = ", 1);
    let (_, faults) = Catalog::read([("broken", broken)]);
    assert_eq!(faults.first().and_then(|fault| fault.line), Some(15), "{faults:#?}");
}

/// Protects the page beside the files: its example of a row of one's own loads, and is sized.
#[test]
fn the_example_of_a_row_of_ones_own_loads() -> Result<(), Box<dyn std::error::Error>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers/README.md");
    let page = std::fs::read_to_string(page)?;
    let example =
        page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    let catalog = Catalog::load([("own.toml", example)])?;
    let key = PoolKey::parse("self-hosted/vllm/local/meta-llama/Llama-3.3-70B")?;
    let row = catalog.row(&key, date(2026, 11, 30))?;
    assert_eq!(row.serving.as_ref().and_then(|replica| replica.concurrent(3)), Some(288));
    let metered = row.meter(&"input=500,output=100,max=100".parse()?);
    assert_eq!((metered.admission.tokens, metered.settlement.tokens), (900, 900));
    assert_eq!(row.units.first().map(|unit| unit.name.as_str()), Some("replica"));
    Ok(())
}
