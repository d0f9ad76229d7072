//! Small worlds and runs that the tests share.

use plimsoll_replay::{
    Draw, Micros, Outcome, Pool, Quota, ReplayError, Retry, Route, Rule, Run, Runs, Step, TierRules, Window,
    World,
};

pub(crate) type Tested = Result<(), ReplayError>;

pub(crate) const MINUTE: Window = Window(60);
pub(crate) const FIXED: Rule = Rule::Fixed { window: MINUTE };

/// A pool that meters calls by `tokens` alone and has no limit of any kind.
pub(crate) fn open(name: &str) -> Pool {
    Pool { name: name.to_owned(), dimensions: vec!["tokens".to_owned()], ..Pool::default() }
}

/// A limit on `tokens`.
pub(crate) fn quota(most: u64, rule: Rule) -> Quota {
    Quota { dimension: "tokens".to_owned(), most, rule, slice: None, refused_count: false }
}

/// One pool under one limit, whose clients never try again.
pub(crate) fn limited(quota: Quota) -> World {
    let pool = Pool { quotas: vec![0], ..open("pool") };
    World { quotas: vec![quota], pools: vec![pool], ..World::default() }.retrying(Retry::never())
}

pub(crate) trait Worlds {
    /// The same with one rule of retries for tiers 0 to 3.
    fn retrying(self, retry: Retry) -> Self;
}

impl Worlds for World {
    fn retrying(mut self, retry: Retry) -> Self {
        for tier in 0..4 {
            let max_wait = self.tiers.get(&tier).and_then(|rules| rules.max_wait);
            self.tiers.insert(tier, TierRules { max_wait, retry: retry.clone() });
        }
        self
    }
}

/// A call of some tokens and some length, on pool 0.
pub(crate) fn call(tokens: u64, latency: Micros) -> Route {
    Route { pool: 0, draws: vec![Draw::flat(tokens)], latency, ttft: None, nano_usd: 0 }
}

/// A step that waits for nothing.
pub(crate) fn first(route: Route) -> Step {
    Step { after: Vec::new(), think: Micros::ZERO, routes: vec![route] }
}

/// A run of tier 1 with one call.
pub(crate) fn single(arrival: Micros, route: Route) -> Run {
    Run { workflow: 0, tier: 1, class: 0, arrival, steps: vec![first(route)] }
}

pub(crate) fn runs(of: impl IntoIterator<Item = Run>) -> Result<Runs, ReplayError> {
    let mut runs = Runs::new(["work"]);
    for run in of {
        runs.push(&run)?;
    }
    Ok(runs)
}

/// Only what must hold of every replay.
pub(crate) fn lawful(outcome: &Outcome) {
    assert!(outcome.conserved, "offered is completed, failed, expired and in flight: {outcome:#?}");
    for boundary in &outcome.little.boundaries {
        assert!(boundary.exact, "levels and stays differ: {boundary:#?}");
        let product = boundary.lambda_per_s * boundary.w_s;
        assert!((boundary.l - product).abs() <= 1e-9 * boundary.l.max(1.0), "L is lambda W: {boundary:#?}");
    }
}
