//! What the workflows that run at one instant draw from one limit.
//!
//! `rate x draw per run`, summed over workflows, at the mean and at the policy's percentile, by
//! admission and by settlement. Leaves headroom, limits and dates to `need`. The invariant: exact
//! sums, and both stages from the same runs.

use std::collections::BTreeMap;

use plimsoll_catalog::{Dimension, Measure};

use crate::context::{Context, PoolId, mean};
use crate::quantity::Quantity;
use crate::queue::poisson_quantile;
use crate::rates::Rates;
use crate::{InFlightMeasured, RunDraw, Stat, WorkflowMeasured};

/// Event runs below which a workflow's draw is taken from all its runs.
pub(crate) const ENOUGH_EVENT_RUNS: u64 = 20;

/// What one limit counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Counted {
    /// Name of the dimension.
    pub(crate) dimension: String,
    pub(crate) kind: Kind,
    /// Window of the limit, seconds.
    pub(crate) window_s: u32,
}

/// Which arithmetic a dimension has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A measure a minute: `requests`, `input_tokens`, `output_tokens`, `tokens`.
    PerMinute(String),
    /// A measure a day.
    PerDay(String),
    /// Calls inside at once.
    Concurrent,
    /// Nothing that runs can be held against: units, enqueued tokens.
    Other,
}

impl Counted {
    /// A dimension by its name alone, where no catalog row tells.
    pub(crate) fn named(dimension: &str) -> Self {
        let kind = match dimension.strip_suffix("_per_min").map(|measure| (measure, 60)) {
            Some((measure, _)) => Kind::PerMinute(measure.to_owned()),
            None => match dimension.strip_suffix("_per_day") {
                Some(measure) => Kind::PerDay(measure.to_owned()),
                None if dimension == "concurrent" => Kind::Concurrent,
                None => Kind::Other,
            },
        };
        let window_s = match kind {
            Kind::PerMinute(_) => 60,
            Kind::PerDay(_) => 86_400,
            Kind::Concurrent | Kind::Other => 0,
        };
        Self { dimension: dimension.to_owned(), kind, window_s }
    }

    /// A dimension as the catalog describes it.
    pub(crate) fn described(dimension: &Dimension) -> Self {
        let kind = match dimension.counts {
            Measure::Concurrent if dimension.name == "concurrent" => Kind::Concurrent,
            Measure::Concurrent | Measure::EnqueuedTokens | Measure::Jobs | Measure::Usd => Kind::Other,
            measure if dimension.window_s > 3600 => Kind::PerDay(measure.to_string()),
            measure => Kind::PerMinute(measure.to_string()),
        };
        Self { dimension: dimension.name.clone(), kind, window_s: dimension.window_s }
    }
}

/// The demand on one limit at one instant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Demand {
    /// Mean draw x rate, of the stage that binds.
    pub(crate) mean: Quantity,
    /// Percentile draw x rate, of the stage that binds.
    pub(crate) floor: Quantity,
    /// The same at the rates that the forecast stays below at P95: more than the floor where rates
    /// were forecast. Workflows are summed, since what makes one grow makes others grow.
    pub(crate) high: Quantity,
    /// `admission` or `settlement`: whichever asks for more.
    pub(crate) basis: &'static str,
    /// Percentile draw x rate at admission, where metered.
    pub(crate) admission: Option<Quantity>,
    /// Percentile draw x rate at settlement, where metered.
    pub(crate) settlement: Option<Quantity>,
    /// Workflows that draw, largest floor first.
    pub(crate) parts: Vec<Part>,
}

impl Demand {
    /// What a need is over what serves the expected rates: headroom is for what no forecast tells, so it
    /// is not put on top of the forecast's interval, and the larger of the two counts.
    pub(crate) fn margin(&self, context: &Context<'_>) -> Quantity {
        context.with_headroom().max(self.high.over(&self.floor).unwrap_or_default())
    }
}

/// One workflow's part of a demand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) workflow: String,
    pub(crate) floor: Quantity,
    /// Runs behind the percentile.
    pub(crate) n: u64,
    /// As [`crate::rates::Rate::from`].
    pub(crate) rate_from: &'static str,
    /// Weight of own occurrences in the rate, where past ones were used.
    pub(crate) own_weight: Option<f64>,
}

/// What one run of a workflow draws from a pool, at the mean and at the percentile.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PerRun {
    pub(crate) mean: Quantity,
    pub(crate) percentile: Quantity,
    pub(crate) n: u64,
    /// Whether these are the event's own runs.
    pub(crate) of_event: bool,
}

