//! Figures whose answers are known by hand.

use plimsoll_profile::Reader;
use serde_json::json;

use crate::support::{Outcome, RECEIVED, World, chat, root, simple_run, span};

/// T11 and the case that the engine's own function gets wrong, through SQL.
#[tokio::test]
async fn percentiles() -> Outcome {
    let world = World::new().await?;
    let sql = "SELECT percentiles(x, [0.5, 0.95]) FROM (VALUES (-85), (-72), (-56), (-48), (-43), (-25), (-12), (-5), (45), (83)) AS t (x)";
    let levels = world.value(sql).await?;
    assert_eq!(levels[0], json!(-34.0));
    assert!((levels[1].as_f64().unwrap_or_default() - 65.9).abs() < 1e-12);
    let sql = "SELECT percentiles(x, [0.95]) FROM (VALUES (1), (2), (4), (7)) AS t (x)";
    assert!((world.value(sql).await?[0].as_f64().unwrap_or_default() - 6.55).abs() < 1e-14);
    let grouped = "SELECT g, percentiles(x, [0.0, 0.5, 1.0]) AS p FROM (VALUES ('a', 3.0), ('a', 1.0), ('b', NULL), ('b', 7.5)) AS t (g, x) GROUP BY g ORDER BY g";
    assert_eq!(
        world.query(grouped).await?,
        [json!({"g": "a", "p": [1.0, 2.0, 3.0]}), json!({"g": "b", "p": [7.5, 7.5, 7.5]})]
    );
    Ok(())
}

/// T13: with a weight a value counts as often as it weighs; without, and with weights of 1, nothing changes.
#[tokio::test]
async fn weighted_percentiles() -> Outcome {
    let world = World::new().await?;
    let median = "SELECT percentiles(x, w, [0.5]) FROM (VALUES (1, 1), (10, 9)) AS t (x, w)";
    assert_eq!(world.value(median).await?, json!([10.0]));
    let grouped = "SELECT g, percentiles(x, w, [0.5, 0.95]) AS weighted, percentiles(x, [0.5, 0.95]) AS plain
        FROM (VALUES ('a', 3.0, 2), ('a', 5.0, 1), ('b', 3.0, 1), ('b', 3.0, 1), ('b', 5.0, 1)) AS t (g, x, w)
        GROUP BY g ORDER BY g";
    let rows = world.query(grouped).await?;
    assert_eq!(rows[0]["weighted"], rows[1]["plain"], "a weight of two is two values");
    assert_eq!(rows[1]["weighted"], rows[1]["plain"]);
    assert_ne!(rows[0]["weighted"], rows[0]["plain"]);
    Ok(())
}

/// `profile` tells of each field what is known, and nothing of one without values.
#[tokio::test]
async fn profiles_of_structs() -> Outcome {
    let world = World::new().await?;
    let sql = "SELECT p['metric'] AS metric, p['n'] AS n, p['weight'] AS weight, p['mean'] AS mean,
          p['p50'] AS p50, p['max'] AS max
        FROM (SELECT unnest(profile(named_struct('x', x, 'y', y, 'z', NULL), w)) AS p
              FROM (VALUES (1, 0.5, 1), (10, NULL, 3)) AS t (x, y, w))
        ORDER BY metric";
    assert_eq!(
        world.query(sql).await?,
        [
            json!({"metric": "x", "n": 2, "weight": 4.0, "mean": 7.75, "p50": 10.0, "max": 10.0}),
            json!({"metric": "y", "n": 1, "weight": 1.0, "mean": 0.5, "p50": 0.5, "max": 0.5}),
        ]
    );
    Ok(())
}

/// A month in which the prompt changed is told whole, and once more by version; others are not.
#[tokio::test]
async fn profiles_are_cut_by_version() -> Outcome {
    let world = World::new().await?;
    let month = 31 * 86_400_000;
    let mut spans = Vec::new();
    for (trace, from, version, tokens) in
        [(1, 0, "v1", 100), (2, 60_000, "v2", 900), (3, 120_000, "v2", 700), (4, month, "v2", 800)]
    {
        let attributes = json!({"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "close",
            "plimsoll.prompt_version": version});
        spans.push(span(trace, 1, 0, "invoke_workflow close", from, from + 1000, &attributes));
        spans.push(chat(trace, 2, from + 100, from + 900, tokens, 10));
    }
    world.receive(&spans, RECEIVED).await?;
    world.round().await?;
    let whole = "SELECT n, p50 FROM run_profiles WHERE metric = 'input_tokens' AND grain = 'month' ORDER BY window_start";
    assert_eq!(world.query(whole).await?, [json!({"n": 3, "p50": 700.0}), json!({"n": 1, "p50": 800.0})]);
    let cut = "SELECT prompt_version, n, p50, coverage, first_start FROM run_profiles_by_version
        WHERE metric = 'input_tokens' ORDER BY window_start, prompt_version";
    assert_eq!(
        world.query(cut).await?,
        [
            json!({"prompt_version": "v1", "n": 1, "p50": 100.0, "coverage": 1.0,
                "first_start": "2026-09-01T12:00:00Z"}),
            json!({"prompt_version": "v2", "n": 2, "p50": 800.0, "coverage": 1.0,
                "first_start": "2026-09-01T12:01:00Z"}),
        ]
    );
    Ok(())
}

