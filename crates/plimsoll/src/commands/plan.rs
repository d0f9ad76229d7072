//! `plimsoll plan`: quota requests and reservations for what the calendar brings.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use jiff::Timestamp;
use plimsoll_calendar::Calendar;
use plimsoll_plan::{Ledger, Measured, Plan as Document, PlanInput, Spec, make, windows};
use plimsoll_profile::{Reader, SessionFactory, measure, store_plan};
use plimsoll_report::{Rendered, Templates, render};

use crate::{
    calendars,
    cli::Format,
    embedded,
    failure::{self, Failure},
    open, output,
    progress::Progress,
    settings::Settings,
};

/// Options of `plan`.
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// What to plan for.
    #[arg(long, default_value = "plan.toml", value_name = "FILE")]
    spec: PathBuf,
    /// Instant that the plan speaks for, or a day in the spec's time zone; without it, the latest start
    /// of a run in the lake.
    #[arg(long, value_name = "TIME|DATE")]
    as_of: Option<String>,
    /// Exits with 10 where something must be filed or changed now.
    #[arg(long)]
    check: bool,
    /// Takes needs from percentiles alone, without replaying: faster, and further from what runs draw.
    #[arg(long)]
    quick: bool,
    /// Writes plan.json, report.md and report.html into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Exit code of `--check` where something is due.
const DUE: u8 = 10;

impl Plan {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let made = make_plan(settings, &self.spec, self.as_of.as_deref(), self.quick).await?;
        if let Some(out) = &self.out {
            made.write(out)?;
        }
        output::answer(&made.plan, &summary(&made.plan), format)?;
        if made.plan.history.runs == 0 {
            return Err(Failure::no_data(
                "no finished run lies in the plan's history: send telemetry, or plan for another --as-of",
            ));
        }
        Ok(if self.check && is_due(&made.plan) { ExitCode::from(DUE) } else { ExitCode::SUCCESS })
    }
}

/// Whether something must be filed or changed now.
fn is_due(plan: &Document) -> bool {
    let mut dimensions = plan.pools.iter().flat_map(|pool| &pool.dimensions);
    let mut reservations = plan.reservations.iter();
    dimensions.any(|dimension| matches!(dimension.decision.as_str(), "file_now" | "late"))
        || reservations.any(|reservation| !matches!(reservation.action.as_str(), "hold" | "unknown"))
}

/// A plan with its documents.
pub(super) struct Made {
    pub(super) plan: Document,
    documents: Rendered,
}

impl Made {
    /// Writes the three files.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(folder).map_err(failure::file(folder))?;
        let json = serde_json::to_string_pretty(&self.plan).map_err(Failure::internal)?;
        for (name, text) in [
            ("plan.json", &(json + "\n")),
            ("report.md", &self.documents.markdown),
            ("report.html", &self.documents.html),
        ] {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(failure::file(&path))?;
        }
        Ok(())
    }
}

