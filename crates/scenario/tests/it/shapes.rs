//! The shapes that the public traces have, within what ten weeks of draws allow.

use super::company::{Call, company, mean, near, percentile};

fn inputs<'a>(calls: impl Iterator<Item = &'a Call>) -> impl Iterator<Item = f64> {
    calls.filter_map(|call| call.input).map(|tokens| tokens as f64)
}

fn outputs<'a>(calls: impl Iterator<Item = &'a Call>) -> impl Iterator<Item = f64> {
    calls.filter_map(|call| call.output).map(|tokens| tokens as f64)
}

/// Protects the size of the example: some 600,000 spans at scale 1.
#[test]
fn ten_weeks_are_some_600_000_spans() {
    let spans = company().spans;
    assert!((550_000..=650_000).contains(&spans), "{spans}");
}

/// Protects the copilot's shape: Azure conversation trace, 1.2 generations a run, tools 50/35/15.
#[test]
fn the_copilot_looks_like_the_conversation_trace() {
    let company = company();
    let calls = company.calls_of("support-copilot", "gpt52");
    near(percentile(inputs(calls.clone()), 0.50), 1020.0, 0.03);
    near(percentile(inputs(calls.clone()), 0.95), 4083.0, 0.05);
    near(percentile(outputs(calls.clone()), 0.50), 129.0, 0.03);
    near(percentile(outputs(calls.clone()), 0.95), 451.0, 0.05);
    let runs = company.runs_of("support-copilot");
    let (all, answered) =
        (runs.clone().count() as f64, calls.filter(|call| call.status == Some(200)).count() as f64);
    near(answered / all, 1.2, 0.02);
    let share =
        |tools: &dyn Fn(i64) -> bool| runs.clone().filter(|run| tools(run.tools)).count() as f64 / all;
    near(share(&|tools| tools == 0), 0.50, 0.03);
    near(share(&|tools| tools == 1), 0.35, 0.03);
    near(share(&|tools| tools > 1), 0.15, 0.05);
}

/// Protects the invoice agent's shape: nine calls of 6,000 and 600 tokens, growing 3.5 times to step
/// nine, and a P95 run of 2.2 times the mean; all before the model changed.
#[test]
fn invoices_grow_step_by_step() {
    let company = company();
    let before = jiff::civil::date(2026, 10, 5);
    let calls = company
        .calls_of("invoice-reconciliation", "sonnet")
        .filter(|call| super::company::day(call.at) <= before);
    near(mean(inputs(calls.clone()).collect::<Vec<_>>().into_iter()), 6000.0, 0.03);
    near(mean(outputs(calls.clone()).collect::<Vec<_>>().into_iter()), 600.0, 0.03);
    let step = |name: &'static str| {
        mean(inputs(calls.clone().filter(|call| call.step == name)).collect::<Vec<_>>().into_iter())
    };
    near(step("step-9") / step("step-1"), 3.5, 0.05);
    let runs = company.runs_of("invoice-reconciliation");
    let whole = runs.clone().filter(|run| run.resumed_from_step != Some(1) && !run.failed);
    near(mean(whole.clone().map(|run| run.calls as f64)), 9.0, 0.03);
    let tokens = || runs.clone().map(|run| run.input as f64);
    near(percentile(tokens(), 0.95) / mean(tokens()), 2.2, 0.05);
    let tools = |rank| percentile(whole.clone().map(|run| run.tools as f64), rank);
    assert!((6.0..=8.0).contains(&tools(0.05)) && (6.0..=8.0).contains(&tools(0.95)));
    // About three minutes, parked or not.
    near(percentile(runs.clone().map(|run| run.seconds), 0.50), 165.0, 0.15);
}

/// Protects the enrichment's shape: Azure code trace, two calls, 6 % of runs with a third.
#[test]
fn enrichment_looks_like_the_code_trace() {
    let company = company();
    let calls = company.calls_of("crm-enrichment", "haiku");
    near(percentile(inputs(calls.clone()), 0.50), 1469.0, 0.03);
    near(percentile(inputs(calls.clone()), 0.95), 7303.0, 0.05);
    near(percentile(outputs(calls.clone()), 0.50), 13.0, 0.08);
    near(percentile(outputs(calls.clone()), 0.95), 90.0, 0.05);
    let runs = company.runs_of("crm-enrichment");
    let all = runs.clone().count() as f64;
    near(runs.filter(|run| run.calls == 3).count() as f64 / all, 0.06, 0.15);
    assert!(calls.clone().all(|call| call.max_tokens.is_none()));
}

/// Protects the evaluations' shape: tau-bench turns and tools, Mooncake tokens.
#[test]
fn evaluations_look_like_tau_bench_and_mooncake() {
    let company = company();
    let calls = company.calls_of("nightly-evals", "sonnet");
    near(percentile(inputs(calls.clone()), 0.50), 6909.0, 0.03);
    near(percentile(inputs(calls.clone()), 0.95), 39_550.0, 0.05);
    near(percentile(outputs(calls.clone()), 0.50), 350.0, 0.03);
    near(percentile(outputs(calls.clone()), 0.95), 698.0, 0.05);
    let runs = company.runs_of("nightly-evals");
    let of = |count: fn(&super::company::Run) -> i64, rank| {
        percentile(runs.clone().map(|run| count(run) as f64), rank)
    };
    near(of(|run| run.calls, 0.50), 11.0, 0.05);
    near(of(|run| run.calls, 0.95), 23.0, 0.09);
    near(of(|run| run.tools, 0.50), 5.0, 0.05);
    near(of(|run| run.tools, 0.95), 14.0, 0.09);
}

/// Protects tool latency: SWE-agent's P50 0.24 s, P95 0.88 s, P99 1.6 s, where nothing slows it.
#[test]
fn tools_take_what_swe_agent_measured() {
    let seconds = || company().tools["support-copilot"].iter().copied();
    near(percentile(seconds(), 0.50), 0.24, 0.05);
    near(percentile(seconds(), 0.95), 0.88, 0.05);
    near(percentile(seconds(), 0.99), 1.6, 0.10);
}
