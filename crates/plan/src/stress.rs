//! What breaks if a guess is wrong: the binding instants replayed under stresses and scenarios.
//!
//! Each is replayed at the limits that the plan asks for. Limits that do not even hold what is expected
//! are told by the decisions already, and are left open here, so that a stress shows what it adds. The
//! invariant: an answer comes from a replay; where there is nothing to replay there is no answer.

use std::collections::BTreeSet;

use jiff::Timestamp;
use plimsoll_replay::{Case, Outcome, World, missed};
use rayon::prelude::*;
use rust_decimal::Decimal;

use crate::cast::Cast;
use crate::change::Change;
use crate::context::{Context, PoolId};
use crate::pools::{PoolWork, all_counted, limit_signed};
use crate::quantity::Quantity;
use crate::rates::{Rates, Rhythm};
use crate::replayed::targets;
use crate::stage::{Stage, usd};
use crate::timeline::week;
use crate::{ScenarioResult, StressResult};

/// Instants that are looked at: those that bind a pool, and the busiest hour of each pool that has a fallback,
/// the earliest first.
const INSTANTS: usize = 6;

/// Replays of an instant, and minutes of each at most.
const SEEDS: u64 = 2;
const MINUTES: f64 = 30.0;

/// Calls of one replay: enough to tell one in a thousand.
const CALLS: f64 = 30_000.0;

/// Factors of a success burst that are tried, in percent.
const BURSTS: [u64; 6] = [150, 200, 300, 500, 800, 1000];

/// One instant, with the limits that hold what is expected of it.
struct Scene<'a> {
    at: Timestamp,
    rates: Rates<'a>,
    /// By place in the world's quotas: whether it holds what is expected.
    holds: Vec<bool>,
    usd_an_hour: Option<Decimal>,
}

/// What one replay of a scene came to.
struct Seen {
    holds: bool,
    breaks: Option<(String, String)>,
    queue_per_min: f64,
    tiers: Vec<u8>,
    usd_an_hour: Option<Decimal>,
}

/// Stresses and scenarios, in their order.
pub(crate) fn stress(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    pools: &[PoolWork],
) -> (Vec<StressResult>, Vec<ScenarioResult>) {
    let theatre = Theatre { context, pools, stage: Stage::of(context, all_counted(context)) };
    let scenes = theatre.scenes(rhythm);
    if scenes.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let stresses = stresses(context);
    let stresses = stresses.par_iter().map(|stress| theatre.under(&scenes, stress)).collect::<Vec<_>>();
    (stresses.into_iter().flatten().collect(), theatre.scenarios(&scenes))
}

/// One stress.
struct Stress {
    name: String,
    change: Change,
    limits_percent: u64,
    price_percent: u64,
}

impl Stress {
    fn of(name: &str, change: Change) -> Self {
        Self { name: name.to_owned(), change, limits_percent: 100, price_percent: 100 }
    }
}

/// The stresses of the policy, and the loss of each pool that has a fallback.
fn stresses(context: &Context<'_>) -> Vec<Stress> {
    let change = Change::default;
    let shock = (&context.spec().policy.price_shock * &Quantity::from(100)).ceil();
    let mut found = vec![
        Stress { limits_percent: 70, ..Stress::of("limits -30 %", change()) },
        Stress::of("latency x2", Change { latency_percent: 200, ..change() }),
        Stress::of("fan-out x2", Change { wider: true, ..change() }),
        Stress::of("retrieved context +50 %", Change { input_percent: 150, ..change() }),
        Stress::of("retries 10 %", Change { repeated_every: Some(10), ..change() }),
        Stress::of("tail-heavy mix", Change { tail_times: 4, ..change() }),
        Stress::of("tools slow x3", Change { think_percent: 300, ..change() }),
        Stress::of("a tool fails: one call in five again", Change { repeated_every: Some(5), ..change() }),
        Stress::of("cache lost", Change { cache_lost: true, ..change() }),
        Stress { price_percent: 100 + shock, ..Stress::of(&format!("price +{shock} %"), change()) },
    ];
    let ids = context.pools();
    for spec in &context.spec().pools {
        let Some(fallback) = &spec.fallback else { continue };
        let of = |key: &str| ids.iter().find(|id| id.pool == key).cloned();
        if let (Some(lost), Some(instead)) = (of(&spec.key), of(&fallback.pool)) {
            let name = format!("{} lost to its fallback", spec.key);
            found.push(Stress::of(&name, Change { lost: Some((lost, instead)), ..change() }));
        }
    }
    found
}

