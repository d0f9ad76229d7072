//! The same replay under many seeds, and how far what it shows is spread.
//!
//! The invariant: the outcome of a seed does not know of the others, and outcomes are read in the
//! order of seeds, so any number of threads gives the same numbers.

use std::collections::BTreeMap;
use std::thread;

use serde::Serialize;

use crate::engine::Replay;
use crate::error::ReplayError;
use crate::need::Case;
use crate::outcome::{Outcome, Summary};
use crate::sample::percentile_of;

/// One figure over all seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// `tier 0`, `workflow NAME (tier 0)`, `pool NAME`, or `all`.
    pub of: String,
    /// The figure's name in [`Outcome`]; dollars as `usd`.
    pub figure: &'static str,
    /// How many seeds have it.
    pub seeds: u32,
    /// Their mean.
    pub mean: f64,
    /// Their 5th percentile.
    pub p5: f64,
    /// Their 95th percentile.
    pub p95: f64,
}

/// Replays each case, on so many threads, and gives the outcomes in the cases' order.
///
/// # Errors
/// The first case's in their order that could not be replayed.
pub fn replay_all(replay: &Replay<'_>, cases: &[Case], threads: usize) -> Result<Vec<Outcome>, ReplayError> {
    let each = cases.len().div_ceil(threads.max(1)).max(1);
    thread::scope(|scope| {
        let parts: Vec<_> = cases
            .chunks(each)
            .map(|part| {
                scope.spawn(move || {
                    part.iter().map(|(arrivals, settings)| replay.run(arrivals, *settings)).collect()
                })
            })
            .collect();
        let mut outcomes = Vec::with_capacity(cases.len());
        for part in parts {
            let part: Result<Vec<_>, _> =
                part.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked));
            outcomes.extend(part?);
        }
        Ok(outcomes)
    })
}

/// How far the figures of outcomes are spread.
#[must_use]
pub fn spread(outcomes: &[Outcome]) -> Vec<Spread> {
    let mut figures: BTreeMap<(usize, String, &'static str), Vec<f64>> = BTreeMap::new();
    for outcome in outcomes {
        let mut rank = 0;
        let mut add = |of: String, named: &[(&'static str, Option<f64>)]| {
            for &(figure, value) in named {
                rank += 1;
                if let Some(value) = value {
                    figures.entry((rank, of.clone(), figure)).or_default().push(value);
                }
            }
        };
        for tier in &outcome.tiers {
            add(format!("tier {}", tier.tier), &of_summary(&tier.summary));
        }
        for workflow in &outcome.workflows {
            let name = format!("workflow {} (tier {})", workflow.workflow, workflow.tier);
            add(name, &of_summary(&workflow.summary));
        }
        for queue in &outcome.queues {
            let figures = [
                ("waiting_mean", Some(queue.waiting_mean)),
                ("in_flight_mean", Some(queue.in_flight_mean)),
                ("in_flight_p95", Some(queue.in_flight_p95 as f64)),
                ("in_flight_max", Some(queue.in_flight_max as f64)),
                ("growth_per_min", Some(queue.growth_per_min)),
            ];
            add(format!("pool {}", queue.pool), &figures);
        }
        for limit in &outcome.pools {
            let name = format!("pool {}, {} over {} s", limit.pool, limit.dimension, limit.window_s);
            let figures =
                [("peak", Some(limit.peak as f64)), ("throttled_share", Some(limit.throttled_share))];
            add(name, &figures);
        }
        add("all".to_owned(), &[("usd", Some(outcome.nano_usd as f64 / 1e9))]);
    }
    figures.into_iter().filter_map(|((_, of, figure), values)| Spread::new(of, figure, values)).collect()
}

fn of_summary(summary: &Summary) -> [(&'static str, Option<f64>); 14] {
    [
        ("operations", Some(summary.operations as f64)),
        ("throttled_share", Some(summary.throttled_share)),
        ("completed", Some(summary.completed as f64)),
        ("failed", Some(summary.failed as f64)),
        ("expired", Some(summary.expired as f64)),
        ("wait_mean_ms", summary.waits.mean_ms),
        ("wait_p95_ms", summary.waits.p95_ms),
        ("completion_p50_ms", summary.completion.p50_ms),
        ("completion_p95_ms", summary.completion.p95_ms),
        ("ttft_p95_ms", summary.ttft.p95_ms),
        ("in_flight_mean", Some(summary.in_flight_mean)),
        ("in_flight_p95", Some(summary.in_flight_p95 as f64)),
        ("queue_growth_per_min", Some(summary.queue_growth_per_min)),
        ("usd", Some(summary.nano_usd as f64 / 1e9)),
    ]
}

impl Spread {
    fn new(of: String, figure: &'static str, mut values: Vec<f64>) -> Option<Self> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.sort_by(f64::total_cmp);
        let (p5, p95) = (percentile_of(&values, 5)?, percentile_of(&values, 95)?);
        Some(Self { of, figure, seeds: values.len() as u32, mean, p5, p95 })
    }
}
