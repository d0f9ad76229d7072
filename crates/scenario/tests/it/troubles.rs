//! What the scenario hides: a plan made from this telemetry must find it, so it must be there.

use std::collections::BTreeMap;

use jiff::civil::{Date, date};

use super::company::{Call, company, day, mean, near};

const CLOSES: [Date; 3] = [date(2026, 8, 31), date(2026, 9, 30), date(2026, 10, 30)];

fn refused(calls: impl Iterator<Item = &'static Call> + Clone) -> (usize, f64) {
    let refused = calls.clone().filter(|call| call.status == Some(429)).count();
    (refused, refused as f64 / calls.count() as f64)
}

fn invoices_on(on: Date) -> impl Iterator<Item = &'static Call> + Clone {
    company().calls_of("invoice-reconciliation", "sonnet").filter(move |call| day(call.at) == on)
}

/// Protects the story of the limit: at 750,000 the first close stalls, at 1,000,000 the second is
/// throttled now and then, and the third more often after the model change. No other day is.
#[test]
fn the_closes_are_throttled_in_their_order() {
    let [first, second, third] = CLOSES.map(|close| refused(invoices_on(close)));
    assert!(first.1 > 0.15, "{first:?}");
    assert!(second.0 >= 10 && second.1 < 0.01, "{second:?}");
    assert!(third.1 > 3.0 * second.1 && third.1 < 0.10, "{third:?}");
    let elsewhere = company().calls_of("invoice-reconciliation", "sonnet");
    let elsewhere = elsewhere.filter(|call| !CLOSES.contains(&day(call.at)) && call.status == Some(429));
    assert_eq!(elsewhere.count(), 0);
}

/// Protects the peak: some 40 runs in flight on a close that is not stalled, and a draw below the
/// limit in most minutes, but not in all.
#[test]
fn forty_are_in_flight_at_a_close() {
    let company = company();
    let runs = company.runs_of("invoice-reconciliation").filter(|run| day(run.at) == CLOSES[1]);
    let seconds: f64 = runs.map(|run| run.seconds).sum();
    near(seconds / (3.0 * 3600.0), 40.0, 0.10);
    let mut minutes: BTreeMap<i64, i64> = BTreeMap::new();
    for call in company.calls.iter().filter(|call| call.model.contains("sonnet") && day(call.at) == CLOSES[1])
    {
        *minutes.entry(call.at.as_second() / 60).or_default() += call.drawn;
    }
    let above = minutes.values().filter(|drawn| **drawn > 1_000_000).count();
    assert!(above <= 10, "{above}");
    assert!(minutes.values().max() > Some(&900_000));
}

/// Protects parking: refused runs come back, and a few from step one, at about double the tokens.
#[test]
fn refused_runs_park_and_a_few_begin_again() {
    let runs = || company().runs_of("invoice-reconciliation").filter(|run| day(run.at) == CLOSES[0]);
    let parked = runs().filter(|run| run.parked).count();
    let again = || runs().filter(|run| run.resumed_from_step == Some(1) && !run.failed);
    assert!(parked > 100, "{parked}");
    assert!(again().count() >= 10 && again().count() * 4 < parked, "{} of {parked}", again().count());
    let tokens = |parked: bool| mean(runs().filter(|run| run.parked == parked).map(|run| run.input as f64));
    assert!(mean(again().map(|run| run.input as f64)) > 1.5 * tokens(false));
}

/// Protects the model change: from 6 October another version answers, with 10 % more tokens; the
/// evaluations, which pinned theirs, are left as they were.
#[test]
fn the_model_changes_in_week_seven() {
    let calls =
        company().calls_of("invoice-reconciliation", "sonnet").filter(|call| call.response_model.is_some());
    let of = |version: &'static str| {
        calls
            .clone()
            .filter(move |call| call.response_model.as_deref() == Some(version) && call.input.is_some())
    };
    let (old, new) = (of("claude-sonnet-4-5-20250929"), of("claude-sonnet-4-5-20261001"));
    assert!(old.clone().all(|call| day(call.at) <= date(2026, 10, 6)));
    assert!(new.clone().all(|call| day(call.at) >= date(2026, 10, 6)));
    let input = |call: &Call| call.input.unwrap() as f64;
    near(mean(new.map(input)) / mean(old.map(input)), 1.10, 0.03);
    let pinned =
        company().calls_of("nightly-evals", "sonnet").filter_map(|call| call.response_model.as_deref());
    assert!(pinned.clone().all(|model| model == "claude-sonnet-4-5-20250929"));
}

