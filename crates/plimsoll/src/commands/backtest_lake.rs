//! The planner's own needs, made from the first part of a lake and held against the rest, pool by pool.
//!
//! Leaves planning to `plan` and scores to `backtest`. Invariants: a plan sees what started before its
//! origin and nothing else; of the spec's events it takes the dates, and not the rates that somebody
//! wrote down who may have known how it went.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plimsoll_backtest::{Call, Issued, Method, Period, Score, Trace, score};
use plimsoll_plan::{EventRate, LEAST_URGENT, LargestNeed, PlanInput, Span, Spec, largest_needs, windows};
use plimsoll_profile::{PoolCall, PoolCalls, Reader, measure, pool_calls};
use plimsoll_replay::{Draw, Micros};

use super::ground::{self, Plans};
use crate::{calendars, failure::Failure, open, progress::Progress, settings::Settings};

/// Where the spec is, unless it is named: beside the lake.
const SPEC: &str = "plan.toml";
/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// Scores of every pool and limit of a lake.
///
/// # Errors
/// A lake or a spec that cannot be read, or a lake with too little history.
pub(super) async fn backtest_lake(
    settings: &Settings,
    lake: &str,
    spec: Option<&Path>,
    progress: &Progress,
) -> Result<Vec<Score>, Failure> {
    let settings = settings.of_lake(lake);
    let Plans { mut spec, ledger, calendar } = match spec.map(Path::to_owned).or_else(|| beside(lake)) {
        Some(file) => ground::plans(&settings, &file)?,
        None => {
            let spec = Spec::default();
            let policy = &spec.policy;
            let calendar =
                calendars::calendar(&settings, &policy.holidays, Some(&policy.time_zone), Path::new(""))?;
            Plans { spec, ledger: Default::default(), calendar }
        }
    };
    for event in &mut spec.events {
        event.workflows.values_mut().for_each(|rate| *rate = EventRate::default());
    }
    let lake = open::existing_lake(&settings).await?;
    let sessions = open::sessions(&settings)?;
    let reader = Reader::pinned(&lake, &sessions).await?;
    let pools = pool_calls(&reader, &sessions).await?;
    let calls = || pools.iter().flat_map(|pool| &pool.calls).map(|call| micros(call.wanted_us));
    let (Some(first), Some(last)) = (calls().min(), calls().max()) else {
        return Err(Failure::no_data(
            "the lake holds no call of a known pool: send telemetry, then run `plimsoll profile`",
        ));
    };
    let period = Period::between(first, last);
    let places = period.origins(settings.lake()).map_err(Failure::no_data)?;
    let mut needs: Vec<Vec<LargestNeed>> = Vec::new();
    for (nth, place) in (1..).zip(&places) {
        progress.say(&format!("{}: plan {nth} of {}", settings.lake(), places.len()));
        let as_of = instant(period.start(*place))?;
        let rest_s = instant(period.end())?.duration_since(as_of).as_secs();
        spec.policy.horizon = Span::of_days(u32::try_from(rest_s / DAY_S + 1).unwrap_or(u32::MAX));
        let windows = windows(&spec, &calendar, as_of).map_err(Failure::input)?;
        let measured = measure(&reader, &sessions, &windows).await?;
        let input = PlanInput {
            spec: &spec,
            spec_sha256: &spec.sha256,
            ledger: &ledger,
            catalog: sessions.policy().catalog(),
            calendar: &calendar,
            measured: &measured,
            as_of,
            quick: false,
        };
        needs.push(largest_needs(&input).map_err(Failure::input)?);
    }
    let mut scores = Vec::new();
    for pool in &pools {
        let alone = pools.iter().filter(|other| other.pool == pool.pool).count() == 1;
        let name = if alone { pool.pool.clone() } else { full_name(pool) };
        scores.extend(pool_scores(&spec, (&name, pool), period, &places, &needs)?);
    }
    Ok(scores)
}

/// The spec beside a lake.
fn beside(lake: &str) -> Option<PathBuf> {
    let file = Path::new(lake).parent()?.join(SPEC);
    file.is_file().then_some(file)
}

/// A pool's key with its account and region, where a key alone is not enough.
fn full_name(pool: &PoolCalls) -> String {
    let parts = [Some(&pool.pool), pool.account.as_ref(), pool.region.as_ref()];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Scores of what the latest plan says that one pool counts.
fn pool_scores(
    spec: &Spec,
    (name, pool): (&str, &PoolCalls),
    period: Period,
    places: &[usize],
    needs: &[Vec<LargestNeed>],
) -> Result<Vec<Score>, Failure> {
    let of_pool = |need: &&LargestNeed| {
        (&need.pool, &need.account, &need.region) == (&pool.pool, &pool.account, &pool.region)
    };
    let tiers: Vec<Option<u8>> =
        pool.workflows.iter().map(|name| spec.workflow(name).and_then(|workflow| workflow.tier)).collect();
    let mut scores = Vec::new();
    for latest in needs.last().into_iter().flatten().filter(of_pool) {
        let call = |call: &PoolCall| {
            let (admission, settlement) = call.drawn(&latest.measure);
            let declared = call.workflow.and_then(|workflow| tiers.get(workflow).copied().flatten());
            Call {
                at: micros(call.wanted_us),
                tier: declared.or(call.tier).unwrap_or(LEAST_URGENT),
                latency: micros(call.latency_us),
                draw: Draw { admission, settlement },
            }
        };
        let trace = Trace {
            name: name.to_owned(),
            quota: latest.quota.clone(),
            period,
            calls: pool.calls.iter().map(call).collect(),
            of: pool.calls.len() as u64,
        };
        for method in [Method::Replay, Method::P95] {
            let issued: Vec<Issued> = places
                .iter()
                .zip(needs)
                .map(|(origin, needs)| {
                    let same = |need: &&LargestNeed| need.quota.dimension == latest.quota.dimension;
                    let need = needs.iter().filter(of_pool).find(same);
                    // A plan that has no figure yet asks for nothing.
                    let need = need.map_or(0, |need| match method {
                        Method::Replay => need.replayed,
                        Method::P95 => need.p95,
                    });
                    Issued { origin: *origin, need }
                })
                .collect();
            scores.push(score(&trace, method, &issued).map_err(Failure::internal)?);
        }
    }
    Ok(scores)
}

fn micros(us: i64) -> Micros {
    Micros(u64::try_from(us).unwrap_or(0))
}

fn instant(at: Micros) -> Result<Timestamp, Failure> {
    let us = i64::try_from(at.0).map_err(Failure::internal)?;
    Timestamp::from_microsecond(us).map_err(Failure::internal)
}
