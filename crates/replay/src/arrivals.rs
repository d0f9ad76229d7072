//! When which run arrives: as recorded, or measured runs drawn at the rates of a coming peak.
//!
//! Leaves rates to the calendar and bursts to [`Burst`]. The invariant: each workflow has random
//! numbers of its own from the seed, so another workflow, or another rate of it, moves no arrival of
//! the others; and limits are compared under the very same arrivals.

use rand::RngExt;
use rand_distr::{Distribution, Gamma, Poisson};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::burst::Burst;
use crate::error::ReplayError;
use crate::runs::Runs;
use crate::time::Micros;

/// Arrivals of runs in order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrivals(Vec<(Micros, u32)>);

/// How often the runs of one workflow arrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Which of [`Runs::workflows`].
    pub workflow: u32,
    /// When its first slot begins.
    pub from: Micros,
    /// How long a slot is: a minute, an hour.
    pub slot: Micros,
    /// Runs per minute, slot by slot.
    pub per_minute: Vec<f64>,
    /// How unevenly they arrive within; with none, as a Poisson process.
    #[serde(default)]
    pub bursts: Vec<Burst>,
}

impl Rate {
    /// One rate for some time, as a Poisson process.
    #[must_use]
    pub fn steady(workflow: u32, from: Micros, length: Micros, per_minute: f64) -> Self {
        Self { workflow, from, slot: length, per_minute: vec![per_minute], bursts: Vec::new() }
    }
}

impl Arrivals {
    /// Every run once, when it was recorded. The recorded hour as it was.
    #[must_use]
    pub fn recorded(runs: &Runs) -> Self {
        let heads = runs.heads().iter().enumerate();
        Self::sorted(heads.map(|(at, head)| (head.arrival, at as u32)).collect())
    }

    /// Runs of each workflow, drawn whole with replacement from those measured, as often as the rates
    /// say. Deterministic by seed.
    ///
    /// # Errors
    /// Where a rate is of a workflow without runs, or a number is negative or none.
    pub fn resampled(runs: &Runs, rates: &[Rate], seed: u64) -> Result<Self, ReplayError> {
        let mut of_workflow = vec![Vec::new(); runs.workflows().len()];
        for (at, head) in runs.heads().iter().enumerate() {
            of_workflow[head.workflow as usize].push(at as u32);
        }
        let mut arrivals = Vec::new();
        for rate in rates {
            let name = || runs.workflows().get(rate.workflow as usize).cloned().unwrap_or_default();
            let sane = |number: f64| number.is_finite() && number >= 0.0;
            if !rate.per_minute.iter().chain(rate.bursts.iter().map(|burst| &burst.cv2)).copied().all(sane)
                || rate.slot == Micros::ZERO
            {
                return Err(ReplayError::Rate { workflow: name() });
            }
            let measured = of_workflow.get(rate.workflow as usize).filter(|measured| !measured.is_empty());
            let Some(measured) = measured else {
                return Err(ReplayError::NoRuns { workflow: name() });
            };
            arrive(rate, measured, seed, &mut arrivals);
        }
        Ok(Self::sorted(arrivals))
    }

    /// Those from an instant up to another.
    #[must_use]
    pub fn between(&self, from: Micros, until: Micros) -> Self {
        let within = |&&(at, _): &&(Micros, u32)| from <= at && at < until;
        Self(self.0.iter().filter(within).copied().collect())
    }

    /// The same arrivals so many times as often, so that what came together still does: each as many
    /// times as keeps the sum of all weights so far nearest to what it should be, up to the next whole
    /// number of times. Weights are what runs draw, by their place.
    ///
    /// # Errors
    /// Where the factor is negative or no number.
    pub fn times(&self, factor: f64, weight: impl Fn(u32) -> u64) -> Result<Self, ReplayError> {
        if !(factor.is_finite() && factor >= 0.0) {
            return Err(ReplayError::Factor { factor: factor.to_string() });
        }
        let mut due = 0.0;
        let mut arrivals = Vec::with_capacity((self.0.len() as f64 * factor) as usize + 1);
        for arrival in &self.0 {
            let weight = weight(arrival.1).max(1) as f64;
            due += factor * weight;
            let times = (due / weight).round().clamp(factor.floor(), factor.ceil());
            due -= times * weight;
            arrivals.extend(std::iter::repeat_n(*arrival, times as usize));
        }
        Ok(Self(arrivals))
    }

    fn sorted(mut arrivals: Vec<(Micros, u32)>) -> Self {
        arrivals.sort_unstable();
        Self(arrivals)
    }

    /// When, and which run.
    #[must_use]
    pub fn as_slice(&self) -> &[(Micros, u32)] {
        &self.0
    }

    /// How many runs arrive.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many calls they make, if none fails.
    #[must_use]
    pub fn calls(&self, runs: &Runs) -> u64 {
        let calls = |&(_, run): &(Micros, u32)| runs.heads().get(run as usize).map_or(0, |head| head.steps);
        self.0.iter().map(|arrival| u64::from(calls(arrival))).sum()
    }
}

/// A second at a time: how many arrive is a Poisson number of the rate times every burst's present
/// strength, when is even within the second.
fn arrive(rate: &Rate, measured: &[u32], seed: u64, arrivals: &mut Vec<(Micros, u32)>) {
    let mut random =
        Pcg64::seed_from_u64(seed ^ u64::from(rate.workflow + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let end = rate.from + Micros(rate.slot.0.saturating_mul(rate.per_minute.len() as u64));
    let mut strengths = vec![1.0; rate.bursts.len()];
    let mut second = 0u64;
    let mut at = rate.from;
    while at < end {
        for (strength, burst) in strengths.iter_mut().zip(&rate.bursts) {
            if second.is_multiple_of(u64::from(burst.seconds.max(1))) {
                *strength = strength_of(burst.cv2, &mut random);
            }
        }
        let length = Micros::SECOND.min(end - at);
        let slot = (at - rate.from).0 / rate.slot.0;
        let per_minute = rate.per_minute.get(slot as usize).copied().unwrap_or(0.0);
        let mean = per_minute * length.as_minutes() * strengths.iter().product::<f64>();
        // A Poisson of nothing is refused by the sampler.
        let count = Poisson::new(mean).map_or(0.0, |poisson| poisson.sample(&mut random));
        for _ in 0..count as u64 {
            let offset = Micros(random.random_range(0..length.0));
            arrivals.push((at + offset, measured[random.random_range(0..measured.len())]));
        }
        at = at + length;
        second += 1;
    }
}

/// A number of mean 1 and this variance.
fn strength_of(cv2: f64, random: &mut Pcg64) -> f64 {
    // A gamma of no variance is refused by the sampler, and is 1.
    Gamma::new(1.0 / cv2, cv2).map_or(1.0, |gamma| gamma.sample(random))
}
