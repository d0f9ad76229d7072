//! All charts of a report, and the shapes that they share.

use std::collections::BTreeSet;

use super::{admission, busy_minute, draw, hours, need, reservation, runs, scorecard, series, series::Drawn};
use jiff::civil::Date;
use plimsoll_plan::{DimensionPlan, Measured, Plan, PoolPlan};
use serde::Serialize;

use crate::{charts::Label, format::count, local::Local, names};

/// A chart with everything that stands around it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    /// Its `id`, its `title` and its `desc`, for the page as for the drawing.
    #[serde(flatten)]
    pub(crate) label: Label,
    /// Measure, window, period, place, n.
    pub(crate) subtitle: String,
    /// The drawing.
    pub(crate) svg: String,
    /// The same figures as a table.
    pub(crate) table: Table,
    /// Where the figures can be looked up: SQL, or a place in `plan.json`.
    pub(crate) source: String,
}

/// A small table of texts.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Table {
    /// Heads of the columns.
    pub(crate) head: Vec<&'static str>,
    /// How many columns from the left hold text; the others hold numbers.
    pub(crate) text_columns: usize,
    /// Rows.
    pub(crate) rows: Vec<Vec<String>>,
}

/// All charts of a report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figures {
    /// One per pool that matters, with the steps to each of its requests.
    pub(crate) pools: Vec<PoolFigures>,
    /// The forecast held against what happened.
    pub(crate) scorecard: Option<Figure>,
    /// Load-duration curves.
    pub(crate) reservations: Vec<Figure>,
    /// Hour by weekday.
    pub(crate) hours: Vec<Figure>,
    /// Tokens per run.
    pub(crate) runs: Option<Figure>,
}

/// The charts of one pool.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PoolFigures {
    /// Draw against limit.
    pub(crate) draw: Option<Figure>,
    /// The busiest minute by workflow.
    pub(crate) minute: Option<Figure>,
    /// What is reserved against what is used, where those differ.
    pub(crate) admission: Option<Figure>,
    /// Why each ask is what it is.
    pub(crate) needs: Vec<Need>,
}

/// A waterfall with the derivation of its figures.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Need {
    /// The chart.
    pub(crate) figure: Figure,
    /// How the figure came about, a line a step.
    pub(crate) derivation: Vec<String>,
}

/// Most pools that get charts of their own; the others are in the table of limits.
pub(super) const MOST_POOLS: usize = 4;

/// Most pools whose hours of the week are drawn, side by side.
const MOST_HOURS: usize = 2;

/// Use of a limit at P95 from which a pool is drawn although nothing needs to be decided.
pub(super) const WORTH_DRAWING: f64 = 0.5;

impl Figures {
    pub(crate) fn new(plan: &Plan, measured: &Measured, local: &Local) -> Self {
        let known = series::known_days(measured, local);
        let (mut pools, mut hours) = (Vec::new(), Vec::new());
        for (i, pool) in pools_that_matter(plan).into_iter().enumerate() {
            let drawn = series::drawn(pool, measured);
            let figures = pool_figures(i + 1, plan, pool, drawn.as_ref(), measured, &known, local);
            if figures.draw.is_some() || !figures.needs.is_empty() {
                pools.push(figures);
            }
            if hours.len() < MOST_HOURS {
                hours.extend(drawn.and_then(|drawn| hours::figure(i + 1, &drawn, &known, local)));
            }
        }
        Self {
            pools,
            scorecard: scorecard::figure(plan, local),
            reservations: reservation::figures(plan, local),
            hours,
            runs: runs::figure(plan, local),
        }
    }
}

pub(super) fn pool_figures(
    number: usize,
    plan: &Plan,
    pool: &PoolPlan,
    drawn: Option<&Drawn<'_>>,
    measured: &Measured,
    known: &BTreeSet<Date>,
    local: &Local,
) -> PoolFigures {
    let asked = |d: &&DimensionPlan| {
        plan.quota_requests
            .iter()
            .any(|r| r.pool == pool.pool && r.account == pool.account && r.dimension == d.dimension)
    };
    PoolFigures {
        draw: drawn.and_then(|drawn| draw::figure(number, plan, drawn, measured, known, local)),
        minute: drawn.and_then(|drawn| busy_minute::figure(number, plan, drawn, local)),
        admission: drawn.and_then(|drawn| admission::figure(number, drawn, known, local)),
        needs: pool
            .dimensions
            .iter()
            .filter(asked)
            .enumerate()
            .filter_map(|(i, d)| need::figure(&format!("need-{number}-{}", i + 1), pool, d, local))
            .collect(),
    }
}

/// How pressing a limit is: 2 where a request is to be filed, 1 where a setting is to be changed.
pub(crate) fn urgency(dimension: &DimensionPlan) -> u8 {
    match needs_action(dimension) {
        true if dimension.fix_first => 1,
        true => 2,
        false => 0,
    }
}

/// Pools with something to file first, then those with something to change, then those close to a limit; the closest one where there
/// is neither, so that a report never goes without the chart of draw against limit.
pub(super) fn pools_that_matter(plan: &Plan) -> Vec<&PoolPlan> {
    let pressing = |pool: &&PoolPlan| {
        let decided = pool.dimensions.iter().map(urgency).max().unwrap_or(0);
        (decided, closest(pool))
    };
    let mut pools: Vec<&PoolPlan> = plan.pools.iter().collect();
    pools.sort_by(|a, b| {
        let (a, b) = (pressing(a), pressing(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let worth = pools.iter().filter(|p| pressing(p).0 > 0 || pressing(p).1 >= WORTH_DRAWING).count();
    pools.truncate(worth.clamp(1, MOST_POOLS));
    pools
}

/// Largest use of any of the pool's limits at P95.
pub(super) fn closest(pool: &PoolPlan) -> f64 {
    pool.dimensions.iter().filter_map(|d| d.utilization_p95).fold(0.0, f64::max)
}

/// Whether somebody has to do something about this limit: file a request, or change a setting.
pub(crate) fn needs_action(dimension: &DimensionPlan) -> bool {
    dimension.fix_first || matches!(dimension.decision.as_str(), "file_now" | "late" | "planned")
}

/// What a dimension's percentiles are over: "1,204 runs", "30,240 busy minutes".
pub(crate) fn sample(dimension: &DimensionPlan) -> String {
    if of_minutes(dimension) {
        count(dimension.n, "busy minute", "busy minutes")
    } else {
        count(dimension.n, "run", "runs")
    }
}

/// Whether the demand is that of the history's busy minutes, not of runs at a rate.
pub(crate) fn of_minutes(dimension: &DimensionPlan) -> bool {
    dimension.rate_from == "measured" && dimension.event.is_none()
}

/// A pool's model and where it is, for subtitles.
pub(crate) fn whereabouts(pool: &PoolPlan) -> String {
    names::whereabouts(&pool.pool, pool.account.as_deref(), pool.region.as_deref())
}

/// A text as an SQL literal.
pub(crate) fn sql_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
