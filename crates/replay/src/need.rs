//! The smallest limit at which every tier is served as it should be, found by replaying.
//!
//! Leaves headroom and grant steps to the planner. The invariant: the limit that is told was replayed
//! under every set of arrivals and kept every target; so was, and did not, the one told as too low.
//!
//! **How.** A first replay with no limit on the quota shows the most that its counter would hold: an
//! upper bound, at which nobody is turned away by it. Between nothing and that, the range is halved
//! until it is as narrow as the precision asked for.
//!
//! **Where more is not always better.** Retries, queues and windows that shrink with units can make a
//! larger limit do worse than a smaller one: a call let in earlier may bring its run's next call into
//! a busier minute. A search by halves then finds *a* limit that holds whose neighbour does not, not
//! the one above which all hold. So what was found is probed upward, at steps between it and the upper
//! bound and at each number of units where a window changes; where a probe fails, the search goes on
//! above it. [`Need::monotone`] says whether that happened. The need is the smallest limit, to the
//! precision, above which every probe held.

use serde::Serialize;

use crate::arrivals::Arrivals;
use crate::engine::{Replay, Settings};
use crate::error::ReplayError;
use crate::outcome::{Outcome, PoolLimit};
use crate::quota::{Quota, Rule};

/// A share in parts per million, so that targets are compared in whole numbers.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct PartsPerMillion(pub u32);

impl PartsPerMillion {
    /// Everything.
    pub const ALL: Self = Self(1_000_000);

    fn holds(self, part: u64, all: u64) -> bool {
        u128::from(part) * 1_000_000 <= u128::from(self.0) * u128::from(all)
    }
}

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// Which of [`World::quotas`](crate::World::quotas).
    pub quota: usize,
    /// Largest share of operations throttled, and largest share failed or expired, by tier from 0; a
    /// tier beyond the last has the last's. With none, nothing may be throttled.
    pub targets: Vec<PartsPerMillion>,
    /// How far above the smallest limit that holds the answer may lie, as a share of it.
    pub precision: PartsPerMillion,
    /// How many limits between the answer and the upper bound are probed.
    pub probes: u32,
}

impl Search {
    /// To a thousandth, with four probes.
    #[must_use]
    pub fn new(quota: usize, targets: Vec<PartsPerMillion>) -> Self {
        Self { quota, targets, precision: PartsPerMillion(1_000), probes: 4 }
    }

    fn holds(&self, outcome: &Outcome) -> bool {
        missed(&self.targets, outcome).next().is_none()
    }
}

/// Tiers of which a larger share of operations is throttled, or failed or expired, than their target: by
/// tier from 0, as [`Search::targets`].
pub fn missed(targets: &[PartsPerMillion], outcome: &Outcome) -> impl Iterator<Item = u8> {
    outcome.tiers.iter().filter_map(|tier| {
        let target = targets.get(usize::from(tier.tier)).or(targets.last()).copied().unwrap_or_default();
        let of = &tier.summary;
        let holds =
            target.holds(of.throttled, of.operations) && target.holds(of.failed + of.expired, of.operations);
        (!holds).then_some(tier.tier)
    })
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    /// What the limit counts.
    pub dimension: String,
    /// The limit that holds, in the quota's units.
    pub most: u64,
    /// The largest limit that was replayed and does not hold; nothing where even 0 does.
    pub too_low: Option<u64>,
    /// What unhindered demand draws in its busiest window.
    pub peak: u64,
    /// A limit at which the quota turns nobody away: the peak, or more where the limit does not hold as much
    /// as flows in within its window.
    pub upper: u64,
    /// Whether no limit above one that held was seen to fail.
    pub monotone: bool,
    /// How many replays it took.
    pub replays: u32,
    /// How many operations they replayed.
    pub operations: u64,
}

/// Arrivals and what is measured of them: one for each seed that the need must hold under.
pub type Case = (Arrivals, Settings);

/// Searches for the smallest amount of one quota at which every tier's share of throttled operations
/// is within its target under each of the cases.
///
/// # Errors
/// Where no amount does, since something else turns calls away; where nothing draws on the quota, so
/// that nothing is known of its need; and as [`Replay::run`].
pub fn need(replay: &Replay<'_>, cases: &[Case], search: &Search) -> Result<Need, ReplayError> {
    let Some(quota) = replay.world().quotas.get(search.quota) else {
        let quotas = replay.world().quotas.len();
        return Err(ReplayError::Quota { pool: "searched for".to_owned(), quota: search.quota, quotas });
    };
    let mut trial = Trial { replay, cases, search, replays: 0, operations: 0 };
    let (peak, upper) = trial.upper(quota)?;
    let mut found = Bracket { low: None, high: upper };
    let mut monotone = true;
    if trial.holds(0)? {
        found.high = 0;
    } else {
        found.low = Some(0);
    }
    trial.halve(&mut found)?;
    for probe in probes(quota, &found, upper, search.probes) {
        if probe > found.high && !trial.holds(probe)? {
            monotone = false;
            found = Bracket { low: Some(probe), high: upper };
            trial.halve(&mut found)?;
        }
    }
    Ok(Need {
        dimension: quota.dimension.clone(),
        most: found.high,
        too_low: found.low,
        peak,
        upper,
        monotone,
        replays: trial.replays,
        operations: trial.operations,
    })
}

