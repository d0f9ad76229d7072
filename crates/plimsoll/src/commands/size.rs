//! `plimsoll size`: the planning worksheet, without telemetry: from a handful of numbers, for a pool of the
//! catalog, or from a file of classes and scenarios.

use std::{path::PathBuf, process::ExitCode, str::FromStr};

use plimsoll_plan::{Quantity, SizeInput, size};

use super::{size_pool, size_sheet};
use crate::{cli::Format, failure::Failure, output, settings::Settings};

/// Options of `size`. Any subset answers what it can.
#[derive(Debug, clap::Args)]
pub(crate) struct Size {
    /// Model calls a run.
    #[arg(long)]
    calls: Option<String>,
    /// Tool calls a run.
    #[arg(long)]
    tools: Option<String>,
    /// Input tokens a call.
    #[arg(long)]
    input_tokens: Option<String>,
    /// Output tokens a call.
    #[arg(long)]
    output_tokens: Option<String>,
    /// Runs started a minute.
    #[arg(long)]
    runs_per_min: Option<String>,
    /// Runs in flight where a run's length is given, else calls in flight.
    #[arg(long)]
    in_flight: Option<String>,
    /// Length of a run, seconds.
    #[arg(long)]
    run_seconds: Option<String>,
    /// Runs started a second.
    #[arg(long)]
    rps: Option<String>,
    /// Length of a call, seconds.
    #[arg(long)]
    service_seconds: Option<String>,
    /// P95 of a run over its mean (1 where not given).
    #[arg(long)]
    p95_factor: Option<String>,
    /// Added on top of the P95, as a share (0 where not given).
    #[arg(long)]
    headroom: Option<String>,
    /// A limit, as in tokens_per_min=2000000; may be given several times.
    #[arg(long, value_name = "DIM=VALUE")]
    limit: Vec<String>,
    /// Calls a second that one worker serves.
    #[arg(long)]
    worker_rps: Option<String>,
    /// A class of runs, as in 0.35:2:1; may be given several times.
    #[arg(long, value_name = "SHARE:CALLS:TOOLS")]
    mix: Vec<String>,
    /// Tools that one run has in flight.
    #[arg(long)]
    parallel_tools: Option<String>,
    /// Price of a reserved unit, USD an hour.
    #[arg(long)]
    unit_hour_usd: Option<String>,
    /// Calls a minute.
    #[arg(long, conflicts_with_all = ["runs_per_min", "rps", "in_flight", "qps"])]
    rpm: Option<String>,
    /// Calls a second.
    #[arg(long, conflicts_with_all = ["runs_per_min", "rps", "in_flight"])]
    qps: Option<String>,
    #[command(flatten)]
    pool: size_pool::PoolOptions,
    /// A worksheet: classes of requests and scenarios, in one table.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Size {
    pub(crate) fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        if let Some(file) = &self.file {
            return size_sheet::run(file, settings, format);
        }
        let input = self.input()?;
        if self.pool.is_given() {
            return self.pool.run(&input, &self.limit, settings, format);
        }
        let answer = size(&input).map_err(Failure::input)?;
        let value = serde_json::to_value(&answer).map_err(Failure::internal)?;
        output::answer(&value, &lines(&value), format)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The numbers; calls a minute or a second become runs of so many calls.
    fn input(&self) -> Result<SizeInput, Failure> {
        let calls = read("--calls", self.calls.as_ref())?;
        let per_min = match (read("--rpm", self.rpm.as_ref())?, read("--qps", self.qps.as_ref())?) {
            (Some(rpm), _) => Some(rpm),
            (None, qps) => qps.map(|qps| qps * 60.into()),
        };
        let runs = per_min.map(|per_min| {
            let calls = calls.clone().unwrap_or_else(Quantity::one);
            per_min.over(&calls).ok_or_else(|| Failure::input("--calls is zero: give a number above zero"))
        });
        let runs_per_min = match runs.transpose()? {
            Some(runs) => Some(runs),
            None => read("--runs-per-min", self.runs_per_min.as_ref())?,
        };
        // Limits of a pool are checked against its own dimensions.
        let limits = if self.pool.is_given() { Vec::new() } else { all("--limit", &self.limit)? };
        Ok(SizeInput {
            calls,
            tools: read("--tools", self.tools.as_ref())?,
            input_tokens: read("--input-tokens", self.input_tokens.as_ref())?,
            output_tokens: read("--output-tokens", self.output_tokens.as_ref())?,
            runs_per_min,
            rps: read("--rps", self.rps.as_ref())?,
            in_flight: read("--in-flight", self.in_flight.as_ref())?,
            run_seconds: read("--run-seconds", self.run_seconds.as_ref())?,
            service_seconds: read("--service-seconds", self.service_seconds.as_ref())?,
            p95_factor: read("--p95-factor", self.p95_factor.as_ref())?,
            headroom: read("--headroom", self.headroom.as_ref())?,
            limits,
            worker_rps: read("--worker-rps", self.worker_rps.as_ref())?,
            mix: all("--mix", &self.mix)?,
            parallel_tools: read("--parallel-tools", self.parallel_tools.as_ref())?,
            unit_hour_usd: read("--unit-hour-usd", self.unit_hour_usd.as_ref())?,
        })
    }
}

/// The table twin: one line for each figure that is known.
fn lines(value: &serde_json::Value) -> Vec<(String, String)> {
    let known = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    known.map(|(key, value)| (key.clone(), plain(value))).collect()
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(list) if list.is_empty() => "none".to_owned(),
        serde_json::Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

pub(super) fn read(flag: &str, text: Option<&String>) -> Result<Option<Quantity>, Failure> {
    text.map(|text| text.parse().map_err(|error| Failure::input(format!("{flag}: {error}")))).transpose()
}

fn all<T: FromStr<Err: std::fmt::Display>>(flag: &str, texts: &[String]) -> Result<Vec<T>, Failure> {
    texts
        .iter()
        .map(|text| text.parse().map_err(|error| Failure::input(format!("{flag} {text}: {error}"))))
        .collect()
}
