//! What a round re-makes, and what it leaves alone.

use plimsoll_profile::Limits;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Outcome, RECEIVED, World, chat, root, simple_run};

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

async fn everything(world: &World) -> Outcome<Vec<Vec<Value>>> {
    let mut tables = Vec::new();
    for sql in [
        "SELECT * EXCLUDE (first_received, last_received) FROM runs ORDER BY run_id",
        "SELECT * FROM model_calls ORDER BY run_id, span_id",
        "SELECT * FROM attempts ORDER BY run_id, span_id",
        "SELECT * FROM run_profiles ORDER BY workflow, grain, window_start, metric, pool",
        "SELECT * FROM call_profiles ORDER BY workflow, grain, window_start, metric",
        "SELECT * FROM run_profiles_by_version ORDER BY workflow, window_start, model_version, prompt_version, metric",
        "SELECT * FROM lake.draw ORDER BY pool, window_s, bucket, measure",
        "SELECT * FROM inflight ORDER BY boundary, name, bucket",
    ] {
        tables.push(world.query(sql).await?);
    }
    Ok(tables)
}

/// However little memory there is at once, slice by slice the same tables come out.
#[tokio::test]
async fn slices() -> Outcome {
    // Room for some 1,300 spans.
    let small = World::within(Limits { memory_bytes: 16 << 20, threads: 2 }).await?;
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

    /// However spans are dealt over rounds, the tables end as one round over all of them makes them.
    #[test]
    fn rounds_commute(dealt in prop::collection::vec(0_usize..4, 24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let spans: Vec<Value> = (0..12_i64)
            .flat_map(|at| simple_run(at as u64 + 1, ["close", "chat"][at as usize % 2], at * 7_000_000, 100 * at))
            .collect();
        let done: Outcome = runtime.block_on(async {
            let whole = World::new().await?;
            whole.receive(&spans, RECEIVED).await?;
            whole.round().await?;
            let parts = World::new().await?;
            for hand in 0..4 {
                let dealt: Vec<Value> =
                    spans.iter().zip(&dealt).filter(|(_, of)| **of == hand).map(|(span, _)| span.clone()).collect();
                if !dealt.is_empty() {
                    parts.receive(&dealt, RECEIVED).await?;
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