/// A limit that does not hold, and a larger one that does.
struct Bracket {
    low: Option<u64>,
    high: u64,
}

struct Trial<'t> {
    replay: &'t Replay<'t>,
    cases: &'t [Case],
    search: &'t Search,
    replays: u32,
    operations: u64,
}

impl Trial<'_> {
    fn run(&mut self, most: u64, case: &Case) -> Result<Outcome, ReplayError> {
        let outcome = self.replay.with_most(self.search.quota, most).run(&case.0, case.1)?;
        self.replays += 1;
        self.operations += outcome.operations();
        Ok(outcome)
    }

    fn holds(&mut self, most: u64) -> Result<bool, ReplayError> {
        for case in self.cases {
            if !self.search.holds(&self.run(most, case)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The peak of demand, from replays without a limit, and a limit known to serve it.
    fn upper(&mut self, quota: &Quota) -> Result<(u64, u64), ReplayError> {
        let (mut peak, mut demand) = (0, 0);
        for case in self.cases {
            let outcome = self.run(unlimited(quota), case)?;
            if !self.search.holds(&outcome) {
                return Err(ReplayError::OtherBinds { dimension: quota.dimension.clone() });
            }
            let limits = self.limits(quota, &outcome);
            demand += limits.iter().map(|limit| limit.operations).sum::<u64>();
            peak = peak.max(self.peak(quota, &limits));
        }
        if demand == 0 {
            return Err(ReplayError::NoDemand { dimension: quota.dimension.clone() });
        }
        // A shorter window after rounding, or a bucket that holds less than a window's.
        let mut upper = peak;
        while !self.holds(upper)? {
            upper = upper.saturating_mul(2).max(1);
            if upper == u64::MAX {
                return Err(ReplayError::OtherBinds { dimension: quota.dimension.clone() });
            }
        }
        Ok((peak, upper))
    }

    /// What an outcome tells of the quota, pool by pool.
    fn limits<'o>(&self, quota: &Quota, outcome: &'o Outcome) -> Vec<&'o PoolLimit> {
        let pools = &self.replay.world().pools;
        let binds = |limit: &PoolLimit| {
            let mut of_name = pools.iter().filter(|pool| pool.name == limit.pool);
            limit.dimension == quota.dimension && of_name.any(|pool| pool.quotas.contains(&self.search.quota))
        };
        outcome.pools.iter().filter(|&limit| binds(limit)).collect()
    }

    /// The amount whose window and slice hold what was drawn in the busiest. Where several quotas
    /// count one dimension of a pool, that of the largest of them, which is no less.
    fn peak(&self, quota: &Quota, limits: &[&PoolLimit]) -> u64 {
        let window = u128::from(quota.limit().window.0);
        let of = |limit: &&PoolLimit| {
            // A slice holds its share of the window's amount, so the window must hold so much more.
            let over = u128::from(limit.window_s.max(1));
            let most = (u128::from(limit.peak.max(limit.drawn)) * window).div_ceil(over);
            match &quota.rule {
                // In units; without a limit the window is the shortest.
                Rule::Shrinking { per_unit_second, .. } => {
                    most.div_ceil((u128::from(*per_unit_second) * window).max(1))
                }
                _ => most,
            }
        };
        u64::try_from(limits.iter().map(of).max().unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// Halves the range until it is as narrow as asked for.
    fn halve(&mut self, found: &mut Bracket) -> Result<(), ReplayError> {
        while let Some(low) = found.low {
            let fine = u128::from(found.high) * u128::from(self.search.precision.0) / 1_000_000;
            if u128::from(found.high - low) <= fine.max(1) {
                break;
            }
            let middle = low + (found.high - low) / 2;
            if self.holds(middle)? {
                found.high = middle;
            } else {
                found.low = Some(middle);
            }
        }
        Ok(())
    }
}

/// An amount of a quota that turns nobody away.
fn unlimited(quota: &Quota) -> u64 {
    match &quota.rule {
        // In units, such that the window's budget is still a number.
        Rule::Shrinking { windows, .. } => {
            let last = windows.last().map_or(1, |step| step.from_units);
            last.max(u64::MAX >> 40)
        }
        _ => u64::MAX,
    }
}

/// Limits above the one found, in ascending order: even steps up to the upper bound, and where a
/// window changes its length.
fn probes(quota: &Quota, found: &Bracket, upper: u64, count: u32) -> Vec<u64> {
    let span = upper.saturating_sub(found.high);
    let step = |at: u32| found.high + (u128::from(span) * u128::from(at) / u128::from(count + 1)) as u64;
    let mut probes: Vec<u64> = (1..=count).map(step).collect();
    if let Rule::Shrinking { windows, .. } = &quota.rule {
        let changes = windows.iter().flat_map(|step| [step.from_units.saturating_sub(1), step.from_units]);
        probes.extend(changes.filter(|units| (found.high..=upper).contains(units)));
    }
    probes.sort_unstable();
    probes.dedup();
    probes
}
