//! The history of one limit: every call that came, with what it drew.
//!
//! Leaves where calls come from to [`crate::Requests`] and to whoever has a lake. The invariant: calls
//! are in order of time, each counted once, when it was wanted.

use plimsoll_replay::{Draw, Micros, Quota, Route, Run, Step};

use crate::period::Period;

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// When it was wanted.
    pub at: Micros,
    /// 0 matters most, 3 least.
    pub tier: u8,
    /// From being let in to its end.
    pub latency: Micros,
    /// What it draws when it is let in, and in the end.
    pub draw: Draw,
}

/// What one limit was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// What people call it.
    pub name: String,
    /// The limit as it is enforced; its amount is what is planned.
    pub quota: Quota,
    /// The windows of the history.
    pub period: Period,
    /// In order of time.
    pub calls: Vec<Call>,
    /// Calls that these were sampled from.
    pub of: u64,
}

impl Trace {
    /// What was asked for in each window, by whichever of admission and settlement draws more over all
    /// of them.
    #[must_use]
    pub fn demand(&self) -> Vec<u64> {
        let mut demand = vec![0_u64; self.period.windows()];
        let draw = self.binding();
        for call in &self.calls {
            let window = self.period.window(call.at);
            if let Some(sum) = window.and_then(|window| demand.get_mut(window)) {
                *sum = sum.saturating_add(draw(&call.draw));
            }
        }
        demand
    }

    /// The stage that draws more, all calls together.
    pub(crate) fn binding(&self) -> fn(&Draw) -> u64 {
        let stages: [fn(&Draw) -> u64; 2] = [|draw| draw.settlement, |draw| draw.admission];
        let sum =
            |of: fn(&Draw) -> u64| self.calls.iter().map(|call| u128::from(of(&call.draw))).sum::<u128>();
        if sum(stages[1]) > sum(stages[0]) { stages[1] } else { stages[0] }
    }
}

impl Call {
    /// The same as a run of its own, so that a refusal moves no call after it.
    pub(crate) fn run(&self) -> Run {
        let route = Route { pool: 0, draws: vec![self.draw], latency: self.latency, ttft: None, nano_usd: 0 };
        let steps = vec![Step { after: Vec::new(), think: Micros::ZERO, routes: vec![route] }];
        Run { workflow: 0, tier: self.tier, class: 0, arrival: self.at, steps }
    }
}