struct Theatre<'a> {
    context: &'a Context<'a>,
    pools: &'a [PoolWork],
    stage: Stage<'a>,
}

impl Theatre<'_> {
    /// The instants that bind a pool, each with what holds there as expected.
    fn scenes<'r>(&self, rhythm: &Rhythm<'r>) -> Vec<Scene<'r>> {
        let with_fallback =
            |pool: &&PoolWork| self.context.pool_spec(&pool.id).is_some_and(|spec| spec.fallback.is_some());
        let week = self.week(rhythm);
        let busiest = self.pools.iter().filter(with_fallback);
        let busiest = busiest.filter_map(|pool| self.busiest_hour(&week, &pool.id));
        let instants: BTreeSet<Timestamp> =
            self.pools.iter().filter_map(|pool| pool.binding()?.at).chain(busiest).collect();
        let scene = |at: Timestamp| {
            let world = self.world(at, 100);
            let holds = vec![true; world.quotas.len()];
            let mut scene = Scene { at, rates: rhythm.at(at), holds, usd_an_hour: None };
            let (cast, cases) = staged(&self.stage, &scene.rates)?;
            // What does not hold is opened, the worst first, until the rest does.
            for _ in 0..world.quotas.len() {
                let outcomes = outcomes(&cast, &cases, &world, &scene.holds)?;
                scene.usd_an_hour = usd_an_hour(&outcomes);
                if self.suffering(&outcomes).is_empty() {
                    break;
                }
                let (pool, dimension) = worst(&outcomes)?;
                let pool = world.pools.iter().find(|known| known.name == pool)?;
                let place = pool.quota_of(&world.quotas, &dimension)?;
                *scene.holds.get_mut(place)? = false;
            }
            Some(scene)
        };
        let instants: Vec<Timestamp> = instants.into_iter().take(INSTANTS).collect();
        instants.into_par_iter().filter_map(scene).collect()
    }

    /// What runs in each hour of the coming week.
    fn week<'r>(&self, rhythm: &Rhythm<'r>) -> Vec<(Timestamp, Rates<'r>)> {
        week(self.context).map(|at| (at, rhythm.at(at))).collect()
    }

    /// The earliest hour of the week at which most runs start that draw on a pool; `None` where none does.
    fn busiest_hour(&self, week: &[(Timestamp, Rates<'_>)], pool: &PoolId) -> Option<Timestamp> {
        let draws = |name: &str| {
            let workflow = self.context.workflow(name);
            workflow.is_some_and(|workflow| workflow.draws.iter().any(|draw| draw.pool == pool.pool))
        };
        let runs = |rates: &Rates<'_>| -> Quantity {
            rates.iter().filter(|(name, _)| draws(name)).map(|(_, rate)| rate.per_min.clone()).sum()
        };
        // Of equal hours the last is taken, so the earliest comes last.
        let hours = week.iter().rev().map(|(at, rates)| (runs(rates), *at));
        let busiest = hours.max_by(|one, other| one.0.cmp(&other.0));
        busiest.filter(|(runs, _)| !runs.is_zero()).map(|(_, at)| at)
    }

    /// One stress over all scenes: the first that it breaks, else the last that it holds at.
    fn under(&self, scenes: &[Scene<'_>], stress: &Stress) -> Option<StressResult> {
        let mut result = StressResult {
            stress: stress.name.clone(),
            holds: true,
            breaks: None,
            pool: None,
            first: None,
            queue_per_min: None,
            tiers: Vec::new(),
            cost_usd: None,
        };
        let stage = self.stage.changed(stress.change.clone());
        let mut seen_any = false;
        for scene in scenes {
            let Some(seen) = self.see(scene, &stage, stress.limits_percent) else { continue };
            seen_any = true;
            let usd =
                seen.usd_an_hour.map(|usd| usd * Decimal::from(stress.price_percent) / Decimal::from(100));
            let more = usd.zip(scene.usd_an_hour).map(|(usd, before)| (usd - before).round_dp(2).to_string());
            if result.holds {
                result.cost_usd = more;
            }
            if !seen.holds && result.holds {
                result.holds = false;
                result.first = Some(scene.at);
                result.tiers = seen.tiers;
                result.queue_per_min = Some((seen.queue_per_min * 10.0).round() / 10.0);
                (result.pool, result.breaks) = seen.breaks.unzip();
            }
        }
        seen_any.then_some(result)
    }

    fn scenarios(&self, scenes: &[Scene<'_>]) -> Vec<ScenarioResult> {
        let holds = |change: Change| {
            let stage = self.stage.changed(change);
            scenes.iter().filter_map(|scene| self.see(scene, &stage, 100)).all(|seen| seen.holds)
        };
        let rate = |percent| Change { rate_percent: percent, ..Change::default() };
        let expected = scenes.iter().all(|scene| scene.holds.iter().all(|holds| *holds));
        let breaking = BURSTS.into_iter().find(|percent| !holds(rate(*percent)));
        let most = breaking.unwrap_or(BURSTS[BURSTS.len() - 1]);
        let amplified = Change { repeated_every: Some(3), ..rate(150) };
        vec![
            ScenarioResult { scenario: "expected".to_owned(), factor: 1.0, holds: expected },
            ScenarioResult {
                scenario: "success burst".to_owned(),
                factor: most as f64 / 100.0,
                holds: breaking.is_none(),
            },
            ScenarioResult {
                scenario: "failure amplification: half as many runs again, one call in three twice"
                    .to_owned(),
                factor: 2.0,
                holds: holds(amplified),
            },
        ]
    }

    fn see(&self, scene: &Scene<'_>, stage: &Stage, limits_percent: u64) -> Option<Seen> {
        let (cast, cases) = staged(stage, &scene.rates)?;
        let outcomes = outcomes(&cast, &cases, &self.world(scene.at, limits_percent), &scene.holds)?;
        let tiers = self.suffering(&outcomes);
        let growth = |outcome: &Outcome| {
            outcome.tiers.iter().map(|tier| tier.summary.queue_growth_per_min).sum::<f64>()
        };
        Some(Seen {
            holds: tiers.is_empty(),
            breaks: if tiers.is_empty() { None } else { worst(&outcomes) },
            queue_per_min: outcomes.iter().map(growth).fold(0.0, f64::max),
            tiers,
            usd_an_hour: usd_an_hour(&outcomes),
        })
    }

    /// The limits that the plan asks for, or a part of them.
    fn world(&self, at: Timestamp, percent: u64) -> World {
        let day = self.context.input.calendar.local_date(at);
        self.stage.world(|id, counted| {
            let most = limit_signed(self.context, self.pools, id, counted, day)?;
            u64::try_from(u128::from(most) * u128::from(percent) / 100).ok()
        })
    }

    /// Tiers of which more is throttled or lost than the policy allows, under any of the seeds.
    fn suffering(&self, outcomes: &[Outcome]) -> Vec<u8> {
        let targets = targets(self.context);
        let tiers: BTreeSet<u8> = outcomes.iter().flat_map(|outcome| missed(&targets, outcome)).collect();
        tiers.into_iter().collect()
    }
}

/// Who comes on stage at these rates, and when.
fn staged(stage: &Stage<'_>, rates: &Rates<'_>) -> Option<(Cast, Vec<Case>)> {
    let cast = stage.cast(rates)?;
    let minutes = (CALLS / cast.calls_per_min.max(f64::MIN_POSITIVE)).clamp(1.0, MINUTES);
    let cases = cast.cases(minutes, SEEDS)?;
    Some((cast, cases))
}

/// What comes of it at the limits that hold what is expected, the others being open.
fn outcomes(cast: &Cast, cases: &[Case], world: &World, holds: &[bool]) -> Option<Vec<Outcome>> {
    let mut world = world.clone();
    for (quota, holds) in world.quotas.iter_mut().zip(holds) {
        if !holds {
            quota.most = u64::MAX;
        }
    }
    cast.played(&world, cases)
}

/// The pool and the dimension that turned most away.
fn worst(outcomes: &[Outcome]) -> Option<(String, String)> {
    let limits = outcomes.iter().flat_map(|outcome| &outcome.pools);
    let most = limits.max_by_key(|limit| limit.throttled).filter(|limit| limit.throttled > 0)?;
    Some((most.pool.clone(), most.dimension.clone()))
}

/// Dollars an hour at the instant; `None` where nothing on stage has a price.
fn usd_an_hour(outcomes: &[Outcome]) -> Option<Decimal> {
    let first = outcomes.first().filter(|outcome| outcome.nano_usd > 0)?;
    let micros = Decimal::from(first.until_us.0 - first.from_us.0);
    usd(first.nano_usd)?.checked_mul(Decimal::from(3_600_000_000_u64))?.checked_div(micros)
}
