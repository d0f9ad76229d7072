//! One call metered in full: what the command prints, with lower bounds, other readings and warnings.

use jiff::civil::{Date, date};
use plimsoll_catalog::{Call, PoolKey, Reading, Tier};
use serde_json::{Value, json};

use crate::shipped::catalog;

const DAY: Date = date(2026, 11, 30);

fn reading(pool: &str, call: &str, tier: Tier) -> Reading {
    let call = Call { tier, ..call.parse().unwrap() };
    catalog().reading(&PoolKey::parse(pool).unwrap(), &call, DAY).unwrap()
}

fn shown(pool: &str, call: &str, tier: Tier) -> Value {
    serde_json::to_value(reading(pool, call, tier)).unwrap()
}

fn said(pool: &str, tier: Tier) -> String {
    let call = Call { tier, ..Call::default() };
    catalog().reading(&PoolKey::parse(pool).unwrap(), &call, DAY).unwrap_err().to_string()
}

/// Protects the shape that scripts read: BR2 as the issue prints it, requests first, days apart.
#[test]
fn the_shape_is_the_promised_one() {
    let shown =
        shown("aws.bedrock/runtime/geo/claude-sonnet-4.5", "input=1000,max=4000,output=100", Tier::Standard);
    assert_eq!(shown["admission"], json!({"requests_per_min": 1, "tokens_per_min": 5000}));
    assert_eq!(shown["settlement"], json!({"requests_per_min": 1, "tokens_per_min": 1500}));
    assert_eq!(shown["released"], json!({"requests_per_min": 0, "tokens_per_min": 3500}));
    assert_eq!(shown["billed_tokens"], json!(1100));
    // 1,000 at 3.30 and 100 at 16.50 a million.
    assert_eq!(shown["cost_usd"], json!("0.00495"));
    assert_eq!(shown["per_day"]["settlement"], json!({"tokens_per_day": 1500}));
    let keys: Vec<&String> = shown.as_object().unwrap().keys().take(5).collect();
    assert_eq!(keys, ["admission", "settlement", "released", "billed_tokens", "cost_usd"]);
}

/// Protects uncertainty as data: each flag that changes this call's draw says what it would be.
#[test]
fn other_readings_stand_beside_the_one_taken() {
    let reading = reading(
        "aws.bedrock/runtime/geo/claude-sonnet-4.5",
        "input=1000,cache_read=500,max=4000,output=100",
        Tier::Standard,
    );
    let admission = |flag: &str| -> Value {
        let other = reading.sensitivities.iter().find(|other| other.flag == flag).unwrap();
        serde_json::to_value(&other.admission).unwrap()["tokens_per_min"].clone()
    };
    assert_eq!(admission("reservation_includes_cache_read"), 5000, "5,500 with the cache reads");
    assert_eq!(admission("reservation_times_burndown"), 21_500, "1,500 and 5 x 4,000");
    let rpm = reading.sensitivities.iter().find(|other| other.flag == "rpm_enforced").unwrap();
    assert_eq!(serde_json::to_value(&rpm.admission).unwrap().get("requests_per_min"), None);
    assert!(reading.sensitivities.iter().all(|other| other.flag != "model_maximum"), "max was set");
}

/// Protects "missing is not zero": an unset `max_tokens` that a provider guesses gives a lower bound, and a
/// price that is not known gives none.
#[test]
fn what_is_not_known_is_said() {
    let bound = reading("openai/direct/global/o3", "input=10,output=700", Tier::Standard);
    assert!(bound.lower_bound && bound.cost_usd.is_none());
    assert!(bound.warnings.iter().any(|warning| warning.contains("lower bound")), "{:?}", bound.warnings);
    let priority = reading("aws.bedrock/runtime/geo/claude-haiku-4.5", "input=10,max=1", Tier::Priority);
    assert_eq!(priority.cost_usd, None, "conflicting factors are no factor");
    let batch = reading("anthropic/direct/global/claude-haiku-4.5", "input=1000000", Tier::Batch);
    assert_eq!(batch.cost_usd.as_deref(), Some("0.5"), "half of 1 USD");
    let fast = reading("openai/direct/global/gpt-5", "input=1000000", Tier::Priority);
    assert_eq!(fast.cost_usd.as_deref(), Some("2.5"), "its own price, not a factor");
}

