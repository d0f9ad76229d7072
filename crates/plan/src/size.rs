//! The planning worksheet: rates and sizes in, tokens a minute, concurrency and violations out.
//!
//! It needs no telemetry and no spec. Any subset of inputs answers what it can; what it cannot is
//! absent from the output. The invariant: exact rationals throughout, nothing rounded but counts of
//! workers, which come whole.

use std::collections::BTreeMap;
use std::str::FromStr;

use plimsoll_toml::nearest;
use serde::Serialize;
use thiserror::Error;

use crate::quantity::{Quantity, QuantityError};
use crate::queue::poisson_quantile;

/// Hours in a month, as providers bill it.
const HOURS_A_MONTH: u64 = 730;

/// The dimensions that a rate can be held against: per minute, or at one instant.
pub const SIZE_DIMENSIONS: [&str; 5] =
    ["requests_per_min", "input_tokens_per_min", "output_tokens_per_min", "tokens_per_min", "concurrent"];

/// What the worksheet is told. All optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SizeInput {
    /// Model calls a run. Without it, the mean of `mix`; without that, 1.
    pub calls: Option<Quantity>,
    /// Tool calls a run.
    pub tools: Option<Quantity>,
    /// Input tokens a call.
    pub input_tokens: Option<Quantity>,
    /// Output tokens a call.
    pub output_tokens: Option<Quantity>,
    /// Runs started a minute. At most one of this, `rps` and `in_flight`.
    pub runs_per_min: Option<Quantity>,
    /// Runs started a second.
    pub rps: Option<Quantity>,
    /// Runs inside at once where `run_seconds` is given, else calls inside at once.
    pub in_flight: Option<Quantity>,
    /// Length of a run, seconds.
    pub run_seconds: Option<Quantity>,
    /// Length of a call, seconds.
    pub service_seconds: Option<Quantity>,
    /// P95 of a run over its mean. Without it, 1.
    pub p95_factor: Option<Quantity>,
    /// Added on top of the P95, as a share. Without it, 0.
    pub headroom: Option<Quantity>,
    /// Limits to hold the P95 need against.
    pub limits: Vec<SizeLimit>,
    /// Calls a second that one worker serves.
    pub worker_rps: Option<Quantity>,
    /// Classes of runs by share.
    pub mix: Vec<MixPart>,
    /// Tools that one run has in flight.
    pub parallel_tools: Option<Quantity>,
    /// Price of a reserved unit, USD an hour.
    pub unit_hour_usd: Option<Quantity>,
}

/// One limit: `dimension=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeLimit {
    /// One of [`SIZE_DIMENSIONS`].
    pub dimension: String,
    /// Most that the provider allows.
    pub value: Quantity,
}

/// One class of runs: `share:calls:tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixPart {
    /// Share of runs.
    pub share: Quantity,
    /// Model calls in each.
    pub calls: Quantity,
    /// Tool calls in each.
    pub tools: Quantity,
}

/// What the worksheet answers; the field names are the JSON keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SizeOutput {
    /// Runs started a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_per_min: Option<Quantity>,
    /// Model calls a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_min: Option<Quantity>,
    /// Input and output tokens a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_s: Option<Quantity>,
    /// Input tokens a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_per_min: Option<Quantity>,
    /// Output tokens a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_per_min: Option<Quantity>,
    /// Input and output tokens a minute, of what was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_min: Option<Quantity>,
    /// Input tokens a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_per_run: Option<Quantity>,
    /// Output tokens a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_per_run: Option<Quantity>,
    /// Runs inside at once where a run's length is given, else calls; the mean (Little's law).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<Quantity>,
    /// P95 of a Poisson of that mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight_p95: Option<u64>,
    /// Tools inside at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_in_flight: Option<Quantity>,
    /// `p95_floor_<dimension>` and `p95_need_<dimension>`: demand x P95 factor, and that x (1 + headroom).
    #[serde(flatten)]
    pub p95: BTreeMap<String, Quantity>,
    /// Workers for the mean rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u64>,
    /// Workers for the mean rate x (1 + headroom).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers_with_headroom: Option<u64>,
    /// Of those, workers that the tightest limit keeps busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers_fed: Option<u64>,
    /// Of those, workers that would wait for the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers_idle: Option<u64>,
    /// Lower end of an autoscaler's range: workers without headroom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscale_min: Option<u64>,
    /// Upper end: twice the workers with headroom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscale_max: Option<u64>,
    /// Model calls a run, mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_model_calls: Option<Quantity>,
    /// Model calls a run that 95 % of runs stay within.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_model_calls: Option<Quantity>,
    /// Tool calls a run, mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_tools: Option<Quantity>,
    /// Tool calls a run that 95 % of runs stay within.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_tools: Option<Quantity>,
    /// Price of a reserved unit, USD a month of 730 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_month_usd: Option<Quantity>,
    /// Dimensions whose limit is below the P95 need.
    pub violations: Vec<String>,
}

