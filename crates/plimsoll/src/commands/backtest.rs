//! `plimsoll backtest`: plans made from the first part of a history, held against the rest.

use std::process::ExitCode;
use std::{path::PathBuf, thread};

use plimsoll_backtest::{BacktestError, Measure, Method, Score, backtest};

use super::{
    backtest_lake::backtest_lake,
    backtest_source::{Source, find},
};
use crate::{cli::Format, failure::Failure, output, progress::Progress, settings::Settings};

/// Most requests of a trace that are held against each other.
const MOST: usize = 1_000_000;

/// How the table is read.
const NOTE: &str = "\
Ten plans each: from the first third of the history on, each plan is held against all that came after it.
windows: whole minutes behind the plans. covered: those whose demand is within the need, without headroom.
over-provision: need / largest of those minutes, median of the ten plans; 1.00 is a perfect forecast.
throttled: operations that a limit of the need would have refused or held up, by tier.
replay: measured runs replayed at the rates of the coming peak. p95: P95 draw x runs in the busy minute.";

/// Options of `backtest`.
#[derive(Debug, clap::Args)]
pub(crate) struct Backtest {
    /// Traces: a CSV or JSON-lines file with a request a row, a client of ServeGen (chunk-N-trace.csv beside
    /// its chunk-N-dataset.json), a folder of these, or a lake. Without any, the lake of the settings.
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// What a minute's limit counts: requests_per_min, input_tokens_per_min, output_tokens_per_min or
    /// tokens_per_min (uncached input and output). A lake's pools are held against all that the catalog
    /// counts of them.
    #[arg(long, default_value_t, value_name = "NAME")]
    dimension: Measure,
    /// Tier of requests that tell none, 0 to 3: what share of them a plan may let be throttled.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=3))]
    tier: u8,
    /// Seed of what is left to chance: samples of large traces, and requests made from ServeGen's rates.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// What a lake is planned for; without it, plan.toml beside the lake, else no events.
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
}

impl Backtest {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let mut sources = Vec::new();
        for path in &self.paths {
            sources.extend(find(path)?);
        }
        if self.paths.is_empty() {
            sources.push(Source::Lake(settings.lake().to_owned()));
        }
        let progress = Progress::bar(sources.len() as u64);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let mut scores = Vec::new();
        for (done, source) in (0..).zip(&sources) {
            progress.done(done);
            progress.say(&source.to_string());
            scores.extend(match source {
                Source::Lake(lake) => backtest_lake(settings, lake, self.spec.as_deref(), &progress).await?,
                other => {
                    let alone = sources.iter().filter(|source| source.name() == other.name()).count() == 1;
                    let name = if alone { other.name() } else { other.to_string() };
                    let requests = other.requests(&name, (MOST, self.tier, self.seed))?;
                    backtest(&requests.trace(self.dimension), threads).map_err(refused)?
                }
            });
        }
        progress.finish();
        match format {
            Format::Table => tell(&scores)?,
            _ => output::list(&scores, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A trace without scores, as people meet it.
fn refused(error: BacktestError) -> Failure {
    match error {
        BacktestError::Short { .. } | BacktestError::NoDemand { .. } => Failure::no_data(error),
        BacktestError::Replay { .. } => Failure::internal(error),
    }
}

/// The table, and how to read it.
fn tell(scores: &[Score]) -> Result<(), Failure> {
    let header = ["trace", "dimension", "method", "windows", "covered", "over-provision", "throttled"];
    let row = |score: &Score| {
        let covered = 100.0 * score.covered as f64 / score.windows.max(1) as f64;
        let tiers = score
            .tiers
            .iter()
            .map(|tier| format!("tier {} {:.3} %", tier.tier, 100.0 * tier.throttled_share));
        [
            score.trace.clone(),
            score.dimension.clone(),
            match score.method {
                Method::Replay => "replay".to_owned(),
                Method::P95 => "p95".to_owned(),
            },
            score.windows.to_string(),
            format!("{covered:.2} %"),
            score.over_provision.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            tiers.collect::<Vec<_>>().join(", "),
        ]
    };
    let rows: Vec<_> = scores.iter().map(row).collect();
    output::line(&output::columns(header, &rows))?;
    output::line(&format!("\n{NOTE}"))?;
    for score in scores.iter().filter(|score| score.requests < score.of && score.method == Method::Replay) {
        output::line(&format!("{}: {} requests stand for {}.", score.trace, score.requests, score.of))?;
    }
    Ok(())
}
