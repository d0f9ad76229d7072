//! What runs by the clock: rounds of jobs, and the upkeep of the lake.
//!
//! Both are safe beside another process that does the same (the second to commit is told and does it over
//! at its next beat), and both end at once when asked to: their tables commit whole or not at all.

use std::time::Duration;

use jiff::Timestamp;
use plimsoll_lake::Lake;
use plimsoll_profile::{ProfileError, Remake, SessionFactory, Upkeep, UpkeepReport, run_round, upkeep};
use tokio::{
    sync::watch,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};

/// Runs the jobs at each beat.
pub(super) async fn jobs(
    lake: Lake,
    sessions: SessionFactory,
    every: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    let mut beat = beats(every);
    while next(&mut beat, &mut stopped).await {
        let started = Instant::now();
        match run_round(&lake, &sessions, Remake::Nothing, &|_| ()).await {
            Ok(report) if report.changed => tracing::info!(
                lake_version = report.lake_version,
                runs = report.runs,
                seconds = started.elapsed().as_secs_f64(),
                "round of jobs"
            ),
            Ok(_) => {}
            Err(ProfileError::Overtaken) => tracing::info!("another round of jobs was faster"),
            // The next beat tries again with what is new by then.
            Err(error) => tracing::error!(%error, "round of jobs failed"),
        }
    }
}

/// Keeps the lake up at each beat.
pub(super) async fn keep_up(
    lake: Lake,
    sessions: SessionFactory,
    options: Upkeep,
    every: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    let mut beat = beats(every);
    while next(&mut beat, &mut stopped).await {
        let started = Instant::now();
        match upkeep(&lake, &sessions, &options, Timestamp::now(), &|_| ()).await {
            Ok(report) => tell(&report, started.elapsed()),
            Err(error) => tracing::error!(%error, "upkeep failed"),
        }
    }
}

/// What was done, where anything was.
fn tell(report: &UpkeepReport, took: Duration) {
    let sum = |of: fn(&plimsoll_profile::TableUpkeep) -> usize| report.tables.values().map(of).sum::<usize>();
    let (merged, into) = (sum(|table| table.compacted.from), sum(|table| table.compacted.into));
    let (expired, removed) = (sum(|table| table.retained.files), sum(|table| table.vacuumed.files));
    if merged + expired + removed > 0 {
        tracing::info!(merged, into, expired, removed, seconds = took.as_secs_f64(), "upkeep, in files");
    }
}

fn beats(every: Duration) -> Interval {
    let mut beat = interval_at(Instant::now() + every, every);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}

/// Waits for the next beat; false once it is time to stop.
async fn next(beat: &mut Interval, stopped: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        biased;
        _ = stopped.wait_for(|stopped| *stopped) => false,
        _ = beat.tick() => true,
    }
}