/// Inputs that the worksheet cannot use.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SizeError {
    /// Nothing to compute from.
    #[error("nothing to size: give at least calls and tokens, a rate, a mix or a unit's price")]
    Nothing,
    /// More than one rate.
    #[error("{0} and {1} both give a rate: give one of runs_per_min, rps and in_flight")]
    TwoRates(&'static str, &'static str),
    /// A length, rate or price of zero where something is divided by it.
    #[error("{0} is zero: give a length or rate above zero")]
    Zero(&'static str),
    /// Shares that do not add up.
    #[error("the shares of the mix add up to {0}: make them add up to 1 or 100 %")]
    Shares(Quantity),
    /// A dimension that the worksheet does not know.
    #[error("unknown dimension `{0}`{suggestion}: use one of {known}", suggestion = meant(.0), known = SIZE_DIMENSIONS.join(", "))]
    Dimension(String),
    /// Not `dimension=value`.
    #[error("`{0}` is not a limit: write dimension=value, for example tokens_per_min=2000000")]
    NotALimit(String),
    /// Not `share:calls:tools`.
    #[error("`{0}` is not a part of a mix: write share:calls:tools, for example 0.35:2:1")]
    NotAMix(String),
    /// Not a number.
    #[error(transparent)]
    Number(#[from] QuantityError),
}

/// `, did you mean `x`?`, or nothing.
fn meant(dimension: &str) -> String {
    nearest(dimension, SIZE_DIMENSIONS).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default()
}

impl FromStr for SizeLimit {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let (dimension, value) = text.split_once('=').ok_or_else(|| SizeError::NotALimit(text.to_owned()))?;
        let dimension = dimension.trim();
        if !SIZE_DIMENSIONS.contains(&dimension) {
            return Err(SizeError::Dimension(dimension.to_owned()));
        }
        Ok(Self { dimension: dimension.to_owned(), value: value.parse()? })
    }
}

impl FromStr for MixPart {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let parts: Vec<&str> = text.split(':').collect();
        let [share, calls, tools] = parts.as_slice() else {
            return Err(SizeError::NotAMix(text.to_owned()));
        };
        Ok(Self { share: share.parse()?, calls: calls.parse()?, tools: tools.parse()? })
    }
}

