//! `plimsoll demo`: the main job on the example company, in one go.
//!
//! It goes the way that real telemetry goes: over OTLP/HTTP into the real receiver on loopback, through
//! the journal into the lake, through the jobs into profiles, and from there into a plan.

use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use plimsoll_profile::Remake;
use plimsoll_scenario::{Options, Scenario};

use super::{
    generate::send,
    plan::{make_plan, summary},
    profile::round,
    serve,
};
use crate::{
    failure::{self, Failure},
    open, output,
    progress::Progress,
    settings::Settings,
};

/// Day for which the example company plans.
const AS_OF: &str = "2026-11-02";
/// How long the last flush may take.
const FLUSH: Duration = Duration::from_secs(120);

/// Options of `demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Folder for the lake, the spec, the plan and the report.
    #[arg(long, default_value = "demo", value_name = "DIR")]
    dir: PathBuf,
    /// How many times larger the company is than the scenario says; 0.1 for a quick look.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Seed, where not the scenario's.
    #[arg(long)]
    seed: Option<u64>,
}

impl Demo {
    pub(crate) async fn run(&self, settings: &Settings) -> Result<ExitCode, Failure> {
        let scenario = Scenario::insurer().map_err(Failure::internal)?;
        let lake_folder = self.dir.join("lake");
        if lake_folder.exists() {
            return Err(Failure::input(format!(
                "{} is there already: remove it, or name another folder with --dir",
                lake_folder.display()
            )));
        }
        std::fs::create_dir_all(&self.dir).map_err(failure::file(&self.dir))?;
        for (name, text) in [
            ("plimsoll.toml", scenario.plimsoll_toml()),
            ("plan.toml", scenario.plan_toml()),
            ("ledger.toml", scenario.ledger_toml()),
        ] {
            let path = self.dir.join(name);
            std::fs::write(&path, text).map_err(failure::file(&path))?;
        }
        let settings = settings.for_demo(&self.dir.join("plimsoll.toml"), &lake_folder)?;
        let lake = open::lake(&settings).await?;

        let started = Instant::now();
        let progress = Progress::spinner();
        let ingest = serve::start(&settings, Some(&lake), serve::Threads::default()).await?;
        let Some(http) = ingest.http_addr() else {
            return Err(Failure::internal("the receiver does not listen"));
        };
        let options = Options { seed: self.seed, scale: self.scale, ..Options::default() };
        let requests = scenario.generate(options).map_err(Failure::input)?;
        let sent = send(requests, &format!("http://{http}"), |spans| {
            progress.say(&format!("{spans} spans received"))
        })
        .await?;
        progress.say("flushing");
        let end = ingest.shutdown(FLUSH).await;
        progress.finish();
        if end.left_in_journal > 0 {
            return Err(Failure::internal(format!(
                "{} spans did not reach the lake in time",
                end.left_in_journal
            )));
        }
        let received = started.elapsed();

        let sessions = open::sessions(&settings)?;
        let report = round(&lake, &sessions, Remake::Nothing).await?;
        let profiled = started.elapsed() - received;
        let made = make_plan(&settings, &self.dir.join("plan.toml"), Some(AS_OF), false).await?;
        made.write(&self.dir)?;

        output::line(&format!(
            "received {sent} spans in {:.1} s, made {} runs and their profiles in {:.1} s, planned in {:.1} s\n",
            received.as_secs_f64(),
            report.runs,
            profiled.as_secs_f64(),
            (started.elapsed() - received - profiled).as_secs_f64(),
        ))?;
        for (name, text) in summary(&made.plan) {
            output::line(&format!("{name:<28} {text}"))?;
        }
        output::line("")?;
        for (name, what) in [
            ("report.html", "the plan to sign"),
            ("report.md", "the same as text"),
            ("plan.json", "the same for scripts"),
            ("policy.json", "floors, rates and waits, for a token broker"),
            ("plan.toml", "what was planned for: change it, then run `plimsoll plan`"),
            ("lake", "the tables: `plimsoll sql`, DuckDB, pandas, Spark"),
        ] {
            output::line(&format!("{:<28} {what}", self.dir.join(name).display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