/// Protects the trap of the unset cap: what calls really use in their busiest minute is within the
/// limit, yet many are refused.
#[test]
fn enrichment_hits_admission_and_not_settlement() {
    let calls = company().calls_of("crm-enrichment", "haiku");
    let (count, share) = refused(calls.clone());
    assert!(count > 500 && share > 0.02 && share < 0.30, "{count} {share}");
    let mut minutes: BTreeMap<i64, i64> = BTreeMap::new();
    for call in calls {
        let settled = call.input.unwrap_or(0) + 5 * call.output.unwrap_or(0);
        *minutes.entry(call.at.as_second() / 60).or_default() += settled;
    }
    assert!(minutes.values().max() < Some(&1_500_000), "{:?}", minutes.values().max());
}

/// Protects the reservation's story: it idles, but for the launch, when calls spill over.
#[test]
fn the_copilot_spills_over_at_the_launch_only() {
    let launch = date(2026, 10, 1);
    let spilled = company().calls_of("support-copilot", "gpt52-standard");
    let at_launch = spilled.clone().filter(|call| day(call.at) == launch).count();
    assert!(at_launch >= 20, "{at_launch}");
    assert!(spilled.count() - at_launch <= 5);
    let weighted = |call: &Call| (call.input.unwrap_or(0) + 8 * call.output.unwrap_or(0)) as f64;
    let used: f64 = company().calls_of("support-copilot", "gpt52-ptu").map(weighted).sum();
    let business_minutes = 48.0 * 8.0 * 60.0;
    assert!(used / business_minutes < 0.5 * 51_000.0);
}

/// Protects the gap in the copilot's usage: 11 % of its streams until the fix half-way, none after.
#[test]
fn streams_lack_usage_until_the_fix() {
    let streams =
        company().calls_of("support-copilot", "gpt52").filter(|call| call.stream && call.status == Some(200));
    let fixed = date(2026, 9, 28);
    let before = streams.clone().filter(|call| day(call.at) < fixed);
    let silent = before.clone().filter(|call| call.input.is_none()).count() as f64;
    near(silent / before.count() as f64, 0.11, 0.05);
    assert!(streams.filter(|call| day(call.at) >= fixed).all(|call| call.input.is_some()));
}

/// Protects the retries: 2 % of the copilot's calls after a server's error, and the evaluations' after
/// timeouts, which send the same again.
#[test]
fn calls_are_repeated_after_errors_and_timeouts() {
    let calls = company().calls_of("support-copilot", "gpt5");
    let first = calls.clone().filter(|call| call.attempt == 1).count() as f64;
    near(calls.filter(|call| call.status == Some(503)).count() as f64 / first, 0.02, 0.10);
    let evals = company().calls_of("nightly-evals", "sonnet");
    let timeouts = evals.clone().filter(|call| call.error.as_deref() == Some("timeout")).count() as f64;
    near(timeouts / evals.filter(|call| call.status != Some(429)).count() as f64, 0.015, 0.25);
}

/// Protects local time: evaluations begin at 01:00 in New York, on the day of the clock change too.
#[test]
fn evaluations_begin_at_one_in_new_york() {
    let zone = jiff::tz::TimeZone::get("America/New_York").unwrap();
    let starts = company().runs_of("nightly-evals").map(|run| zone.to_datetime(run.at));
    assert!(starts.clone().all(|start| (start.hour(), start.minute()) == (1, 0)));
    assert!(starts.clone().any(|start| start.date() == date(2026, 11, 1)));
    let labor_day =
        company().runs_of("support-copilot").filter(|run| day(run.at) == date(2026, 9, 7)).count();
    assert!(labor_day < 100, "{labor_day}");
}
