//! The worksheet's worked examples, S1 to S8 of the planning contract, number by number.

use plimsoll_plan::{MixPart, Quantity, SizeError, SizeInput, SizeLimit, SizeOutput, size};
use proptest::prelude::*;
use serde_json::{Value, json};

fn q(text: &str) -> Option<Quantity> {
    Some(text.parse().unwrap())
}

fn limits(texts: &[&str]) -> Vec<SizeLimit> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// The output as scripts read it.
fn json_of(input: &SizeInput) -> Value {
    serde_json::to_value(size(input).unwrap()).unwrap()
}

fn holds(input: &SizeInput, expected: &Value) {
    let output = json_of(input);
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&output[key], value, "{key} in {output:#}");
    }
}

fn s1() -> SizeInput {
    SizeInput {
        rps: q("12"),
        calls: q("1.2"),
        input_tokens: q("4500"),
        output_tokens: q("700"),
        limits: limits(&["tokens_per_min=2000000"]),
        ..SizeInput::default()
    }
}

/// S1: throughput of 12 workflows a second, over a limit of 2M tokens a minute.
#[test]
fn s1_throughput() {
    holds(
        &s1(),
        &json!({
            "input_tokens_per_min": 3_888_000, "output_tokens_per_min": 604_800,
            "tokens_per_min": 4_492_800, "tokens_per_s": 64_800 + 10_080,
            "requests_per_min": 864, "runs_per_min": 720, "violations": ["tokens_per_min"],
        }),
    );
}

/// S2: in flight by Little's law, over a cap of 50.
#[test]
fn s2_in_flight() {
    let input = SizeInput { service_seconds: q("6"), limits: limits(&["concurrent=50"]), ..s1() };
    holds(&input, &json!({"in_flight": 86.4, "in_flight_p95": 102, "violations": ["concurrent"]}));
}

/// S3: mean and P95 of a mix of three classes, with shares as decimals or percentages.
#[test]
fn s3_mix() {
    for shares in [
        ["0.50:1:0", "0.35:2:1", "0.15:4:3"],
        ["15%:4:3", "50%:1:0", "35%:2:1"],
        ["50:1:0", "35:2:1", "15:4:3"],
    ] {
        let mix: Vec<MixPart> = shares.iter().map(|part| part.parse().unwrap()).collect();
        holds(
            &SizeInput { mix, ..SizeInput::default() },
            &json!({"mean_model_calls": 1.8, "mean_tools": 0.8, "p95_model_calls": 4, "p95_tools": 3}),
        );
    }
}

/// S4: runs and tools in flight.
#[test]
fn s4_runs_and_tools() {
    let input =
        SizeInput { rps: q("10"), run_seconds: q("90"), parallel_tools: q("3"), ..SizeInput::default() };
    holds(&input, &json!({"in_flight": 900, "tools_in_flight": 2700}));
}

/// S5: a fleet of workers that a request limit starves.
#[test]
fn s5_workers() {
    let input = SizeInput {
        rps: q("500"),
        input_tokens: q("1200"),
        worker_rps: q("10"),
        headroom: q("0.2"),
        limits: limits(&["requests_per_min=6000", "tokens_per_min=30000000"]),
        ..SizeInput::default()
    };
    holds(
        &input,
        &json!({
            "tokens_per_s": 600_000, "requests_per_min": 30_000, "tokens_per_min": 36_000_000,
            "workers": 50, "workers_with_headroom": 60, "workers_fed": 10, "workers_idle": 50,
            "autoscale_min": 50, "autoscale_max": 120,
            "violations": ["requests_per_min", "tokens_per_min"],
        }),
    );
}

/// S6: the invoice agent at month-end; today's 750,000 stalls.
#[test]
fn s6_month_end() {
    let input = SizeInput {
        calls: q("9"),
        input_tokens: q("6000"),
        output_tokens: q("600"),
        in_flight: q("40"),
        run_seconds: q("180"),
        p95_factor: q("2.2"),
        headroom: q("0.35"),
        limits: limits(&["input_tokens_per_min=750000"]),
        ..SizeInput::default()
    };
    holds(
        &input,
        &json!({
            "input_tokens_per_run": 54_000, "output_tokens_per_run": 5_400, "runs_per_min": 40.0 / 3.0,
            "input_tokens_per_min": 720_000, "output_tokens_per_min": 72_000, "requests_per_min": 120,
            "p95_floor_input_tokens_per_min": 1_584_000, "p95_floor_output_tokens_per_min": 158_400,
            "p95_floor_requests_per_min": 264,
            "p95_need_input_tokens_per_min": 2_138_400, "p95_need_output_tokens_per_min": 213_840,
            "p95_need_requests_per_min": 356.4,
            "in_flight": 40, "in_flight_p95": 51, "violations": ["input_tokens_per_min"],
        }),
    );
    assert_eq!(size(&input).unwrap().runs_per_min, q("40/3"), "exactly 13 1/3");
}

