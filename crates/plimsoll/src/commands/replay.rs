//! `plimsoll replay`: an instant of the calendar, or a stretch of the past as it was, at the limits of that day
//! or at others.
//!
//! What it showed is told in `replay_page`. Invariant: nothing is written.

use std::{path::Path, path::PathBuf, process::ExitCode, str::FromStr, thread};

use jiff::{SignedDuration, Timestamp};
use plimsoll_plan::{
    BrokerPolicy, ClientRules, LimitInstead, PlanInput, Rehearsal, RetryInstead, Scene, Slots, Span,
    rehearse, windows,
};
use plimsoll_profile::{Reader, Recording, recorded};
use plimsoll_replay::{Jitter, Micros, RetryAfter};

use super::{ground::Ground, plan_diff, replay_page::told};
use crate::{
    cli::Format,
    failure::{self, Failure},
    output,
    progress::Progress,
    settings::Settings,
};

/// Options of `replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// What is planned for: pools with their limits, workflows with their tiers, events.
    #[arg(long, default_value = "plan.toml", value_name = "FILE")]
    spec: PathBuf,
    /// Instant up to which runs are measured; without it, the latest start of a run in the lake.
    #[arg(long, value_name = "TIME|DATE")]
    as_of: Option<String>,
    /// Instant whose rates are replayed; without it, --event and a stretch, the next event.
    #[arg(long, value_name = "TIME", conflicts_with = "event")]
    at: Option<Timestamp>,
    /// Event whose next occurrence is replayed: its busiest minutes, where past ones show them.
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Minutes that are counted, after the pools have filled up.
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_080))]
    minutes: u32,
    /// An hour as it was recorded, by its first instant: every run at its time.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["at", "event", "minutes", "from"])]
    hour: Option<Timestamp>,
    /// The same for any stretch, up to --to.
    #[arg(long, value_name = "TIME", requires = "to", conflicts_with_all = ["at", "event", "minutes"])]
    from: Option<Timestamp>,
    /// First instant after the stretch.
    #[arg(long, value_name = "TIME", requires = "from")]
    to: Option<Timestamp>,
    /// How often it is replayed: each time with arrivals of its own, or, for a stretch, with other luck in its
    /// retries.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    seeds: u32,
    /// A limit in place of the day's, as in anthropic/direct/global/claude-sonnet-4.5:input_tokens_per_min=2000000;
    /// `concurrent` for calls that the provider runs at once. May be given several times.
    #[arg(long, value_name = "POOL:DIMENSION=VALUE")]
    limit: Vec<Limit>,
    /// A plan (a plan.json, a folder with one, or an id in the lake): its limits are taken, those that it asks for
    /// first, and it is held against what happens.
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// A token broker's policy to enforce, as `plan --out` writes it.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Calls that the client sends at once to a pool, or of a tool; more wait. May be given several times.
    #[arg(long, value_name = "POOL|TOOL=N")]
    slots: Vec<Cap>,
    /// The same for the calls of one request class. May be given several times.
    #[arg(long, value_name = "POOL:CLASS=N")]
    class_slots: Vec<ClassCap>,
    /// Longest wait of a call of a tier, before it expires, as in 0=2s. May be given several times.
    #[arg(long, value_name = "TIER=TIME")]
    max_wait: Vec<Wait>,
    /// Retries in place of those measured: any of attempts=N, base=TIME, cap=TIME, jitter=none|half|full and
    /// retry-after=ignored|exact|TIME, with commas between them.
    #[arg(long, value_name = "KEY=VALUE,...")]
    retry: Option<Retries>,
    /// Refusals after which a call goes to the fallback of its pool; without it, never.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    failover_after: Option<u32>,
}

#[derive(Debug, Clone)]
struct Limit(LimitInstead);

#[derive(Debug, Clone)]
struct Cap(Slots);

#[derive(Debug, Clone)]
struct ClassCap(Slots);

#[derive(Debug, Clone, Copy)]
struct Wait(u8, Micros);

#[derive(Debug, Clone)]
struct Retries(RetryInstead);

/// `NAME=NUMBER`, with `_` between digits where wanted.
fn number<T: FromStr>(text: &str) -> Option<(&str, T)> {
    let (name, number) = text.rsplit_once('=')?;
    Some((name, number.replace('_', "").parse().ok()?))
}

/// `POOL:PART=NUMBER`.
fn numbered_part<T: FromStr>(text: &str) -> Option<(String, String, T)> {
    let (of, number) = number(text)?;
    let (pool, part) = of.rsplit_once(':')?;
    Some((pool.to_owned(), part.to_owned(), number))
}

fn time(text: &str) -> Result<Micros, String> {
    let span: Span = text.parse()?;
    Ok(Micros(u64::try_from(span.duration().as_micros()).unwrap_or(u64::MAX)))
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (pool, dimension, most) =
            numbered_part(text).ok_or("write POOL:DIMENSION=VALUE, with a whole number")?;
        Ok(Self(LimitInstead { pool, dimension, most }))
    }
}

