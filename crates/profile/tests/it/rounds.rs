//! What a round re-makes, and what it leaves alone.

use plimsoll_assembly::naming::Rules;
use plimsoll_profile::Limits;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    Outcome, RECEIVED, World, chat, eventful_run, everything, root, simple_run, span, with,
};

const HOUR: i64 = 3_600_000_000;

/// Re-running changes nothing, not even the lake version.
#[tokio::test]
async fn nothing_new() -> Outcome {
    let world = World::new().await?;
    world.receive(&simple_run(1, "close", 0, 500), RECEIVED).await?;
    let first = world.round().await?;
    assert_eq!((first.lake_version, first.changed, first.runs), (1, true, 1));
    let second = world.round().await?;
    assert_eq!((second.lake_version, second.changed), (1, false));
    Ok(())
}

/// A lake without a span is no fault: a round makes empty tables, and the next one finds its spans.
#[tokio::test]
async fn empty_lake() -> Outcome {
    let world = World::new().await?;
    assert_eq!(world.round().await?.runs, 0);
    assert_eq!(world.value("SELECT count(*) FROM runs").await?, json!(0));
    world.receive(&simple_run(1, "close", 0, 500), RECEIVED).await?;
    assert_eq!(world.round().await?.runs, 1);
    Ok(())
}

/// A late span re-makes its run, and only that one; files of other days are not touched.
#[tokio::test]
async fn late_span() -> Outcome {
    let world = World::new().await?;
    let day = 86_400_000;
    for (trace, from) in [(1, 0), (2, 60_000), (3, day)] {
        world.receive(&simple_run(trace, "close", from, 500), RECEIVED).await?;
    }
    world.round().await?;
    world.receive(&[chat(1, 3, 200, 300, 700, 20)], RECEIVED + HOUR).await?;
    let report = world.round().await?;
    assert_eq!(report.runs, 1);
    assert_eq!(report.rows["runs"], 1);
    let rows = world.query("SELECT run_id, input_tokens, model_calls FROM runs ORDER BY run_id").await?;
    let tokens: Vec<_> = rows.iter().map(|row| row["input_tokens"].as_i64()).collect();
    assert_eq!(tokens, [Some(1200), Some(500), Some(500)]);
    assert_eq!(world.value("SELECT count(*) FROM model_calls").await?, json!(4));
    assert_eq!(
        world.value("SELECT sum(amount) FROM lake.draw WHERE window_s = 60 AND measure = 'requests'").await?,
        json!(4)
    );
    Ok(())
}

/// A run without its root is open and stays out of percentiles; the watermark makes it an orphan,
/// not the wall clock; the root makes it whole, and it counts in the month in which it started.
#[tokio::test]
async fn open_then_orphan_then_whole() -> Outcome {
    let world = World::new().await?;
    world.receive(&[chat(1, 2, 100, 900, 500, 10)], RECEIVED).await?;
    world.round().await?;
    assert_eq!(world.value("SELECT outcome FROM runs").await?, json!("open"));
    assert_eq!(world.value("SELECT count(*) FROM run_profiles").await?, json!(0));
    // Within the acceptance window of six hours nothing ages.
    world.receive(&simple_run(2, "close", 1000, 300), RECEIVED + 5 * HOUR).await?;
    world.round().await?;
    assert_eq!(world.value("SELECT outcome FROM runs ORDER BY run_id").await?, json!("open"));
    world.receive(&simple_run(3, "close", 2000, 300), RECEIVED + 7 * HOUR).await?;
    world.round().await?;
    assert_eq!(world.value("SELECT outcome FROM runs ORDER BY run_id").await?, json!("orphan"));
    world.receive(&[root(1, "close", 0, 1000)], RECEIVED + 8 * HOUR).await?;
    world.round().await?;
    assert_eq!(world.value("SELECT outcome FROM runs ORDER BY run_id").await?, json!("ok"));
    let n = "SELECT n FROM run_profiles WHERE metric = 'input_tokens' AND grain = 'month'";
    assert_eq!(world.value(n).await?, json!(3));
    Ok(())
}

