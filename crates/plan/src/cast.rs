//! Runs that come on stage, how often, and when within an event.
//!
//! Leaves what they draw to `stage`, and the time within an event to `pattern`. The invariant: a case is made
//! of the cast, the minutes and a seed, and of nothing else.

use plimsoll_replay::{
    Arrivals, Burst, Case, Micros, Outcome, Rate, Replay, Runs, Settings, World, replay_all,
};

use crate::pattern::Pattern;

/// Longest time in which pools fill up before anything is counted, minutes.
const WARM_UP: u64 = 30;

/// Runs that arrive, at which rates.
pub(crate) struct Cast {
    pub(crate) runs: Runs,
    /// In the order of the runs' workflows.
    pub(crate) rates: Vec<Coming>,
    /// Longest run.
    pub(crate) longest: Micros,
    /// Calls a minute, all workflows together.
    pub(crate) calls_per_min: f64,
    /// Runs that a limit had cut short: given the rest of others, and left as they were.
    pub(crate) cut: (u64, u64),
}

/// One workflow's arrivals.
pub(crate) struct Coming {
    /// Runs a minute; inside an event the figure that its pattern is laid over.
    pub(crate) per_minute: f64,
    pub(crate) bursts: Vec<Burst>,
    pub(crate) pattern: Option<Pattern>,
    /// Calls of a run, on average.
    pub(crate) calls: f64,
}

impl Coming {
    /// Runs a minute in a minute of the event; nothing before it begins.
    fn in_minute(&self, minute: i64) -> f64 {
        let Some(pattern) = &self.pattern else { return self.per_minute };
        let slot = usize::try_from(minute).map(|minute| minute / pattern.slot as usize);
        let factor = slot.ok().map_or(0.0, |slot| pattern.factors.get(slot).copied().unwrap_or(0.0));
        self.per_minute * factor
    }
}

impl Cast {
    /// Arrivals over so many minutes once the pools have filled up: one case for each seed from 1 on. Inside an
    /// event whose time is known these are its busiest minutes, after those that come before them.
    pub(crate) fn cases(&self, minutes: f64, seeds: u64) -> Option<Vec<Case>> {
        let minutes = self.event_minutes().map_or(minutes, |event| minutes.min(f64::from(event)));
        let warm_up = self.longest.0.min(WARM_UP * Micros::MINUTE.0).div_ceil(Micros::MINUTE.0);
        let from = Micros::minutes(warm_up);
        let until = from + Micros((minutes * Micros::MINUTE.0 as f64) as u64);
        let whole = until.0.div_ceil(Micros::MINUTE.0);
        let first = self.busiest(minutes.ceil() as i64) - i64::try_from(warm_up).ok()?;
        let rates: Vec<Rate> = (0u32..)
            .zip(&self.rates)
            .map(|(workflow, coming)| {
                let steady = Rate::steady(workflow, Micros::ZERO, until, coming.per_minute);
                let bursts = coming.bursts.clone();
                if coming.pattern.is_none() {
                    return Rate { bursts, ..steady };
                }
                let per_minute = (first..).take(usize::try_from(whole).unwrap_or(0));
                let per_minute = per_minute.map(|minute| coming.in_minute(minute)).collect();
                Rate { slot: Micros::MINUTE, per_minute, bursts, ..steady }
            })
            .collect();
        let case = |seed| {
            let arrivals = Arrivals::resampled(&self.runs, &rates, seed).ok()?;
            Some((arrivals, Settings { from, seed, ..Settings::until(until) }))
        };
        (1..=seeds).map(case).collect()
    }

    /// What comes of cases in a world; `None` where it does not fit the runs.
    pub(crate) fn played(&self, world: &World, cases: &[Case]) -> Option<Vec<Outcome>> {
        replay_all(&Replay::new(world, &self.runs).ok()?, cases, 1).ok()
    }

    /// Minutes of the longest event whose pattern is known.
    fn event_minutes(&self) -> Option<u32> {
        let length = |pattern: &Pattern| pattern.slot.saturating_mul(pattern.factors.len() as u32);
        self.rates.iter().filter_map(|coming| coming.pattern.as_ref()).map(length).max()
    }

    /// The minute of the event at which the stretch of so many minutes begins that makes most calls. Where several
    /// events are on at once they are taken to begin together.
    fn busiest(&self, minutes: i64) -> i64 {
        let Some(length) = self.event_minutes().map(i64::from) else { return 0 };
        let slot = self.rates.iter().filter_map(|coming| coming.pattern.as_ref()).map(|one| one.slot).min();
        let calls = |minute: i64| -> f64 {
            self.rates.iter().map(|coming| coming.in_minute(minute) * coming.calls).sum()
        };
        let mut best = (0, f64::MIN);
        for first in (0..=(length - minutes).max(0)).step_by(slot.unwrap_or(1).max(1) as usize) {
            let sum = (first..first + minutes).map(calls).sum();
            if sum > best.1 {
                best = (first, sum);
            }
        }
        best.0
    }
}
