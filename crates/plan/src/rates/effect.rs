//! What an event does to a workflow's busy hour, learned from zero, one or many occurrences.
//!
//! Log-ratios of event to normal busy hour are taken as normal with unknown mean and spread, and a
//! prior speaks where they are few: normal-inverse-gamma conjugacy, whose prediction is a Student-t, so
//! everything is a closed form. Leaves which occurrences count to `busy`. The invariant: the forecast's
//! P95 is never below the highest occurrence that was seen, and own data's weight is `n / (n + k0)`.

use crate::rates::student::t_quantile;

/// Workflows with at least [`OWN`] occurrences each from which a prior is learned.
const WORKFLOWS: usize = 5;
/// Occurrences that a workflow must have to teach the prior.
const OWN: usize = 3;
/// Bounds on what a learned prior weighs, in occurrences.
const WEIGHTS: (f64, f64) = (0.25, 12.0);

/// Degrees of freedom and standard deviation of logs that are believed before any is seen: policy, not evidence.
pub(crate) const SPREAD: (u32, f64) = (4, 0.25);

/// What is believed before any occurrence is seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prior {
    /// Mean log-ratio.
    mean: f64,
    /// Occurrences that it weighs as much as.
    weight: f64,
    /// Degrees of freedom of its spread.
    freedom: u32,
    /// Standard deviation of log-ratios.
    spread: f64,
    /// Workflows that it was learned from; none for the policy's own.
    pub(crate) learned_from: usize,
}

impl Default for Prior {
    /// 1.8 times the busy hour, give or take a quarter: policy, not evidence.
    fn default() -> Self {
        Self { mean: 1.8_f64.ln(), weight: 1.0, freedom: SPREAD.0, spread: SPREAD.1, learned_from: 0 }
    }
}

impl Prior {
    /// The prior that the plan's own workflows teach, once five of them have three occurrences each:
    /// moments pooled across workflows. Ratios are given per workflow.
    pub(crate) fn learned(of: &[Vec<f64>]) -> Option<Self> {
        let logs: Vec<Vec<f64>> = of
            .iter()
            .filter(|ratios| ratios.len() >= OWN)
            .map(|ratios| ratios.iter().map(|ratio| ratio.ln()).collect())
            .collect();
        if logs.len() < WORKFLOWS {
            return None;
        }
        let means: Vec<f64> = logs.iter().map(|logs| mean(logs)).collect();
        let degrees: usize = logs.iter().map(|logs| logs.len() - 1).sum();
        let within = logs.iter().map(|logs| deviations(logs)).sum::<f64>() / degrees as f64;
        let of_means = deviations(&means) / (means.len() - 1) as f64;
        let chance =
            within * logs.iter().map(|logs| 1.0 / logs.len() as f64).sum::<f64>() / logs.len() as f64;
        let between = (of_means - chance).max(within / WEIGHTS.1);
        let weight = if between > 0.0 { (within / between).clamp(WEIGHTS.0, WEIGHTS.1) } else { WEIGHTS.1 };
        Some(Self {
            mean: mean(&means),
            weight,
            spread: within.sqrt(),
            learned_from: logs.len(),
            ..Self::default()
        })
    }

    /// Its own ratio: the middle of what is believed.
    pub(crate) fn ratio(&self) -> f64 {
        self.mean.exp()
    }
}

/// What the next occurrence is expected to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effect {
    /// Ratios that it was learned from, ascending.
    ratios: Vec<f64>,
    own_weight: f64,
    mean: f64,
    freedom: u32,
    /// Variance of the next log-ratio's distance from `mean`, in squared t units.
    variance: f64,
}

impl Effect {
    /// From ratios of event to normal busy hour, each above zero.
    pub(crate) fn of(prior: &Prior, ratios: &[f64]) -> Self {
        let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let n = logs.len() as f64;
        let weight = prior.weight + n;
        let freedom = prior.freedom + u32::try_from(logs.len()).unwrap_or(u32::MAX - prior.freedom);
        let own = mean(&logs);
        let spread = (f64::from(prior.freedom) * prior.spread.powi(2)
            + deviations(&logs)
            + prior.weight * n / weight * (own - prior.mean).powi(2))
            / f64::from(freedom);
        let mut ratios = ratios.to_vec();
        ratios.sort_unstable_by(f64::total_cmp);
        Self {
            ratios,
            own_weight: n / weight,
            mean: (prior.weight * prior.mean + n * own) / weight,
            freedom,
            variance: spread * (1.0 + 1.0 / weight),
        }
    }

    /// The ratio that the next occurrence stays below with probability `p`, where the log of growth
    /// until then has this standard deviation.
    pub(crate) fn quantile(&self, p: f64, growth_sd: f64) -> f64 {
        let scale = (self.variance + growth_sd.powi(2)).sqrt();
        (self.mean + t_quantile(p, self.freedom) * scale).exp()
    }

    /// What to plan for: P95, and never less than was seen.
    pub(crate) fn planned(&self, growth_sd: f64) -> f64 {
        self.quantile(0.95, growth_sd).max(self.highest().unwrap_or(0.0))
    }

    /// Occurrences that it was learned from.
    pub(crate) fn n(&self) -> usize {
        self.ratios.len()
    }

    /// Weight of own data beside the prior, of one.
    pub(crate) fn own_weight(&self) -> f64 {
        self.own_weight
    }

    /// The highest ratio seen.
    pub(crate) fn highest(&self) -> Option<f64> {
        self.ratios.last().copied()
    }

    /// Share of coming occurrences that stay below the highest of those seen: `n / (n + 1)`, whatever
    /// their distribution.
    pub(crate) fn highest_covers(&self) -> f64 {
        self.n() as f64 / (self.n() as f64 + 1.0)
    }

    /// The ratio that coming occurrences stay below with at least this probability, whatever their
    /// distribution; `None` where too few were seen to tell (nine for 0.90, nineteen for 0.95).
    pub(crate) fn conformal(&self, p: f64) -> Option<f64> {
        let rank = ((self.n() as f64 + 1.0) * p - 1e-9).ceil();
        self.ratios.get((rank as usize).checked_sub(1)?).copied()
    }
}

fn mean(of: &[f64]) -> f64 {
    if of.is_empty() { 0.0 } else { of.iter().sum::<f64>() / of.len() as f64 }
}

/// Sum of squared distances from the mean.
fn deviations(of: &[f64]) -> f64 {
    let middle = mean(of);
    of.iter().map(|value| (value - middle).powi(2)).sum()
}

#[cfg(test)]
mod tests;