/// Measures, plans and renders.
#[tracing::instrument(name = "plan", skip_all)]
pub(super) async fn make_plan(
    settings: &Settings,
    spec_file: &Path,
    as_of: Option<&str>,
    quick: bool,
) -> Result<Made, Failure> {
    let text = std::fs::read_to_string(spec_file).map_err(failure::file(spec_file))?;
    calendars::check_rules(&spec_file.display().to_string(), &text)?;
    let spec =
        Spec::parse(&text).map_err(|fault| Failure::input(format!("{}: {fault}", spec_file.display())))?;
    let folder = spec_file.parent().unwrap_or(Path::new(""));
    let policy = &spec.policy;
    let calendar = calendars::calendar(settings, &policy.holidays, Some(&policy.time_zone), folder)?;
    let rules = spec.events.iter().map(|event| event.when.as_str());
    let calendar = calendars::with_feeds(calendar, rules, folder)?;
    let ledger = ledger(&spec_file.with_file_name("ledger.toml"))?;

    let progress = Progress::spinner();
    progress.say("opening the lake");
    let lake = open::lake(settings).await?;
    let sessions = open::sessions(settings)?;
    let reader = Reader::pinned(&lake, &sessions).await?;
    let as_of = instant(as_of, &calendar, &reader)?;
    progress.say("measuring");
    let measured = measured(&reader, &sessions, &spec, &calendar, as_of).await?;
    progress.say(if quick { "planning" } else { "planning, with replays" });
    let plan = make(&PlanInput {
        spec: &spec,
        spec_sha256: &spec.sha256,
        ledger: &ledger,
        catalog: sessions.policy().catalog(),
        calendar: &calendar,
        measured: &measured,
        as_of,
        quick,
    })
    .map_err(Failure::input)?;
    let templates = match &settings.folders.templates {
        None => Templates::default(),
        Some(folder) => Templates::new(templates(folder)?),
    };
    let documents = render(&plan, &measured, &templates).map_err(Failure::input)?;
    if let Err(error) = store_plan(&lake, &plan).await {
        // A lake that may only be read still answers.
        tracing::warn!(%error, "the plan is not in the table `plans`");
    }
    progress.finish();
    Ok(Made { plan, documents })
}

async fn measured(
    reader: &Reader,
    sessions: &SessionFactory,
    spec: &Spec,
    calendar: &Calendar,
    as_of: Timestamp,
) -> Result<Measured, Failure> {
    let windows = windows(spec, calendar, as_of).map_err(Failure::input)?;
    Ok(measure(reader, sessions, &windows).await?)
}

/// The requests made so far; a spec without a ledger beside it has made none.
fn ledger(path: &Path) -> Result<Ledger, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Ledger::parse(&text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Ledger::default()),
        Err(error) => Err(failure::file(path)(error)),
    }
}

fn templates(folder: &Path) -> Result<std::collections::BTreeMap<String, String>, Failure> {
    let mut found = std::collections::BTreeMap::new();
    for ending in ["html", "md", "css"] {
        for (path, text) in embedded::read_folder(folder, ending)? {
            let name = Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned());
            found.extend(name.map(|name| (name, text)));
        }
    }
    Ok(found)
}

fn instant(as_of: Option<&str>, calendar: &Calendar, reader: &Reader) -> Result<Timestamp, Failure> {
    match as_of {
        None => reader.snapshot().and_then(|row| row.data_until).ok_or_else(|| {
            Failure::no_data("the lake holds no run yet: send telemetry, then run `plimsoll profile`")
        }),
        Some(text) => match (text.parse::<Timestamp>(), text.parse()) {
            (Ok(instant), _) => Ok(instant),
            (_, Ok(date)) => calendar.start_of_day(date).map_err(Failure::input),
            _ => Err(Failure::input(format!(
                "--as-of {text}: write an instant (2026-11-02T09:00:00Z) or a day (2026-11-02)"
            ))),
        },
    }
}

/// The plan in a few lines: the verdict, then what is to be done by when.
pub(super) fn summary(plan: &Document) -> Vec<(String, String)> {
    let mut lines = vec![
        ("verdict".to_owned(), plan.verdict.clone()),
        ("as of".to_owned(), plan.as_of.to_string()),
        ("lake version".to_owned(), plan.lake_version.to_string()),
        ("runs".to_owned(), plan.history.runs.to_string()),
    ];
    for request in &plan.quota_requests {
        let from = request.from.map_or_else(|| "unknown".to_owned(), |limit| limit.to_string());
        lines.push((
            request.decision.clone(),
            format!(
                "{} {}: {from} -> {} (file by {}, last safe {})",
                request.pool, request.dimension, request.to, request.file_by, request.last_safe
            ),
        ));
    }
    for reservation in &plan.reservations {
        lines.push((
            reservation.action.clone(),
            format!(
                "{}: {} -> {} {}",
                reservation.pool, reservation.held, reservation.recommended, reservation.unit
            ),
        ));
    }
    lines.extend(
        plan.warnings.iter().map(|warning| (format!("warning {}", warning.code), warning.detail.clone())),
    );
    lines
}