/// S7, the price: $40 an hour is $29,200 a month of 730 hours. (The decision is a test of `break_even`.)
#[test]
fn s7_unit_month() {
    holds(&SizeInput { unit_hour_usd: q("40"), ..SizeInput::default() }, &json!({"unit_month_usd": 29_200}));
}

/// S8: four times the latency is four times the calls in flight, at the same rate.
#[test]
fn s8_latency() {
    for (seconds, calls) in [("2", 40), ("8", 160)] {
        let input = SizeInput { rps: q("20"), service_seconds: q(seconds), ..SizeInput::default() };
        holds(&input, &json!({"in_flight": calls}));
    }
}

/// Protects "any subset answers what it can": calls in flight and a service time give the rate back,
/// and what cannot be known is absent, not zero.
#[test]
fn subsets_answer_what_they_can() {
    let input =
        SizeInput { in_flight: q("86.4"), service_seconds: q("6"), calls: q("1.2"), ..SizeInput::default() };
    holds(&input, &json!({"runs_per_min": 720, "requests_per_min": 864}));
    let output = json_of(&SizeInput { in_flight: q("40"), ..SizeInput::default() });
    assert_eq!(output["in_flight_p95"], 51);
    assert!(output.get("runs_per_min").is_none() && output.get("tokens_per_min").is_none());
    let sizes = json_of(&SizeInput { calls: q("9"), input_tokens: q("6000"), ..SizeInput::default() });
    assert_eq!(sizes["input_tokens_per_run"], 54_000);
    assert!(sizes.get("input_tokens_per_min").is_none());
}

/// Protects users from contradictions: each is refused with what to do.
#[test]
fn contradictions_are_refused() {
    assert_eq!(size(&SizeInput::default()), Err(SizeError::Nothing));
    let two = SizeInput { rps: q("1"), runs_per_min: q("60"), ..SizeInput::default() };
    assert_eq!(size(&two), Err(SizeError::TwoRates("runs_per_min", "rps")));
    let zero = SizeInput { in_flight: q("1"), run_seconds: q("0"), ..SizeInput::default() };
    assert_eq!(size(&zero), Err(SizeError::Zero("run_seconds")));
    let short = SizeInput { mix: vec!["0.5:1:0".parse().unwrap()], ..SizeInput::default() };
    assert_eq!(size(&short), Err(SizeError::Shares("0.5".parse().unwrap())));
    let error = "tokens_per_mni=5".parse::<SizeLimit>().unwrap_err();
    assert!(error.to_string().contains("did you mean `tokens_per_min`"), "{error}");
    assert!("0.5:1".parse::<MixPart>().is_err() && "requests_per_min".parse::<SizeLimit>().is_err());
}

proptest! {
    /// Protects the need: never below the floor, never falling as headroom grows, and a limit at the
    /// need is never a violation.
    #[test]
    fn need_grows_with_headroom(runs in 1u64..100_000, tokens in 1u64..1_000_000, low in 0u64..50, more in 0u64..50) {
        let sized = |percent: u64, limits: Vec<SizeLimit>| -> SizeOutput {
            size(&SizeInput {
                runs_per_min: Some(runs.into()),
                input_tokens: Some(tokens.into()),
                headroom: Quantity::ratio(percent, 100),
                limits,
                ..SizeInput::default()
            }).unwrap()
        };
        let key = "p95_need_input_tokens_per_min";
        let (less, greater) = (sized(low, vec![]), sized(low + more, vec![]));
        prop_assert!(less.p95[key] <= greater.p95[key]);
        prop_assert!(less.p95["p95_floor_input_tokens_per_min"] <= less.p95[key]);
        let limit = SizeLimit { dimension: "input_tokens_per_min".to_owned(), value: less.p95[key].clone() };
        prop_assert!(sized(low, vec![limit]).violations.is_empty());
    }
}