/// A span received twice is one span, in whichever file it comes again.
#[tokio::test]
async fn resend() -> Outcome {
    let world = World::new().await?;
    for _ in 0..2 {
        world.receive(&simple_run(1, "close", 0, 500), RECEIVED).await?;
    }
    world.round().await?;
    world.receive(&simple_run(1, "close", 0, 500), RECEIVED).await?;
    world.round().await?;
    assert_eq!(world.value("SELECT input_tokens FROM runs").await?, json!(500));
    assert_eq!(world.value("SELECT count(*) FROM unique_spans").await?, json!(2));
    assert_eq!(world.value("SELECT count(*) FROM spans").await?, json!(6));
    Ok(())
}

/// Traces that say one run id are one run, whichever round brings them; until a trace says so it is a run
/// of its own, which is gone afterwards.
#[tokio::test]
async fn one_run_of_several_traces() -> Outcome {
    let world = World::new().await?;
    world.receive(&simple_run(1, "close", 0, 500), RECEIVED).await?;
    world.round().await?;
    assert_eq!(world.query("SELECT run_id FROM runs").await?.len(), 1);
    // The root of the first trace is sent again with its id, and a day later the second trace comes.
    world.receive(&[with(root(1, "close", 0, 1001), "plimsoll.run_id", "order-7")], RECEIVED + HOUR).await?;
    world.round().await?;
    let mut second = simple_run(2, "close", 2000, 700);
    second[1] = with(second[1].clone(), "plimsoll.run_id", "order-7");
    world.receive(&second, RECEIVED + 24 * HOUR).await?;
    assert_eq!(world.round().await?.runs, 1);
    let rows = world
        .query("SELECT run_id, cardinality(trace_ids) AS traces, model_calls, input_tokens, duration_ms, outcome FROM runs")
        .await?;
    assert_eq!(
        rows,
        [
            json!({"run_id": "order-7", "traces": 2, "model_calls": 2, "input_tokens": 1200, "duration_ms": 3000.0,
            "outcome": "ok"})
        ]
    );
    assert_eq!(world.value("SELECT count(DISTINCT run_id) FROM attempts").await?, json!(1));
    assert_eq!(world.value("SELECT count(*) FROM model_calls WHERE run_id = 'order-7'").await?, json!(2));
    Ok(())
}

/// What a run is can be configured: a session's turns in one trace, and a trace that a link continues.
#[tokio::test]
async fn run_rules() -> Outcome {
    let rules: Rules = toml::from_str(
        r#"
        [[run]]
        id = ["session.id", "turn"]
        match = { service = "agents", turn = "*" }
        [[run]]
        id = "link"
        match = { name = "resume *" }
        "#,
    )?;
    let world = World::with_rules(&rules).await?;
    let turn = |id: u64, from: i64, turn: &str| {
        let asked = span(1, id, 1, "turn", from, from + 500, &json!({"session.id": "s1", "turn": turn}));
        let mut call = chat(1, id + 1, from + 10, from + 400, 100, 10);
        call["parentSpanId"] = asked["spanId"].clone();
        [asked, call]
    };
    let session = span(1, 1, 0, "session", 0, 9000, &json!({"session.id": "s1"}));
    let mut body = vec![session];
    body.extend(turn(2, 100, "1"));
    body.extend(turn(4, 5000, "2"));
    body.extend(simple_run(2, "order", 0, 500));
    let mut resumed = span(3, 1, 0, "resume order", 4000, 5000, &json!({}));
    resumed["links"] = json!([{"traceId": format!("{:032x}", 2), "spanId": format!("{:016x}", 2001)}]);
    body.extend([resumed, chat(3, 2, 4100, 4900, 300, 10)]);
    world.receive(&body, RECEIVED).await?;
    world.round().await?;
    let rows =
        world.query("SELECT run_id, model_calls, input_tokens, outcome FROM runs ORDER BY run_id").await?;
    let run = |id: &str, calls: i64, input: i64| json!({"run_id": id, "model_calls": calls, "input_tokens": input, "outcome": "ok"});
    assert_eq!(
        rows,
        [
            run(&format!("{:032x}", 1), 0, 0),
            run(&format!("{:032x}", 2), 2, 800),
            run("s1/1", 1, 100),
            run("s1/2", 1, 100),
        ]
    );
    Ok(())
}