/// T15: a month's percentile is over its runs, never the mean of its days'.
#[tokio::test]
async fn no_average_of_percentiles() -> Outcome {
    let world = World::new().await?;
    let mut spans = vec![root(1, "close", 0, 1_000_000)];
    spans.extend(
        (0..99).map(|at| {
            root(at + 2, "close", 86_400_000 + at as i64 * 20_000, 86_410_000 + at as i64 * 20_000)
        }),
    );
    world.receive(&spans, RECEIVED).await?;
    world.round().await?;
    let sql = "SELECT p95, n FROM run_profiles WHERE metric = 'duration_ms' AND grain = 'month'";
    assert_eq!(world.query(sql).await?, [json!({"p95": 10_000.0, "n": 100})]);
    Ok(())
}

/// T06: a streamed call without usage is missing, not zero: it lowers coverage, never the percentile.
#[tokio::test]
async fn missing_is_not_zero() -> Outcome {
    let world = World::new().await?;
    let mut spans = Vec::new();
    for trace in 1..=10 {
        spans.push(root(trace, "chat", 0, 1000));
        spans.push(if trace <= 4 {
            let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "gpt-5", "gen_ai.request.stream": true});
            span(trace, 2, 1, "chat gpt-5", 100, 900, &attributes)
        } else {
            chat(trace, 2, 100, 900, 1000, 50)
        });
    }
    world.receive(&spans, RECEIVED).await?;
    world.round().await?;
    let sql = "SELECT p50, n, coverage FROM run_profiles WHERE metric = 'input_tokens' AND grain = 'month'";
    assert_eq!(world.query(sql).await?, [json!({"p50": 1000.0, "n": 6, "coverage": 0.6})]);
    assert_eq!(world.value("SELECT sum(known_input_tokens) FROM runs").await?, json!(6000));
    Ok(())
}

/// T38: 60,000 calls in one second are a peak second of 60,000 and a mean of 1,000: three columns.
#[tokio::test]
async fn windows_of_their_own() -> Outcome {
    let world = World::new().await?;
    let spans: Vec<_> = (0..60).map(|at| chat(1, at + 2, at as i64, at as i64 + 5, 1000, 0)).collect();
    world.receive(&spans, RECEIVED).await?;
    world.round().await?;
    let sql = "SELECT window_s, max(amount) AS peak FROM lake.draw WHERE measure = 'requests' GROUP BY window_s ORDER BY window_s";
    let peaks: Vec<_> = world.query(sql).await?.iter().map(|row| row["peak"].as_i64()).collect();
    assert_eq!(peaks, [Some(60); 4]);
    Ok(())
}

/// T39: 100 tokens every 30 s for ten minutes: every minute holds 200, whatever the windows before.
#[tokio::test]
async fn half_open_windows() -> Outcome {
    let world = World::new().await?;
    let spans: Vec<_> =
        (0..21).map(|at| chat(1, at + 2, at as i64 * 30_000, at as i64 * 30_000 + 10, 100, 0)).collect();
    world.receive(&spans, RECEIVED).await?;
    world.round().await?;
    let sql =
        "SELECT amount FROM draw WHERE window_s = 60 AND measure = 'settlement.input_tokens' ORDER BY bucket";
    let amounts: Vec<_> = world.query(sql).await?.iter().map(|row| row["amount"].as_i64()).collect();
    assert_eq!(amounts, [vec![Some(200); 10], vec![Some(100)]].concat());
    Ok(())
}

/// In flight: the most at one instant and the time-weighted mean, half-open, over a minute's edge.
#[tokio::test]
async fn in_flight() -> Outcome {
    let world = World::new().await?;
    // 12:00:00 to 12:01:30 and 12:00:30 to 12:01:00, then one that starts as another ends.
    let spans =
        [root(1, "close", 0, 90_000), root(2, "close", 30_000, 60_000), root(3, "close", 90_000, 120_000)];
    world.receive(&spans, RECEIVED).await?;
    world.round().await?;
    let sql = "SELECT bucket, max, mean FROM inflight WHERE boundary = 'run' ORDER BY bucket";
    assert_eq!(
        world.query(sql).await?,
        [
            json!({"bucket": "2026-09-01T12:00:00Z", "max": 2, "mean": 1.5}),
            json!({"bucket": "2026-09-01T12:01:00Z", "max": 1, "mean": 1.0}),
        ]
    );
    Ok(())
}

/// What a reader may not do.
#[tokio::test]
async fn readers_change_nothing() -> Outcome {
    let world = World::new().await?;
    world.receive(&simple_run(1, "close", 0, 500), RECEIVED).await?;
    world.round().await?;
    let reader = Reader::pinned(&world.lake, &world.factory).await?;
    for sql in [
        "DROP TABLE runs",
        "CREATE TABLE x AS SELECT 1",
        "INSERT INTO runs SELECT * FROM runs",
        "COPY runs TO '/tmp/x.csv'",
        "SET datafusion.execution.batch_size = 1",
    ] {
        assert!(reader.query(sql).await.is_err(), "{sql}");
    }
    Ok(())
}

/// Every check that comes with Plimsoll holds on a small lake, and every example runs.
#[tokio::test]
async fn shipped_queries() -> Outcome {
    let world = World::new().await?;
    for trace in 1..20 {
        world.receive(&simple_run(trace, "close", trace as i64 * 40_000_000, 500), RECEIVED).await?;
    }
    world.round().await?;
    let reader = Reader::pinned(&world.lake, &world.factory).await?;
    for (file, sql) in world.factory.sql().folder("checks") {
        let rows: usize = reader.query(sql).await?.iter().map(arrow::array::RecordBatch::num_rows).sum();
        assert_eq!(rows, 0, "{file}");
    }
    for (file, sql) in world.factory.sql().folder("examples") {
        assert!(reader.query(sql).await.is_ok(), "{file}");
    }
    Ok(())
}
