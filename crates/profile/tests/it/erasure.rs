//! Erasure of tenants, users and sessions, from what was received and from all that was made of it.

use std::sync::{
    Mutex,
    atomic::{AtomicI64, Ordering},
};
use std::time::Duration;

use plimsoll_assembly::naming::Rules;
use plimsoll_lake::Vacuum;
use plimsoll_profile::{ErasureStep, Subject, erase, pins};
use serde_json::{Value, json};

use crate::support::{Outcome, RECEIVED, World, chat, eventful_run, everything, simple_run, with};

const DAY_MS: i64 = 86_400_000;
const DAY: i64 = DAY_MS * 1000;

fn subject(tenants: &[&str], users: &[&str], sessions: &[&str]) -> Subject {
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    Subject { tenants: owned(tenants), users: owned(users), sessions: owned(sessions) }
}

/// Runs of others, over three days, by what is received on each.
fn others() -> [Vec<Value>; 3] {
    [
        eventful_run(1, "close", 0, 500),
        simple_run(2, "close", DAY_MS, 300),
        [simple_run(3, "chat", 2 * DAY_MS, 700), simple_run(4, "close", 2 * DAY_MS + 5000, 90)].concat(),
    ]
}

/// The first span of a run says whose it is.
fn theirs(mut run: Vec<Value>, key: &str, value: &str) -> Vec<Value> {
    let first = run.remove(0);
    run.insert(0, with(first, key, value));
    run
}

/// A world of what was received on each day, with a round a day.
async fn received(days: [Vec<Value>; 3]) -> Outcome<World> {
    let world = World::new().await?;
    for (day, spans) in (0..).zip(days) {
        world.receive(&spans, RECEIVED + day * DAY).await?;
        world.round().await?;
    }
    Ok(world)
}

/// What a lake holds: all that jobs made, and what was counted.
async fn held(world: &World) -> Outcome<Vec<Vec<Value>>> {
    let mut tables = everything(world).await?;
    tables.push(
        world.query("SELECT * FROM quality ORDER BY start_day, counted, reason, service, dialect").await?,
    );
    tables.push(world.query("SELECT trace_id, span_id FROM spans ORDER BY trace_id, span_id").await?);
    Ok(tables)
}

/// After an erasure the lake is as if the tenant, the user or the session had never been there; what others
/// drew, and their profiles, are what they would have been. Doing it again changes nothing.
#[tokio::test]
async fn as_if_never_there() -> Outcome {
    let control = received(others()).await?;
    let mut days = others();
    days[0].extend(theirs(eventful_run(11, "close", 1000, 7000), "plimsoll.tenant", "acme"));
    days[1].extend(theirs(simple_run(12, "close", DAY_MS + 100, 8000), "enduser.id", "u-77"));
    days[2].extend(theirs(simple_run(13, "chat", 2 * DAY_MS + 100, 9000), "app.userId", "u-77"));
    days[2].extend(theirs(simple_run(14, "new", 2 * DAY_MS + 300, 6000), "session.id", "s-5"));
    let world = received(days).await?;
    let subject = subject(&["acme"], &["u-77"], &["s-5"]);
    let found = subject.find(&world.lake, &world.factory).await?;
    assert_eq!((found.traces.len(), found.runs.len()), (4, 4));
    assert_eq!((found.rows["spans"], found.rows["runs"], found.rows["quarantine"]), (13, 4, 0));
    let report = erase(&world.lake, &world.factory, &subject, &|_| ()).await?;
    assert_eq!((report.found, report.removed["spans"], report.lake_version), (found, 13, 4));
    assert_eq!(held(&world).await?, held(&control).await?);
    let again = erase(&world.lake, &world.factory, &subject, &|_| ()).await?;
    assert!(again.found.traces.is_empty() && again.found.runs.is_empty());
    assert_eq!(again.lake_version, 4);
    Ok(())
}

/// An erasure that dies once the spans are gone is finished by the next round, whoever runs it: by one that
/// makes all anew as well.
#[tokio::test]
async fn finished_by_any_round() -> Outcome {
    let control = received(others()).await?;
    for rebuild in [false, true] {
        let mut days = others();
        days[0].extend(theirs(eventful_run(11, "close", 1000, 7000), "plimsoll.tenant", "acme"));
        let world = received(days).await?;
        let subject = subject(&["acme"], &[], &[]);
        cut_short(&world, &subject, |step| matches!(step, ErasureStep::Remaking(_))).await?;
        assert_eq!(
            world.value("SELECT count(*) FROM runs").await?,
            json!(5),
            "readers keep to the last round"
        );
        if rebuild {
            world.rebuild().await?
        } else {
            world.round().await?
        };
        assert_eq!(held(&world).await?, held(&control).await?);
    }
    Ok(())
}

/// Begins an erasure, which dies at a step.
async fn cut_short(
    world: &World,
    subject: &Subject,
    at: impl Fn(&ErasureStep<'_>) -> bool + Sync,
) -> Outcome {
    let gone = tokio::sync::Notify::new();
    let watch = |step: ErasureStep<'_>| {
        if at(&step) {
            gone.notify_one();
        }
    };
    tokio::select! {
        biased;
        () = gone.notified() => Ok(()),
        done = erase(&world.lake, &world.factory, subject, &watch) => {
            Err(format!("it was not cut short: {done:?}").into())
        }
    }
}