impl FromStr for Cap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (of, most) = number(text).ok_or("write POOL=N or TOOL=N, with a whole number")?;
        Ok(Self(Slots { of: of.to_owned(), class: None, most }))
    }
}

impl FromStr for ClassCap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (of, class, most) = numbered_part(text).ok_or("write POOL:CLASS=N, with a whole number")?;
        Ok(Self(Slots { of, class: Some(class), most }))
    }
}

impl FromStr for Wait {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (tier, wait) = text.split_once('=').ok_or("write TIER=TIME, such as 0=2s")?;
        let tier = tier.parse().ok().filter(|tier| *tier <= 3).ok_or("a tier is 0, 1, 2 or 3")?;
        Ok(Self(tier, time(wait)?))
    }
}

impl FromStr for Retries {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut retry = RetryInstead::default();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}`: write KEY=VALUE"))?;
            match key.trim() {
                "attempts" => {
                    let attempts = value.parse().ok().filter(|attempts| *attempts > 0);
                    retry.max_attempts = Some(attempts.ok_or("attempts are a whole number from 1")?);
                }
                "base" => retry.base = Some(time(value)?),
                "cap" => retry.cap = Some(time(value)?),
                "jitter" => {
                    retry.jitter = Some(match value {
                        "none" => Jitter::None,
                        "half" => Jitter::Half,
                        "full" => Jitter::Full,
                        _ => return Err(format!("jitter is none, half or full, not `{value}`")),
                    });
                }
                "retry-after" => {
                    retry.retry_after = Some(match value {
                        "ignored" => RetryAfter::Ignored,
                        "exact" => RetryAfter::Exact,
                        set => RetryAfter::Set(time(set)?),
                    });
                }
                other => {
                    return Err(format!("`{other}` is none of attempts, base, cap, jitter and retry-after"));
                }
            }
        }
        Ok(Self(retry))
    }
}

impl Replay {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let policy = self.policy.as_deref().map(policy).transpose()?;
        let plan = match &self.plan {
            Some(name) => Some(plan_diff::read(settings, name).await?),
            None => None,
        };
        let progress = Progress::spinner();
        let ground = Ground::survey(settings, &self.spec, self.as_of.as_deref(), &progress).await?;
        let input = ground.input(false);
        let what = match self.stretch()? {
            Some((from, to)) => {
                progress.say("reading what was recorded");
                Scene::Stretch { from, to, runs: stretch(&ground, from, to).await? }
            }
            None => Scene::Instant { at: self.instant(&input)?, minutes: self.minutes },
        };
        let asked = Rehearsal {
            what,
            seeds: self.seeds,
            limits: self.limit.iter().map(|limit| limit.0.clone()).collect(),
            client: self.client(),
            policy,
            plan,
        };
        progress.say("replaying");
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let replayed = rehearse(&input, &asked, threads).map_err(Failure::input)?;
        progress.finish();
        output::answer(&replayed, &told(&replayed), format)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The stretch of the past that is asked for, where one is.
    fn stretch(&self) -> Result<Option<(Timestamp, Timestamp)>, Failure> {
        let hour = self.hour.map(|hour| (hour, hour.checked_add(SignedDuration::from_hours(1))));
        let (from, to) = match (hour, self.from, self.to) {
            (Some((from, to)), ..) => (from, to.map_err(Failure::input)?),
            (None, Some(from), Some(to)) => (from, to),
            _ => return Ok(None),
        };
        if to <= from || from < Timestamp::UNIX_EPOCH {
            return Err(Failure::input(format!(
                "{from} to {to} is no stretch of time: end it after it begins"
            )));
        }
        Ok(Some((from, to)))
    }

    fn client(&self) -> ClientRules {
        let pools = self.slots.iter().map(|cap| cap.0.clone());
        let classes = self.class_slots.iter().map(|cap| cap.0.clone());
        ClientRules {
            slots: pools.chain(classes).collect(),
            max_wait: self.max_wait.iter().map(|Wait(tier, wait)| (*tier, *wait)).collect(),
            retry: self.retry.as_ref().map(|retry| retry.0.clone()).unwrap_or_default(),
            failover_after: self.failover_after,
        }
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

fn policy(path: &Path) -> Result<BrokerPolicy, Failure> {
    let text = std::fs::read_to_string(path).map_err(failure::file(path))?;
    BrokerPolicy::parse(&text).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

/// Every run that was under way in a stretch.
async fn stretch(
    ground: &Ground,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<plimsoll_plan::SampledRun>, Failure> {
    let reader = Reader::pinned(&ground.lake, ground.sessions()).await?;
    match recorded(&reader, ground.sessions(), (from, to)).await? {
        Recording::Runs(runs) => Ok(runs),
        Recording::TooLarge { calls, most } => Err(Failure::input(format!(
            "{calls} calls were made by the runs from {from} to {to}, and {most} are the most that are replayed as \
             they were: choose a shorter stretch, or replay an instant with --at, which draws from a sample"
        ))),
    }
}
