//! `plimsoll replay`: an instant of the calendar, at the limits of that day or at others.

use std::{path::PathBuf, process::ExitCode, str::FromStr, thread};

use jiff::Timestamp;
use plimsoll_plan::{LimitInstead, PlanInput, Rehearsal, Rehearsed, rehearse, windows};

use super::ground::Ground;
use crate::{cli::Format, failure::Failure, output, progress::Progress, settings::Settings};

/// Options of `replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// What is planned for: pools with their limits, workflows with their tiers, events.
    #[arg(long, default_value = "plan.toml", value_name = "FILE")]
    spec: PathBuf,
    /// Instant up to which runs are measured; without it, the latest start of a run in the lake.
    #[arg(long, value_name = "TIME|DATE")]
    as_of: Option<String>,
    /// Instant whose rates are replayed; without it and --event, the next event.
    #[arg(long, value_name = "TIME", conflicts_with = "event")]
    at: Option<Timestamp>,
    /// Event whose next occurrence is replayed, at its start.
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Minutes that are counted, after the pools have filled up.
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_080))]
    minutes: u32,
    /// How often it is replayed, each time with arrivals of its own.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    seeds: u32,
    /// A limit in place of the day's, as in anthropic/direct/global/claude-sonnet-4.5:input_tokens_per_min=2000000;
    /// may be given several times.
    #[arg(long, value_name = "POOL:DIMENSION=VALUE")]
    limit: Vec<Instead>,
}

#[derive(Debug, Clone)]
struct Instead(LimitInstead);

impl FromStr for Instead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once('=').and_then(|(of, most)| {
            let (pool, dimension) = of.rsplit_once(':')?;
            Some((pool, dimension, most.replace('_', "").parse().ok()?))
        });
        let (pool, dimension, most) =
            parts.ok_or_else(|| "write POOL:DIMENSION=VALUE, with a whole number".to_owned())?;
        Ok(Self(LimitInstead { pool: pool.to_owned(), dimension: dimension.to_owned(), most }))
    }
}

impl Replay {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let progress = Progress::spinner();
        let ground = Ground::survey(settings, &self.spec, self.as_of.as_deref(), &progress).await?;
        let input = ground.input(false);
        let asked = Rehearsal {
            at: self.instant(&input)?,
            minutes: self.minutes,
            seeds: self.seeds,
            limits: self.limit.iter().map(|limit| limit.0.clone()).collect(),
        };
        progress.say("replaying");
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let replayed = rehearse(&input, &asked, threads).map_err(Failure::input)?;
        progress.finish();
        output::answer(&replayed, &told(&replayed), format)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The instant that is asked for.
    fn instant(&self, input: &PlanInput<'_>) -> Result<Timestamp, Failure> {
        if let Some(at) = self.at {
            return Ok(at);
        }
        let coming = windows(input.spec, input.calendar, input.as_of).map_err(Failure::input)?.coming;
        let wanted = |event: &str| self.event.as_deref().is_none_or(|name| name == event);
        if let Some(next) = coming.iter().find(|occurrence| wanted(&occurrence.event)) {
            return Ok(next.start().max(input.as_of));
        }
        let known: Vec<String> = input.spec.events.iter().map(|event| format!("`{}`", event.name)).collect();
        Err(Failure::input(match &self.event {
            Some(name) => format!(
                "no occurrence of `{name}` lies ahead; events of the spec: {}",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            ),
            None => "no event lies ahead: give an instant with --at".to_owned(),
        }))
    }
}

/// What happened, in a few lines; `--format json` has it all.
fn told(replayed: &Rehearsed) -> Vec<(String, String)> {
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let mut lines = vec![(
        "replayed".to_owned(),
        format!(
            "{}, {} min at its rates, {} times; figures of the first, P5 to P95 over all where told",
            replayed.at, replayed.minutes, replayed.seeds
        ),
    )];
    for rate in &replayed.rates {
        let rates = format!("{:.2} runs/min ({})", rate.runs_per_min, rate.from);
        lines.push((format!("rate {}", rate.workflow), rates));
    }
    for tier in &replayed.tiers {
        let of = format!("tier {}", tier.tier);
        let spread = replayed.spread.iter().find(|each| each.of == of && each.figure == "throttled_share");
        let spread =
            spread.map(|s| format!(" ({} to {})", percent(s.p5), percent(s.p95))).unwrap_or_default();
        let tier = &tier.summary;
        lines.push((
            of,
            format!(
                "{} of {} operations throttled, {}{spread}; {} failed, wait P95 {:.0} ms (n = {}), {:.1} runs in flight",
                tier.throttled,
                tier.operations,
                percent(tier.throttled_share),
                tier.failed + tier.expired,
                tier.wait_p95_ms,
                tier.waits.n,
                tier.in_flight_mean,
            ),
        ));
    }
    for pool in &replayed.pools {
        lines.push((
            format!("pool {}", pool.pool),
            format!(
                "{} over {} s: limit {}, busiest window {}, {} throttled",
                pool.dimension,
                pool.window_s,
                pool.limit,
                pool.peak,
                percent(pool.throttled_share)
            ),
        ));
    }
    for unlimited in &replayed.unlimited {
        lines.push(("no limit".to_owned(), format!("{unlimited}: none is given, so nothing is turned away")));
    }
    lines
}
