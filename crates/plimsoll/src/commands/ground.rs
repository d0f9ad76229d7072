//! What a plan or a replay is made from: the spec with its ledger and calendar, and what the lake
//! measured in their windows.
//!
//! Files and the lake are read here, once; whoever plans gets them as [`Ground::input`]. Invariant:
//! nothing is written.

use std::path::{Path, PathBuf};

use jiff::{Timestamp, civil::Date};
use plimsoll_calendar::Calendar;
use plimsoll_lake::Lake;
use plimsoll_plan::{Ledger, Measured, PlanInput, Spec, windows};
use plimsoll_profile::{Reader, SessionFactory, measure};

use crate::{
    calendars,
    failure::{self, Failure},
    open,
    progress::Progress,
    settings::Settings,
};

/// Everything that a plan is made from.
pub(super) struct Ground {
    pub(super) lake: Lake,
    sessions: SessionFactory,
    spec: Spec,
    ledger: Ledger,
    calendar: Calendar,
    pub(super) measured: Measured,
    as_of: Timestamp,
}

impl Ground {
    /// Reads the spec and what stands beside it, and measures the lake.
    ///
    /// # Errors
    /// A file or an instant that cannot be read, or a lake that cannot be queried.
    pub(super) async fn survey(
        settings: &Settings,
        spec_file: &Path,
        as_of: Option<&str>,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let Plans { spec, ledger, calendar } = plans(settings, spec_file)?;
        progress.say("opening the lake");
        let lake = open::lake(settings).await?;
        Self::measure(settings, lake, (spec, ledger, calendar), as_of, progress).await
    }

    /// Measures a lake for a spec.
    ///
    /// # Errors
    /// An instant that cannot be read, or a lake that cannot be queried.
    pub(super) async fn measure(
        settings: &Settings,
        lake: Lake,
        (spec, ledger, calendar): (Spec, Ledger, Calendar),
        as_of: Option<&str>,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let sessions = open::sessions(settings)?;
        let reader = Reader::pinned(&lake, &sessions).await?;
        let as_of = instant(as_of, &calendar, &reader)?;
        progress.say("measuring");
        let windows = windows(&spec, &calendar, as_of).map_err(Failure::input)?;
        let measured = measure(&reader, &sessions, &windows).await?;
        Ok(Self { lake, sessions, spec, ledger, calendar, measured, as_of })
    }

    /// The same for the crate that plans; `quick` leaves replays out.
    pub(super) fn input(&self, quick: bool) -> PlanInput<'_> {
        PlanInput {
            spec: &self.spec,
            spec_sha256: &self.spec.sha256,
            ledger: &self.ledger,
            catalog: self.sessions.policy().catalog(),
            calendar: &self.calendar,
            measured: &self.measured,
            as_of: self.as_of,
            quick,
        }
    }

    /// What a session over the lake is made with.
    pub(super) fn sessions(&self) -> &SessionFactory {
        &self.sessions
    }

    /// The plan's day.
    pub(super) fn today(&self) -> Date {
        self.calendar.local_date(self.as_of)
    }
}

/// A spec and what stands beside it.
pub(super) struct Plans {
    pub(super) spec: Spec,
    pub(super) ledger: Ledger,
    pub(super) calendar: Calendar,
}

/// Reads a spec, the calendar that it names, and the ledger beside it.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn plans(settings: &Settings, spec_file: &Path) -> Result<Plans, Failure> {
    let text = std::fs::read_to_string(spec_file).map_err(failure::file(spec_file))?;
    let spec = Spec::parse(&text).map_err(failure::in_file(spec_file))?;
    let folder = spec_file.parent().unwrap_or(Path::new(""));
    let policy = &spec.policy;
    let calendar = calendars::calendar(settings, &policy.holidays, Some(&policy.time_zone), folder)?;
    let rules = spec.events.iter().map(|event| event.when.as_str());
    let calendar = calendars::with_feeds(calendar, rules, folder)?;
    Ok(Plans { spec, ledger: ledger(&ledger_file(spec_file))?, calendar })
}

/// The ledger that belongs to a spec.
pub(super) fn ledger_file(spec: &Path) -> PathBuf {
    spec.with_file_name("ledger.toml")
}

/// The requests made so far; a spec without a ledger beside it has made none.
fn ledger(path: &Path) -> Result<Ledger, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ledger::parse(&text).map_err(failure::in_file(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Ledger::default()),
        Err(error) => Err(failure::file(path)(error)),
    }
}

/// The instant that a plan speaks for.
fn instant(as_of: Option<&str>, calendar: &Calendar, reader: &Reader) -> Result<Timestamp, Failure> {
    match as_of {
        None => reader.snapshot().and_then(|row| row.data_until).ok_or_else(|| {
            Failure::no_data("the lake holds no run yet: send telemetry, then run `plimsoll profile`")
        }),
        Some(text) => calendars::instant(calendar, text)?.ok_or_else(|| {
            Failure::input(format!(
                "--as-of {text}: write an instant (2026-11-02T09:00:00Z) or a day (2026-11-02)"
            ))
        }),
    }
}