/// A month is replaced as a whole when a run of it is re-made, and its first day with it.
#[tokio::test]
async fn months_in_a_zone() -> Outcome {
    let world = World::in_zone("Asia/Kolkata").await?;
    // 18:40 UTC on 31 August is past midnight of 1 September in Kolkata.
    let before = -(17 * 3600 + 20 * 60) * 1000;
    world.receive(&simple_run(1, "close", before, 100), RECEIVED).await?;
    world.round().await?;
    world.receive(&simple_run(2, "close", 0, 300), RECEIVED).await?;
    world.round().await?;
    let sql =
        "SELECT grain, window_start, n, mean FROM run_profiles WHERE metric = 'input_tokens' ORDER BY grain";
    let rows = world.query(sql).await?;
    assert_eq!(
        rows,
        [
            json!({"grain": "day", "window_start": "2026-08-31T18:30:00Z", "n": 2, "mean": 200.0}),
            json!({"grain": "month", "window_start": "2026-08-31T18:30:00Z", "n": 2, "mean": 200.0}),
        ]
    );
    Ok(())
}

/// Where a span turns up: its place in line, the round that brings it, and the one that brings it again.
type Dealt = (usize, usize, Option<usize>);

/// The spans that a round brings, in line.
fn hand(spans: &[Value], dealt: &[Dealt], round: usize) -> Vec<Value> {
    let mut brought: Vec<(usize, Value)> = spans
        .iter()
        .zip(dealt)
        .filter(|(_, (_, first, again))| *first == round || *again == Some(round))
        .map(|(span, (place, ..))| (*place, span.clone()))
        .collect();
    brought.sort_by_key(|(place, _)| *place);
    brought.into_iter().map(|(_, span)| span).collect()
}

/// However little memory there is at once, slice by slice the same tables come out.
#[tokio::test]
async fn slices() -> Outcome {
    // Room for some 2,700 spans a slice, of 3,200.
    let small = World::within(Limits { memory_bytes: 64 << 20, threads: 4 }).await?;
    let large = World::new().await?;
    for body in 0..4 {
        let spans: Vec<Value> = (0..400_i64)
            .flat_map(|at| {
                simple_run((body * 400 + at) as u64 + 1, "close", (at * 4 + body) * 50_000, 100 + at)
            })
            .collect();
        small.receive(&spans, RECEIVED).await?;
        large.receive(&spans, RECEIVED).await?;
    }
    small.round().await?;
    large.round().await?;
    assert_eq!(everything(&small).await?, everything(&large).await?);
    assert_eq!(small.value("SELECT count(*) FROM runs").await?, json!(1600));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, ..ProptestConfig::default() })]

    /// However the spans of runs are shuffled, split over rounds, repeated and delayed, the tables end as
    /// one round over all of them in order makes them.
    #[test]
    fn rounds_commute(dealt in prop::collection::vec((0_usize..1000, 0_usize..4, prop::option::of(0_usize..4)), 56)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let spans: Vec<Value> = (0..8_i64)
            .flat_map(|at| eventful_run(at as u64 + 1, ["close", "chat"][at as usize % 2], at * 7_000_000, 100 * at))
            .enumerate()
            // The last two traces are one run, as single spans of theirs say.
            .map(|(at, span)| if [44, 50].contains(&at) { with(span, "plimsoll.run_id", "order-7") } else { span })
            .collect();
        let done: Outcome = runtime.block_on(async {
            assert_eq!(spans.len(), dealt.len());
            let whole = World::new().await?;
            whole.receive(&spans, RECEIVED).await?;
            whole.round().await?;
            let parts = World::new().await?;
            for round in 0..4 {
                let brought = hand(&spans, &dealt, round);
                if !brought.is_empty() {
                    parts.receive(&brought, RECEIVED + round as i64 * HOUR).await?;
                }
                parts.round().await?;
            }
            assert_eq!(everything(&whole).await?, everything(&parts).await?);
            parts.rebuild().await?;
            assert_eq!(everything(&whole).await?, everything(&parts).await?);
            Ok(())
        });
        if let Err(error) = done {
            return Err(TestCaseError::fail(error.to_string()));
        }
    }
}