/// A run's draw in one measure (`settlement.input_tokens`): of the event's own runs where there are
/// enough of them, else of all. `None` where no run has a value.
pub(crate) fn per_run(
    context: &Context<'_>,
    workflow: &WorkflowMeasured,
    pool: &PoolId,
    measure: &str,
    event: Option<&str>,
) -> Option<PerRun> {
    let stat = |draws: &[RunDraw]| -> Option<Stat> {
        let draw = draws.iter().find(|draw| {
            // Measures differ most, and pools are long.
            draw.measure == measure
                && draw.pool == pool.pool
                && draw.account == pool.account
                && draw.region == pool.region
        })?;
        (draw.per_run.n > 0).then(|| draw.per_run.clone())
    };
    let own = event
        .and_then(|event| stat(workflow.event_draws.get(event)?))
        .filter(|stat| stat.n >= ENOUGH_EVENT_RUNS);
    let of_event = own.is_some();
    let stat = own.or_else(|| stat(&workflow.draws))?;
    Some(PerRun { mean: mean(&stat)?, percentile: context.percentile(&stat), n: stat.n, of_event })
}

/// What runs draw from a pool of one limit, looked up once for all the instants that are compared.
#[derive(Debug)]
pub(crate) struct Draws<'c> {
    context: &'c Context<'c>,
    pool: &'c PoolId,
    kind: &'c Kind,
    admission: OfStage<'c>,
    settlement: OfStage<'c>,
}

impl<'c> Draws<'c> {
    pub(crate) fn new(context: &'c Context<'c>, pool: &'c PoolId, counted: &'c Counted) -> Self {
        let measure = match &counted.kind {
            Kind::PerMinute(measure) | Kind::PerDay(measure) => Some(measure.as_str()),
            Kind::Concurrent => Some("requests"),
            Kind::Other => None,
        };
        let stage = |stage: &str| {
            let measure = measure.map(|measure| format!("{stage}.{measure}"));
            measure.map(|measure| OfStage::new(context, pool, &measure)).unwrap_or_default()
        };
        let (admission, settlement) = (stage("admission"), stage("settlement"));
        Self { context, pool, kind: &counted.kind, admission, settlement }
    }

    /// The demand at these rates. `None` where nothing is known to draw.
    pub(crate) fn at(&self, rates: &Rates<'_>) -> Option<Demand> {
        match self.kind {
            Kind::PerMinute(_) | Kind::PerDay(_) => self.drawn(rates),
            Kind::Concurrent => self.concurrent(rates),
            Kind::Other => None,
        }
    }

    /// Both stages; the larger floor binds, settlement where they are equal.
    fn drawn(&self, rates: &Rates<'_>) -> Option<Demand> {
        let (admission, settlement) = (self.admission.sum(rates), self.settlement.sum(rates));
        let floors = (
            admission.as_ref().map(|stage| stage.floor.clone()),
            settlement.as_ref().map(|stage| stage.floor.clone()),
        );
        let (basis, stage) = match (admission, settlement) {
            (Some(admission), Some(settlement)) if admission.floor > settlement.floor => {
                ("admission", admission)
            }
            (_, Some(settlement)) => ("settlement", settlement),
            (Some(admission), None) => ("admission", admission),
            (None, None) => return None,
        };
        Some(Demand {
            mean: stage.mean,
            floor: stage.floor,
            high: stage.high,
            basis,
            admission: floors.0,
            settlement: floors.1,
            parts: stage.parts,
        })
    }

    /// Calls inside at once: mean by Little's law, floor by the Poisson P95 of it.
    fn concurrent(&self, rates: &Rates<'_>) -> Option<Demand> {
        let requests = self.drawn(rates)?;
        let inside = calls_inside(self.context, self.pool, &requests.mean)?;
        let share = |part: Part| Part {
            floor: (&part.floor * &inside).over(&requests.floor).unwrap_or_default(),
            ..part
        };
        // As many more calls are inside as runs start, where the forecast's rates hold.
        let high = (&inside * &requests.high).over(&requests.floor).unwrap_or_else(|| inside.clone());
        Some(Demand {
            floor: poisson_quantile(inside.to_f64(), 0.95).into(),
            high: poisson_quantile(high.to_f64(), 0.95).into(),
            basis: "admission",
            admission: None,
            settlement: None,
            parts: requests.parts.into_iter().map(share).collect(),
            mean: inside,
        })
    }
}

/// The demand on a pool in one dimension, at these rates. `None` where nothing is known to draw.
pub(crate) fn demand(
    context: &Context<'_>,
    pool: &PoolId,
    counted: &Counted,
    rates: &Rates<'_>,
) -> Option<Demand> {
    Draws::new(context, pool, counted).at(rates)
}

