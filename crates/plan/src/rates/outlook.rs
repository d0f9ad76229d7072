//! What the next occurrence of one event will do to one workflow, where the spec gives no rate.
//!
//! Puts `busy` and `effect` together. The invariants: lower bounds may raise what is planned for and
//! never lower it; without a normal busy hour to compare with, the busiest occurrence seen stands.

use crate::quantity::Quantity;
use crate::rates::busy::Lived;
use crate::rates::effect::{Effect, Prior};
use crate::rates::growth::Factor;

/// One event and one workflow.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outlook {
    /// Past occurrences, earliest first.
    pub(crate) lived: Vec<Lived>,
    /// Busy hour of normal days today, runs a minute.
    pub(crate) normal: Option<Quantity>,
    /// What the event does to it; `None` where there is none, or nothing to compare it with.
    pub(crate) effect: Option<Effect>,
}

/// Runs a minute in the busiest hour of the next occurrence.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    /// As likely exceeded as not.
    pub(crate) p50: Quantity,
    pub(crate) p80: Quantity,
    /// P95, and no less than was seen.
    pub(crate) planned: Quantity,
}

impl Outlook {
    pub(crate) fn new(lived: Vec<Lived>, normal: Option<Quantity>, prior: &Prior) -> Self {
        let ratios = ratios(&lived, |_| true);
        let comparable = normal.is_some() && (lived.is_empty() || !ratios.is_empty());
        let effect = comparable.then(|| {
            let seen = Effect::of(prior, &self::ratios(&lived, |occurrence| !occurrence.censored));
            let all = Effect::of(prior, &ratios);
            if seen.planned(0.0) >= all.planned(0.0) && seen.highest() == all.highest() { seen } else { all }
        });
        Self { lived, normal, effect }
    }

    /// Past occurrences that are lower bounds.
    pub(crate) fn censored(&self) -> usize {
        self.lived.iter().filter(|occurrence| occurrence.censored).count()
    }

    /// What to expect at a level over today's.
    pub(crate) fn expected(&self, growth: Factor) -> Option<Expected> {
        let Some((normal, effect)) = self.normal.as_ref().zip(self.effect.as_ref()) else {
            let busiest = self.lived.iter().map(|occurrence| &occurrence.per_min).max()?;
            return Some(Expected { p50: busiest.clone(), p80: busiest.clone(), planned: busiest.clone() });
        };
        let times = |ratio: f64| Some(normal * &Quantity::of_estimate(ratio * growth.point)?);
        Some(Expected {
            p50: times(effect.quantile(0.50, growth.sd))?,
            p80: times(effect.quantile(0.80, growth.sd))?,
            planned: times(effect.planned(growth.sd))?,
        })
    }

    /// What would have been expected of each past occurrence, in their order, from the occurrences and the
    /// normal days before it: the forecast held against what happened. Growth between occurrences is in the
    /// normal days; the prior is the policy's, since one that was learned knows later occurrences too.
    pub(crate) fn hindsight(&self) -> Vec<Option<Expected>> {
        let before = |(place, occurrence): (usize, &Lived)| {
            let earlier = self.lived.get(..place)?.to_vec();
            let normal = occurrence.ratio.as_ref().and_then(|ratio| occurrence.per_min.over(ratio));
            Self::new(earlier, normal, &Prior::default()).expected(Factor::NONE)
        };
        self.lived.iter().enumerate().map(before).collect()
    }

    /// How the expectation came about, as a clause.
    pub(crate) fn told(&self, expected: &Expected, growth: Factor, prior: &Prior) -> String {
        let n = self.lived.len();
        let past = match n {
            0 => "no past occurrence".to_owned(),
            1 => "one past occurrence, which is no trend".to_owned(),
            n => format!("{n} past occurrences"),
        };
        let bounds = match self.censored() {
            0 => String::new(),
            bounds => format!(", {bounds} of them a lower bound"),
        };
        let Some((normal, effect)) = self.normal.as_ref().zip(self.effect.as_ref()) else {
            return format!(
                "{} runs/min, the busiest hour of {past}{bounds}, with no normal busy hour to compare it with; the next may exceed it with probability 1 in {}",
                expected.planned,
                n + 1
            );
        };
        let grown =
            if growth == Factor::NONE { String::new() } else { format!(", grown {:.3} times", growth.point) };
        let learned = match prior.learned_from {
            0 => String::new(),
            n => format!("; what is assumed of events was learned from {n} workflows"),
        };
        let source = if effect.n() == 0 {
            format!("an assumption, since {past} was measured")
        } else {
            format!("from {past}{bounds}; own data weighs {:.0} %", effect.own_weight() * 100.0)
        };
        format!(
            "{} runs/min as likely exceeded as not and {} at P95: {normal} in the busy hour of normal days{grown}, x {:.4} and {:.4} ({source}{learned})",
            expected.p50,
            expected.planned,
            effect.quantile(0.50, growth.sd),
            effect.planned(growth.sd),
        )
    }
}

/// Ratios of the occurrences that are wanted.
pub(crate) fn ratios(lived: &[Lived], wanted: impl Fn(&Lived) -> bool) -> Vec<f64> {
    let wanted = lived.iter().filter(|occurrence| wanted(occurrence));
    wanted.filter_map(|occurrence| Some(occurrence.ratio.as_ref()?.to_f64())).collect()
}
