//! What rounds make of a lake from which rows have expired.

use serde_json::{Value, json};

use crate::support::{Outcome, RECEIVED, World, chat, eventful_run, everything, simple_run};

const DAY_MS: i64 = 86_400_000;
const DAY: i64 = DAY_MS * 1000;

/// Three runs, each received on the day on which it ran, the first with much in it; one round a day.
async fn three_days() -> Outcome<World> {
    let world = World::new().await?;
    world.receive(&eventful_run(1, "close", 0, 500), RECEIVED).await?;
    world.round().await?;
    world.receive(&simple_run(2, "close", DAY_MS, 300), RECEIVED + DAY).await?;
    world.round().await?;
    world.receive(&simple_run(3, "close", 2 * DAY_MS, 700), RECEIVED + 2 * DAY).await?;
    world.round().await?;
    Ok(world)
}

async fn seen(world: &World) -> Outcome<Vec<Value>> {
    world.query("SELECT * FROM quality ORDER BY start_day, counted, reason, service, dialect").await
}

/// A rebuild keeps what can no longer be made: runs and all that belongs to them, draws, profiles, and what
/// was counted of the spans; and it makes the rest again.
#[tokio::test]
async fn rebuild_after_expiry() -> Outcome {
    let world = three_days().await?;
    let (before, counted) = (everything(&world).await?, seen(&world).await?);
    world.retain("spans", 1).await?;
    for _ in 0..2 {
        let report = world.rebuild().await?;
        assert_eq!(report.runs, 2, "of three runs two have spans");
        assert_eq!(everything(&world).await?, before);
        assert_eq!(seen(&world).await?, counted);
        assert_eq!(world.value("SELECT count(*) FROM runs").await?, json!(3));
        assert_eq!(world.value("SELECT count(*) FROM spans").await?, json!(4));
    }
    // A new run of the first day, received now, adds to what that day drew.
    let drawn = "SELECT sum(amount) FROM lake.draw WHERE measure = 'input_tokens' AND window_s = 60
          AND start_day = DATE '2026-09-01'";
    assert_eq!(world.value(drawn).await?, json!(1000));
    world.receive(&simple_run(4, "close", 60_000, 40), RECEIVED + 3 * DAY).await?;
    assert_eq!(world.round().await?.runs, 1);
    assert_eq!(world.value(drawn).await?, json!(1040));
    world.rebuild().await?;
    assert_eq!(world.value(drawn).await?, json!(1040));
    assert_eq!(world.value("SELECT count(*) FROM runs").await?, json!(4));
    Ok(())
}

/// A late span does not make a run anew of which spans have expired, and `quality` says so.
#[tokio::test]
async fn late_span_of_an_expired_run() -> Outcome {
    let world = three_days().await?;
    let before = everything(&world).await?;
    world.retain("spans", 1).await?;
    world.receive(&[chat(1, 9, 4950, 4990, 9000, 10)], RECEIVED + 3 * DAY).await?;
    for _ in 0..2 {
        assert!(world.round().await?.runs <= 1);
        assert_eq!(everything(&world).await?, before);
        let late = "SELECT count, of, start_day FROM quality WHERE reason = 'run_expired'";
        assert_eq!(world.query(late).await?, [json!({"count": 1, "of": 1, "start_day": "2026-09-04"})]);
        world.rebuild().await?;
    }
    Ok(())
}

/// A run of which only the first spans have expired stands whole, through late spans and rebuilds.
#[tokio::test]
async fn partly_expired_run() -> Outcome {
    let world = World::new().await?;
    let spans = simple_run(1, "close", 0, 500);
    world.receive(&spans[..1], RECEIVED).await?;
    world.receive(&spans[1..], RECEIVED + DAY).await?;
    world.receive(&simple_run(2, "close", DAY_MS, 300), RECEIVED + DAY).await?;
    world.round().await?;
    let before = everything(&world).await?;
    world.retain("spans", 1).await?;
    world.rebuild().await?;
    assert_eq!(everything(&world).await?, before);
    // A log of the lake that no longer reaches back makes all spans new, and still not the run.
    world.receive(&[chat(1, 5, 500, 600, 1, 1)], RECEIVED + 2 * DAY).await?;
    world.round().await?;
    assert_eq!(everything(&world).await?, before);
    Ok(())
}

/// What jobs made expires too: its rows go and do not come back, and what was made of them stays.
#[tokio::test]
async fn expiry_of_what_jobs_made() -> Outcome {
    let world = three_days().await?;
    let profiled = "SELECT window_start, n, mean FROM run_profiles
          WHERE metric = 'input_tokens' AND grain = 'day' ORDER BY window_start";
    let drawn = "SELECT start_day, sum(amount) AS amount FROM lake.draw
          WHERE measure = 'requests' AND window_s = 60 GROUP BY start_day ORDER BY start_day";
    let (profiles, draws) = (world.query(profiled).await?, world.query(drawn).await?);
    for table in ["runs", "model_calls", "attempts", "tool_calls"] {
        world.retain(table, 1).await?;
    }
    for rebuilt in [false, true] {
        let report = if rebuilt { world.rebuild().await? } else { world.round().await? };
        assert!(report.changed, "readers are told");
        assert_eq!(world.value("SELECT count(*) FROM runs").await?, json!(2));
        assert_eq!(world.value("SELECT min(start_day) FROM attempts").await?, json!("2026-09-02"));
        assert_eq!(world.query(profiled).await?, profiles);
        assert_eq!(world.query(drawn).await?, draws);
    }
    Ok(())
}

/// Nothing but expiry since the last round is told to readers by one new version, and no more than one.
#[tokio::test]
async fn expiry_alone() -> Outcome {
    let world = three_days().await?;
    world.retain("draw", 2).await?;
    let pinned = world.value("SELECT min(start_day) FROM lake.draw").await?;
    assert_eq!(pinned, json!("2026-09-01"), "until a round, readers keep to the last one");
    assert_eq!((world.round().await?.lake_version, world.round().await?.lake_version), (4, 4));
    assert_eq!(world.value("SELECT min(start_day) FROM lake.draw").await?, json!("2026-09-03"));
    Ok(())
}