/// What runs draw at one stage, by workflow.
#[derive(Debug, Default)]
struct OfStage<'c>(BTreeMap<&'c str, OfWorkflow<'c>>);

/// What runs of one workflow draw: all of them, and by event those of events with enough runs of their own.
#[derive(Debug)]
struct OfWorkflow<'c> {
    all: Option<PerRun>,
    own: BTreeMap<&'c str, PerRun>,
}

impl<'c> OfStage<'c> {
    fn new(context: &'c Context<'c>, pool: &PoolId, measure: &str) -> Self {
        let of = |workflow: &'c WorkflowMeasured| {
            let own = workflow.event_draws.keys().filter_map(|event| {
                let own = per_run(context, workflow, pool, measure, Some(event))?;
                own.of_event.then_some((event.as_str(), own))
            });
            let all = per_run(context, workflow, pool, measure, None);
            (workflow.workflow.as_str(), OfWorkflow { all, own: own.collect() })
        };
        Self(context.index.drawing(pool).iter().map(|workflow| of(workflow)).collect())
    }

    /// What all that runs at these rates draws; none where nothing does.
    fn sum(&self, rates: &Rates<'_>) -> Option<Stage> {
        let zero = Quantity::zero;
        let mut sum = Stage { mean: zero(), floor: zero(), high: zero(), parts: Vec::new() };
        for (name, rate) in rates {
            let Some(of) = self.0.get(name) else { continue };
            let own = rate.event.as_deref().and_then(|event| of.own.get(event));
            let Some(draw) = own.or(of.all.as_ref()) else { continue };
            let floor = &draw.percentile * &rate.per_min;
            sum.mean = &sum.mean + &(&draw.mean * &rate.per_min);
            sum.floor = &sum.floor + &floor;
            sum.high = &sum.high + &(&draw.percentile * &rate.high);
            sum.parts.push(Part {
                workflow: (*name).to_owned(),
                floor,
                n: draw.n,
                rate_from: rate.from,
                own_weight: rate.own_weight,
            });
        }
        if sum.parts.is_empty() {
            return None;
        }
        sum.parts.sort_by(|one, other| {
            other.floor.cmp(&one.floor).then_with(|| one.workflow.cmp(&other.workflow))
        });
        Some(sum)
    }
}

struct Stage {
    mean: Quantity,
    floor: Quantity,
    high: Quantity,
    parts: Vec<Part>,
}

/// How each workflow's part of a demand came about, a sentence each, in the order of the parts.
pub(crate) fn explain(
    context: &Context<'_>,
    pool: &PoolId,
    counted: &Counted,
    demand: &Demand,
    rates: &Rates<'_>,
) -> Vec<String> {
    let (Kind::PerMinute(measure) | Kind::PerDay(measure)) = &counted.kind else { return Vec::new() };
    let measure = format!("{}.{measure}", demand.basis);
    let sentence = |part: &Part| {
        let rate = rates.get(part.workflow.as_str())?;
        let draw =
            per_run(context, context.workflow(&part.workflow)?, pool, &measure, rate.event.as_deref())?;
        Some(format!(
            "{}: {}; a run draws {} on average and {} at {} (n = {} {}), so {}",
            part.workflow,
            rate.how,
            draw.mean,
            draw.percentile,
            context.percentile_name(),
            draw.n,
            if draw.of_event { "runs of its past occurrences" } else { "runs" },
            part.floor,
        ))
    };
    demand.parts.iter().filter_map(sentence).collect()
}

/// Mean calls inside a pool at this many requests a minute, by the measured mean length of its calls.
/// `None` where no call was measured.
pub(crate) fn calls_inside(
    context: &Context<'_>,
    pool: &PoolId,
    requests_per_min: &Quantity,
) -> Option<Quantity> {
    Some(requests_per_min * &calls_minutes(context, pool)?)
}

/// Mean length of a pool's calls, minutes. `None` where no call was measured.
pub(crate) fn calls_minutes(context: &Context<'_>, pool: &PoolId) -> Option<Quantity> {
    let mut measured = context.measured().in_flight.iter();
    mean_minutes(measured.find(|at| at.boundary == "model" && at.name == pool.pool)?)
}

/// Mean length of what was in flight, minutes. `None` where nothing started.
pub(crate) fn mean_minutes(at: &InFlightMeasured) -> Option<Quantity> {
    Quantity::ratio(at.busy_us, at.starts)?.over(&60_000_000.into())
}