/// Answers what the inputs allow.
///
/// # Errors
/// [`SizeError`] where inputs contradict each other, divide by zero, or are all absent.
pub fn size(input: &SizeInput) -> Result<SizeOutput, SizeError> {
    if *input == SizeInput::default() {
        return Err(SizeError::Nothing);
    }
    let mix = Mix::of(&input.mix)?;
    let calls = input.calls.clone().or_else(|| mix.as_ref().map(|mix| mix.mean_calls.clone()));
    let calls_or_one = calls.clone().unwrap_or_else(Quantity::one);
    let rate = Rate::of(input, &calls_or_one)?;

    let per_run = |tokens: &Option<Quantity>| tokens.as_ref().map(|tokens| tokens * &calls_or_one);
    let (input_per_run, output_per_run) = (per_run(&input.input_tokens), per_run(&input.output_tokens));
    let per_min = |per_run: &Option<Quantity>| Some(per_run.as_ref()? * rate.runs_per_min.as_ref()?);
    let (input_per_min, output_per_min) = (per_min(&input_per_run), per_min(&output_per_run));
    let tokens_per_min = match (&input_per_min, &output_per_min) {
        (Some(input), Some(output)) => Some(input + output),
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    let requests_per_min = rate.runs_per_min.as_ref().map(|runs| runs * &calls_or_one);

    let demand: Vec<(&str, &Quantity)> = [
        ("requests_per_min", &requests_per_min),
        ("input_tokens_per_min", &input_per_min),
        ("output_tokens_per_min", &output_per_min),
        ("tokens_per_min", &tokens_per_min),
        ("concurrent", &rate.concurrent),
    ]
    .into_iter()
    .filter_map(|(dimension, demand)| Some((dimension, demand.as_ref()?)))
    .collect();
    let factor = input.p95_factor.clone().unwrap_or_else(Quantity::one);
    let with_headroom = Quantity::one() + input.headroom.clone().unwrap_or_default();
    let mut p95 = BTreeMap::new();
    let mut violations = Vec::new();
    for (dimension, demand) in &demand {
        let floor = *demand * &factor;
        let need = &floor * &with_headroom;
        if input.limits.iter().any(|limit| limit.dimension == *dimension && limit.value < need) {
            violations.push((*dimension).to_owned());
        }
        p95.insert(format!("p95_floor_{dimension}"), floor);
        p95.insert(format!("p95_need_{dimension}"), need);
    }

    let workers = Workers::of(input, requests_per_min.as_ref(), &demand, &with_headroom)?;
    Ok(SizeOutput {
        tokens_per_s: tokens_per_min.as_ref().and_then(|tokens| tokens.over(&60.into())),
        input_tokens_per_min: input_per_min.clone(),
        output_tokens_per_min: output_per_min.clone(),
        tokens_per_min: tokens_per_min.clone(),
        requests_per_min: requests_per_min.clone(),
        in_flight_p95: rate.in_flight.as_ref().map(|mean| poisson_quantile(mean.to_f64(), 0.95)),
        tools_in_flight: rate.in_flight.as_ref().and_then(|runs| Some(runs * input.parallel_tools.as_ref()?)),
        runs_per_min: rate.runs_per_min,
        in_flight: rate.in_flight,
        input_tokens_per_run: input_per_run,
        output_tokens_per_run: output_per_run,
        p95,
        workers: workers.as_ref().map(|workers| workers.mean),
        workers_with_headroom: workers.as_ref().map(|workers| workers.with_headroom),
        workers_fed: workers.as_ref().and_then(|workers| workers.fed),
        workers_idle: workers.as_ref().and_then(|workers| Some(workers.with_headroom - workers.fed?)),
        autoscale_min: workers.as_ref().map(|workers| workers.mean),
        autoscale_max: workers.as_ref().map(|workers| workers.with_headroom.saturating_mul(2)),
        mean_model_calls: calls,
        p95_model_calls: mix.as_ref().map(|mix| mix.p95_calls.clone()),
        mean_tools: input.tools.clone().or_else(|| mix.as_ref().map(|mix| mix.mean_tools.clone())),
        p95_tools: mix.as_ref().map(|mix| mix.p95_tools.clone()),
        unit_month_usd: input.unit_hour_usd.as_ref().map(|hour| hour * &HOURS_A_MONTH.into()),
        violations,
    })
}

/// The rate of runs and how many are inside, by Little's law from whichever was given.
#[derive(Default)]
struct Rate {
    runs_per_min: Option<Quantity>,
    /// Runs inside where a run's length is given, else calls.
    in_flight: Option<Quantity>,
    /// Calls inside where a call's length is given, else the same as `in_flight`.
    concurrent: Option<Quantity>,
}

impl Rate {
    fn of(input: &SizeInput, calls: &Quantity) -> Result<Self, SizeError> {
        let given: Vec<&'static str> =
            [("runs_per_min", &input.runs_per_min), ("rps", &input.rps), ("in_flight", &input.in_flight)]
                .into_iter()
                .filter_map(|(name, value)| value.as_ref().map(|_| name))
                .collect();
        if let [one, other, ..] = given.as_slice() {
            return Err(SizeError::TwoRates(one, other));
        }
        let minute = Quantity::from(60);
        // Both "runs inside" and "calls inside" are (something a second) x (its length).
        let length = match (&input.run_seconds, &input.service_seconds) {
            (Some(run), _) => Some(("run_seconds", run.clone())),
            (None, Some(service)) => Some(("service_seconds", service * calls)),
            (None, None) => None,
        };
        let runs_per_min = match (&input.in_flight, &length) {
            (Some(in_flight), Some((name, seconds))) => {
                Some((in_flight * &minute).over(seconds).ok_or(SizeError::Zero(name))?)
            }
            (Some(_), None) => None,
            (None, _) => input.runs_per_min.clone().or_else(|| Some(input.rps.as_ref()? * &minute)),
        };
        let inside = |seconds: &Quantity| (runs_per_min.as_ref()? * seconds).over(&minute);
        let in_flight = input.in_flight.clone().or_else(|| inside(&length.as_ref()?.1));
        let calls_inside = input.service_seconds.as_ref().and_then(|service| inside(&(service * calls)));
        let concurrent = calls_inside.or_else(|| in_flight.clone());
        Ok(Self { runs_per_min, in_flight, concurrent })
    }
}

/// Workers that serve calls at a fixed rate each.
struct Workers {
    mean: u64,
    with_headroom: u64,
    fed: Option<u64>,
}

impl Workers {
    fn of(
        input: &SizeInput,
        requests_per_min: Option<&Quantity>,
        demand: &[(&str, &Quantity)],
        with_headroom: &Quantity,
    ) -> Result<Option<Self>, SizeError> {
        let (Some(each), Some(requests)) = (&input.worker_rps, requests_per_min) else {
            return Ok(None);
        };
        let needed = requests.over(&(each * &60.into())).ok_or(SizeError::Zero("worker_rps"))?;
        let headed = (&needed * with_headroom).ceil();
        // What the tightest limit lets through, as a share of the demand, is the share of workers fed.
        let let_through = input
            .limits
            .iter()
            .filter_map(|limit| {
                let (_, demand) = demand.iter().find(|(dimension, _)| *dimension == limit.dimension)?;
                limit.value.over(demand)
            })
            .min();
        Ok(Some(Self {
            mean: needed.ceil(),
            with_headroom: headed,
            fed: let_through.map(|share| (needed * share).floor().min(headed)),
        }))
    }
}

/// Means and P95 of a mix of classes.
struct Mix {
    mean_calls: Quantity,
    p95_calls: Quantity,
    mean_tools: Quantity,
    p95_tools: Quantity,
}

impl Mix {
    fn of(parts: &[MixPart]) -> Result<Option<Self>, SizeError> {
        if parts.is_empty() {
            return Ok(None);
        }
        let total: Quantity = parts.iter().map(|part| part.share.clone()).sum();
        if total != Quantity::one() && total != 100.into() {
            return Err(SizeError::Shares(total));
        }
        let column = |value: fn(&MixPart) -> &Quantity| {
            let mut column: Vec<(&Quantity, &Quantity)> =
                parts.iter().map(|part| (value(part), &part.share)).collect();
            column.sort();
            let sum: Quantity = column.iter().map(|(value, share)| *value * *share).sum();
            let wanted = &total * &Quantity::ratio(95, 100).unwrap_or_default();
            let mut reached = Quantity::zero();
            let mut p95 = Quantity::zero();
            for (value, share) in column {
                p95 = value.clone();
                reached = &reached + share;
                if reached >= wanted {
                    break;
                }
            }
            (sum.over(&total).unwrap_or_default(), p95)
        };
        let (mean_calls, p95_calls) = column(|part| &part.calls);
        let (mean_tools, p95_tools) = column(|part| &part.tools);
        Ok(Some(Self { mean_calls, p95_calls, mean_tools, p95_tools }))
    }
}
