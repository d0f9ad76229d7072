//! `plimsoll plan`: quota requests and reservations for what the calendar brings.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use plimsoll_plan::{Due, Plan as Document, Span, broker_policy, due, make};
use plimsoll_profile::store_plan;
use plimsoll_report::{Rendered, Templates, render};

use super::{
    ground::{Ground, ledger_file},
    plan_diff::Diff,
    plan_due, plan_explain, plan_init, plan_record,
};
use crate::{
    cli::Format,
    embedded,
    failure::{self, Failure},
    output,
    progress::Progress,
    settings::Settings,
};

/// Options of `plan`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Plan {
    #[command(subcommand)]
    action: Option<Action>,
    /// What to plan for.
    #[arg(long, default_value = "plan.toml", value_name = "FILE")]
    spec: PathBuf,
    /// Instant that the plan speaks for, or a day in the spec's time zone; without it, the latest start
    /// of a run in the lake.
    #[arg(long, value_name = "TIME|DATE")]
    as_of: Option<String>,
    /// Prints what is due instead of the plan, and exits with 10 where something is.
    #[arg(long)]
    check: bool,
    /// Takes needs from percentiles alone, without replaying: faster, and further from what runs draw.
    #[arg(long)]
    quick: bool,
    /// How far ahead --check looks from the plan's day, as in 30d; without it, only what must be filed or
    /// changed on that day.
    #[arg(long, value_name = "SPAN", requires = "check")]
    within: Option<Span>,
    /// Adds a draft to ledger.toml, beside the spec, for every request that is not in it.
    #[arg(long)]
    record: bool,
    /// Prints how one figure came about, step by step, with the query behind each input.
    #[arg(long, num_args = 2, value_names = ["POOL", "DIMENSION"], conflicts_with = "check")]
    explain: Option<Vec<String>>,
    /// Writes a spec to begin with, from what the lake holds; an existing file is left alone.
    #[arg(long, conflicts_with_all = ["check", "record", "explain", "out"])]
    init: bool,
    /// Writes plan.json, report.md, report.html and policy.json, which a token broker loads, into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What else there is to do with plans.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// What changed from one plan to another, and which input caused it.
    Diff(Diff),
}

/// Exit code of `--check` where something is due.
const DUE: u8 = 10;

impl Plan {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        if let Some(Action::Diff(diff)) = &self.action {
            return diff.run(settings, format).await;
        }
        if self.init {
            return plan_init::init(settings, &self.spec, self.as_of.as_deref()).await;
        }
        let made = make_plan(settings, &self.spec, self.as_of.as_deref(), self.quick).await?;
        if let Some(out) = &self.out {
            made.write(out)?;
        }
        let mut lines = summary(&made.plan);
        if self.record && made.plan.history.runs > 0 {
            lines.extend(plan_record::record(&made.plan, &ledger_file(&self.spec), made.ground.today())?);
        }
        let mut code = ExitCode::SUCCESS;
        if self.check {
            let due = made.due(self.within)?;
            plan_due::tell(&due, format)?;
            if !due.is_empty() {
                code = ExitCode::from(DUE);
            }
        } else if let Some([pool, dimension]) = self.explain.as_deref() {
            plan_explain::tell(&made.plan, pool, dimension, format)?;
        } else {
            output::answer(&made.plan, &lines, format)?;
        }
        if made.plan.history.runs == 0 {
            return Err(Failure::no_data(
                "no finished run lies in the plan's history: send telemetry, or plan for another --as-of",
            ));
        }
        if let Some(thin) = made.plan.warnings.iter().find(|warning| warning.code == "too_thin") {
            return Err(Failure::no_data(&thin.detail));
        }
        Ok(code)
    }
}

/// A plan with its documents and all that it was made from.
pub(super) struct Made {
    pub(super) plan: Document,
    documents: Rendered,
    ground: Ground,
    quick: bool,
}

impl Made {
    /// What is due by the plan's day and so much after it.
    fn due(&self, within: Option<Span>) -> Result<Vec<Due>, Failure> {
        due(&self.ground.input(true), &self.plan, within).map_err(Failure::input)
    }

    /// Writes the four files.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(folder).map_err(failure::file(folder))?;
        let json = serde_json::to_string_pretty(&self.plan).map_err(Failure::internal)?;
        let policy = broker_policy(&self.ground.input(self.quick), &self.plan).map_err(Failure::input)?;
        let policy = serde_json::to_string_pretty(&policy).map_err(Failure::internal)?;
        for (name, text) in [
            ("plan.json", &(json + "\n")),
            ("policy.json", &(policy + "\n")),
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
    let progress = Progress::spinner();
    let ground = Ground::survey(settings, spec_file, as_of, &progress).await?;
    progress.say(if quick { "planning" } else { "planning, with replays" });
    let plan = make(&ground.input(quick)).map_err(Failure::input)?;
    let templates = match &settings.folders.templates {
        None => Templates::default(),
        Some(folder) => Templates::new(templates(folder)?),
    };
    let documents = render(&plan, &ground.measured, &templates).map_err(Failure::input)?;
    if let Err(error) = store_plan(&ground.lake, &plan).await {
        // A lake that may only be read still answers.
        tracing::warn!(%error, "the plan is not in the table `plans`");
    }
    progress.finish();
    Ok(Made { plan, documents, ground, quick })
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
        lines.extend(request.lints.iter().map(|lint| (format!("  {}", lint.code), lint.detail.clone())));
    }
    for step in &plan.filing {
        let what = step.quota.as_deref().or(step.dimension.as_deref()).unwrap_or_default();
        let to = step.to.map_or_else(String::new, |to| format!(" -> {to}"));
        let why = step.detail.as_ref().map_or_else(String::new, |detail| format!(": {detail}"));
        lines.push((format!("on {}", step.on), format!("{} {} {what}{to}{why}", step.kind, step.pool)));
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