/// A span that starts when none can.
fn unplaced(trace: u64) -> Value {
    let mut span = chat(trace, 9, 0, 1, 1, 1);
    span["startTimeUnixNano"] = json!("1000");
    span
}

/// An erasure that dies after any of its steps is finished by the next one, though a trace may be told by a
/// quarantined span alone, or have one that tells nothing.
#[tokio::test]
async fn finished_by_the_next() -> Outcome {
    let control = received(others()).await?;
    for cut in 1..=3 {
        let mut days = others();
        days[0].extend(theirs(eventful_run(11, "close", 1000, 7000), "plimsoll.tenant", "acme"));
        days[1].push(unplaced(11));
        days[1].extend(simple_run(12, "close", DAY_MS + 100, 8000));
        days[2].push(with(unplaced(12), "plimsoll.tenant", "acme"));
        let world = received(days).await?;
        let subject = subject(&["acme"], &[], &[]);
        let found = subject.find(&world.lake, &world.factory).await?;
        assert_eq!((found.traces.len(), found.rows["spans"], found.rows["quarantine"]), (2, 9, 2));
        let steps = AtomicI64::new(0);
        let is_last = |step: &ErasureStep<'_>| {
            matches!(step, ErasureStep::Removed { .. }) && steps.fetch_add(1, Ordering::Relaxed) + 1 == cut
        };
        cut_short(&world, &subject, is_last).await?;
        erase(&world.lake, &world.factory, &subject, &|_| ()).await?;
        assert_eq!(held(&world).await?, held(&control).await?, "cut after step {cut}");
        for table in ["spans", "quarantine"] {
            let of_theirs =
                format!("SELECT count(*) FROM {table} WHERE trace_id LIKE '%b' OR trace_id LIKE '%c'");
            assert_eq!(world.value(&of_theirs).await?, json!(0), "{table}, cut after step {cut}");
        }
    }
    Ok(())
}

/// Runs whose spans have expired go too, by what is known of them: tenant, and session where runs are told
/// apart by it.
#[tokio::test]
async fn expired_runs() -> Outcome {
    let rules: Rules = toml::from_str("[[run]]\nid = [\"session.id\"]\nmatch = { service = \"agents\" }")?;
    let world = World::with_rules(&rules).await?;
    world.receive(&others()[0], RECEIVED).await?;
    world.receive(&theirs(simple_run(11, "close", 1000, 7000), "plimsoll.tenant", "acme"), RECEIVED).await?;
    world.receive(&theirs(simple_run(12, "close", 2000, 6000), "session.id", "s-5"), RECEIVED).await?;
    world.receive(&simple_run(3, "close", DAY_MS, 80), RECEIVED + DAY).await?;
    world.round().await?;
    world.retain("spans", 1).await?;
    world.round().await?;
    assert_eq!(world.value("SELECT count(*) FROM runs").await?, json!(4));
    let subject = subject(&["acme"], &[], &["s-5"]);
    let report = erase(&world.lake, &world.factory, &subject, &|_| ()).await?;
    assert_eq!((report.found.runs.len(), report.removed["spans"]), (2, 0));
    for table in ["runs", "model_calls", "attempts"] {
        let left = format!("SELECT count(DISTINCT run_id) FROM {table}");
        assert_eq!(world.value(&left).await?, json!(2), "{table}");
    }
    let drawn = "SELECT sum(amount) FROM lake.draw WHERE measure = 'input_tokens' AND window_s = 1";
    assert_eq!(world.value(drawn).await?, json!(1080));
    let most = "SELECT max(max) FROM run_profiles WHERE metric = 'input_tokens'";
    assert_eq!(world.value(most).await?, json!(80.0), "the run of the first day has a call without usage");
    world.rebuild().await?;
    assert_eq!(world.value("SELECT count(*) FROM runs").await?, json!(2));
    Ok(())
}

/// Once old versions are vacuumed, no file of the lake names the tenant.
#[tokio::test]
async fn nothing_is_left_in_old_versions() -> Outcome {
    let mut days = others();
    days[1].extend(theirs(simple_run(11, "close", DAY_MS, 7000), "plimsoll.tenant", "tenant-to-forget"));
    let world = received(days).await?;
    assert!(world.names("tenant-to-forget").await? > 0);
    let told = Mutex::new(Vec::new());
    let watch = |step: ErasureStep<'_>| {
        if let (ErasureStep::Removed { table, rows }, Ok(mut told)) = (step, told.lock()) {
            told.push((table.to_owned(), rows));
        }
    };
    erase(&world.lake, &world.factory, &subject(&["tenant-to-forget"], &[], &[]), &watch).await?;
    let told = told.into_inner()?;
    assert_eq!(told, [("spans".to_owned(), 2)]);
    let pins = pins(&world.lake, &world.factory, Duration::ZERO).await?;
    for schema in world.lake.schemas().iter() {
        let table = world.lake.table(&schema.name).await?;
        table.checkpoint().await?;
        let pinned = pins.versions(&schema.name);
        tokio::time::sleep(Duration::from_millis(5)).await;
        table.vacuum(&Vacuum { retention: Duration::ZERO, pinned, ..Vacuum::default() }).await?;
    }
    assert_eq!(world.names("tenant-to-forget").await?, 0);
    assert_eq!(world.value("SELECT count(*) FROM runs").await?, json!(4));
    Ok(())
}
