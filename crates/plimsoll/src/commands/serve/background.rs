//! What runs by the clock: rounds of jobs, and the upkeep of the lake.
//!
//! Both are safe beside another process that does the same (the second to commit is told and does it over
//! at its next beat), and both end at once when asked to: their tables commit whole or not at all.

use std::time::Duration;

use plimsoll_lake::Lake;
use plimsoll_profile::{ProfileError, Remake, SessionFactory, run_round};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval_at},
};

/// Runs the jobs at each beat.
pub(super) async fn jobs(
    lake: Lake,
    sessions: SessionFactory,
    every: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    let mut beat = interval_at(Instant::now() + every, every);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = beat.tick() => {}
            _ = stopped.changed() => return,
        }
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