/// Protects tiers on the command: the tier's own limits first, the others beside them.
#[test]
fn a_tier_draws_on_limits_of_its_own() {
    let holder = shown(
        "anthropic/direct/global/claude-sonnet-4.5",
        "input=1000,cache_read=1000,cache_write=1000,cache_write_1h=1000",
        Tier::Priority,
    );
    assert_eq!(holder["settlement"]["input_tokens_per_min"], 4350, "AN3");
    let ordinary = &holder["also_draws_on"][0];
    assert_eq!(ordinary["pool"], "anthropic/direct/global/claude-sonnet-4.5");
    assert_eq!(ordinary["settlement"]["input_tokens_per_min"], 3000, "both are drawn on");
    let queued = shown("openai/direct/global/gpt-5", "input=9000,max=500,output=400", Tier::Batch);
    assert_eq!(queued["admission"], json!({"enqueued_tokens": 9000}));
    assert_eq!(queued["released"], json!({"enqueued_tokens": 9000}), "until the job ends");
}

/// Protects long contexts and US-only inference: 200,000 is short, one more token is long.
#[test]
fn thresholds_and_factors_hold_for_the_whole_input() {
    let sonnet = "anthropic/priority/global/claude-sonnet-4.5";
    let input =
        |call: &str| shown(sonnet, call, Tier::Standard)["settlement"]["input_tokens_per_min"].clone();
    assert_eq!(input("input=200000"), 200_000);
    assert_eq!(input("input=200001"), 400_002);
    assert_eq!(input("input=1,cache_read=200000"), 40_002, "cached tokens count towards the threshold");
    let opus = PoolKey::parse("anthropic/priority/global/claude-opus-4.6").unwrap();
    let call = Call { us_only: true, ..Call { input_uncached: 1001, ..Call::default() } };
    let metered = catalog().find(&opus, DAY).unwrap().meter(&call);
    assert_eq!(metered.settlement.input_tokens, 1102, "1,101.1, rounded once and up");
}

/// Protects dated prices: a read from Sonnet 5.5's cache costs half as much since 7 October 2026.
#[test]
fn the_price_of_the_day_is_taken() {
    let pool = PoolKey::parse("anthropic/direct/global/claude-sonnet-5.5").unwrap();
    let call: Call = "cache_read=1000000".parse().unwrap();
    let cost = |day| catalog().reading(&pool, &call, day).unwrap().cost_usd;
    assert_eq!(cost(date(2026, 10, 6)).as_deref(), Some("0.2"));
    assert_eq!(cost(date(2026, 10, 7)).as_deref(), Some("0.1"));
    let us = Call { us_only: true, ..call };
    assert_eq!(catalog().reading(&pool, &us, DAY).unwrap().cost_usd.as_deref(), Some("0.11"));
}

/// Protects dated rules: before 2026 Anthropic reserved output by `max_tokens`, since then it does not.
#[test]
fn the_row_of_the_day_is_taken() {
    let pool = PoolKey::parse("anthropic/direct/global/claude-sonnet-4").unwrap();
    let call: Call = "input=10,max=8000,output=100".parse().unwrap();
    let reserved = |day| catalog().find(&pool, day).unwrap().meter(&call).admission.output_tokens;
    assert_eq!((reserved(date(2025, 12, 31)), reserved(date(2026, 1, 1))), (8000, 0));
}

/// Protects the answer to a pool or a tier that is not there: one sentence that names what is near.
#[test]
fn what_is_not_there_is_answered() {
    let pool = said("aws.bedrock/runtime/geo/claude-sonet-4.5", Tier::Standard);
    assert!(pool.contains("`aws.bedrock/runtime/geo/claude-sonnet-4.5`"), "{pool}");
    let tier = said("gcp.gemini/direct/global/gemini-2.5-pro", Tier::Flex);
    assert!(tier.ends_with("has no tier `flex`; it has standard"), "{tier}");
}

/// Protects Mantle: `max_tokens` is held against the input quota and given back, output counts as it comes.
#[test]
fn mantle_counts_input_and_output_apart() {
    let shown = shown(
        "aws.bedrock/mantle/regional/claude-opus-4.8",
        "input=1000,cache_read=700,max=4000,output=100",
        Tier::Standard,
    );
    assert_eq!(shown["admission"], json!({"input_tokens_per_min": 5000, "output_tokens_per_min": 0}));
    assert_eq!(shown["settlement"], json!({"input_tokens_per_min": 1000, "output_tokens_per_min": 100}));
}
