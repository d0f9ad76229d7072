//! `plimsoll plan --init`: a spec to begin with, from what the lake holds.
//!
//! Invariant: a file that is there is never written over.

use std::{fs::File, io::ErrorKind, io::Write as _, path::Path, process::ExitCode};

use plimsoll_plan::{Ledger, Spec, init as write_spec};

use super::ground::Ground;
use crate::{
    calendars,
    failure::{self, Failure},
    open, output,
    progress::Progress,
    settings::Settings,
};

/// Measures with the default policy, and writes what was found.
pub(super) async fn init(settings: &Settings, path: &Path, as_of: Option<&str>) -> Result<ExitCode, Failure> {
    if path.exists() {
        return Err(taken(path));
    }
    let zone = settings.time_zone()?;
    let zone = zone.iana_name().unwrap_or("UTC");
    let mut spec = Spec::default();
    spec.policy.time_zone = zone.to_owned();
    let calendar = calendars::calendar(settings, &spec.policy.holidays, Some(zone), Path::new(""))?;
    let progress = Progress::spinner();
    progress.say("opening the lake");
    let lake = open::existing_lake(settings).await?;
    let ground =
        Ground::measure(settings, lake, (spec, Ledger::default(), calendar), as_of, &progress).await?;
    progress.finish();
    let measured = &ground.measured;
    let text = write_spec(measured, ground.input(true).catalog, zone, ground.today());
    let mut file = File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => taken(path),
        _ => failure::file(path)(error),
    })?;
    file.write_all(text.as_bytes()).map_err(failure::file(path))?;
    file.sync_all().map_err(failure::file(path))?;
    let pools = measured.pools.iter().filter(|pool| !pool.pool.is_empty()).count();
    output::line(&format!(
        "{} names {pools} pools and {} workflows: fill in what stands behind a #, then run `plimsoll plan`",
        path.display(),
        measured.workflows.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn taken(path: &Path) -> Failure {
    Failure::input(format!("{} is there already and is left alone: name another with --spec", path.display()))
}
