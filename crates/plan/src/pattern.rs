//! When within an event runs start: at its beginning, after a feed, evenly.
//!
//! A rate of an event is one figure: its mean over the event where the spec gives it, its busiest hour where it
//! was measured. What past occurrences show of the time within is laid over it. Leaves bursts of a minute and
//! less to the replay. The invariant: the figure stays what it is, the mean over the event or over the busiest
//! hour; and what can be chance is taken for even.

use crate::WorkflowMeasured;
use crate::context::Context;
use crate::rates::{Rate, Rates};

/// Minutes of one slot of the pattern, at least: what is measured.
const QUARTER: u32 = 15;

/// Starts that a slot needs on average, over all past windows, to be told apart from the others.
const ENOUGH: u64 = 100;

/// How a rate is spread over an event, slot by slot, about a mean of 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pattern {
    /// Length of a slot, minutes.
    pub(crate) slot: u32,
    /// Factor on the rate in each.
    pub(crate) factors: Vec<f64>,
}

impl Pattern {
    /// The pattern of a workflow in the event that gave its rate; `None` where too little of it was seen.
    pub(crate) fn of(workflow: &WorkflowMeasured, rate: &Rate) -> Option<Self> {
        let starts = workflow.event_starts.get(rate.event.as_ref()?)?;
        let quarters = starts.iter().map(|slot| slot.quarter).max()?.checked_add(1)?;
        let all: u64 = starts.iter().map(|slot| slot.starts).sum();
        // Longer slots where few runs start.
        let wide =
            [1, 2, 4].into_iter().find(|wide| all * u64::from(*wide) / u64::from(quarters) >= ENOUGH)?;
        let mut counts = vec![0.0; quarters.div_ceil(wide) as usize];
        for slot in starts {
            *counts.get_mut((slot.quarter / wide) as usize)? += slot.starts as f64;
        }
        // A last slot that the event does not fill counts for what it lasts.
        let last = f64::from(quarters - wide * (quarters.div_ceil(wide) - 1)) / f64::from(wide);
        if let Some(count) = counts.last_mut() {
            *count /= last;
        }
        if counts.len() < 2 {
            return None;
        }
        let mut factors = shrunk(&counts);
        if matches!(rate.from, "measured" | "assumed") {
            // Such a rate is the busiest hour's already.
            let hour = (60 / (QUARTER * wide)).max(1) as usize;
            let busiest = busiest(&factors, hour).1;
            factors.iter_mut().for_each(|factor| *factor /= busiest);
        }
        Some(Self { slot: QUARTER * wide, factors })
    }

    /// Factor in the busiest stretch of so many minutes, and the slot at which it begins.
    pub(crate) fn busiest(&self, minutes: u32) -> (usize, f64) {
        busiest(&self.factors, minutes.div_ceil(self.slot).max(1) as usize)
    }
}

/// How the rates of events are spread over them, a sentence each, where past occurrences showed it; of the
/// busiest stretch of so many minutes.
pub(crate) fn patterns_told(context: &Context<'_>, rates: &Rates<'_>, minutes: u64) -> Vec<String> {
    let told = |(name, rate): (&&str, &Rate)| {
        let pattern = Pattern::of(context.workflow(name)?, rate).filter(|_| !rate.per_min.is_zero())?;
        let (slot, factor) = pattern.busiest(u32::try_from(minutes).ok()?);
        (factor > 1.005).then(|| {
            format!(
                "{name}: in past occurrences runs did not start evenly; replayed are the busiest {minutes} min, from \
                 minute {} of a window on, at {factor:.2} times the rate",
                slot as u64 * u64::from(pattern.slot)
            )
        })
    };
    rates.iter().filter_map(told).collect()
}

/// The beginning and the mean of the busiest stretch of so many slots, the earliest of equals.
fn busiest(factors: &[f64], slots: usize) -> (usize, f64) {
    let slots = slots.clamp(1, factors.len().max(1));
    let means = factors.windows(slots).map(|window| window.iter().sum::<f64>() / slots as f64);
    means.enumerate().fold((0, 0.0), |best, (at, mean)| if mean > best.1 { (at, mean) } else { best })
}

/// Counts over their mean, drawn towards 1 by as much of their variance as Poisson's would explain.
fn shrunk(counts: &[f64]) -> Vec<f64> {
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / n;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let own = if variance > mean { 1.0 - mean / variance } else { 0.0 };
    counts.iter().map(|count| 1.0 + own * (count / mean - 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuarterStarts;
    use crate::quantity::Quantity;

    fn pattern(starts: &[u64], from: &'static str) -> Option<Pattern> {
        let quarters = (0u32..).zip(starts).map(|(quarter, &starts)| QuarterStarts { quarter, starts });
        let workflow = WorkflowMeasured {
            event_starts: [("close".to_owned(), quarters.collect())].into(),
            ..WorkflowMeasured::default()
        };
        let per_min = Quantity::from(10);
        let event = Some("close".to_owned());
        let rate =
            Rate { high: per_min.clone(), per_min, from, event, own_weight: None, how: String::new().into() };
        Pattern::of(&workflow, &rate)
    }

    /// Three hours of which the second brings half as many again: a mean of 1 where the spec gives the rate, a
    /// busiest hour of 1 where that was measured.
    #[test]
    fn a_busy_hour_within_an_event() {
        let starts: Vec<u64> =
            (0..12).map(|quarter| if (4..8).contains(&quarter) { 900 } else { 600 }).collect();
        let given = pattern(&starts, "in_flight");
        assert_eq!(given.as_ref().map(|pattern| pattern.slot), Some(15));
        let factors = given.map(|pattern| pattern.factors).unwrap_or_default();
        assert!((factors.iter().sum::<f64>() / 12.0 - 1.0).abs() < 1e-9);
        assert!((factors[5] - 9.0 / 7.0).abs() < 0.02, "{factors:?}");
        let measured = pattern(&starts, "measured").map(|pattern| pattern.busiest(60));
        assert!(measured.is_some_and(|(at, factor)| at == 4 && (factor - 1.0).abs() < 1e-9), "{measured:?}");
    }

    /// What chance does is no pattern, few runs make longer slots, and fewer none.
    #[test]
    fn chance_is_no_pattern() {
        let noise: Vec<u64> = (0..12).map(|quarter| 400 + quarter * 7 % 5 * 8).collect();
        let even = pattern(&noise, "in_flight").map(|pattern| pattern.factors).unwrap_or_default();
        assert!(!even.is_empty() && even.iter().all(|factor| (factor - 1.0).abs() < 1e-9), "{even:?}");
        assert_eq!(pattern(&[60; 12], "in_flight").map(|pattern| pattern.slot), Some(30));
        assert_eq!(pattern(&[10; 12], "in_flight"), None);
    }
}
