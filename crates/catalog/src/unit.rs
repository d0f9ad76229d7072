//! Reserved units as a provider sells them: PTU, GSU, model unit, bundle, dollars a minute.
//!
//! Leaves which count to buy to the planner, what units cost to [`crate::Term`], and the window in which
//! their use is enforced to [`crate::UnitWindow`]. Invariant: a count is rounded once, up, from an exact
//! demand with its headroom already in, to the increment and then to the minimum.

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::{Measure, Term, UnitWindow, term, unit_window};

/// A reserved unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// Its name with the provider, for example `PTU`.
    pub name: String,
    /// What its throughput is counted in.
    #[serde(default)]
    pub carries: Carries,
    /// What one unit of this model serves in `per_s` seconds; none where the provider does not publish
    /// it, so that no count can be worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<u64>,
    /// The provider does not publish the throughput. A missing figure is no mistake then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpublished: bool,
    /// Seconds that `throughput` is for.
    pub per_s: u32,
    /// Fewest that are sold.
    pub min: u64,
    /// More come in steps of this many.
    pub increment: u64,
    /// Most in one deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// A reservation covers any model of the deployment type, so models are pooled for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_independent: bool,
    /// Where use is enforced over windows that shrink as units grow: those, fewest units first.
    #[serde(default, rename = "window", skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<UnitWindow>,
    /// Terms that are sold, shortest first.
    #[serde(rename = "term")]
    pub terms: Vec<Term>,
}

/// What a unit's throughput is counted in. The demand is what calls have settled at, so cached input and
/// output are already weighed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carries {
    /// Input and output in one sum.
    #[default]
    Tokens,
    /// Input alone; output is carried by another unit.
    InputTokens,
    /// Output alone.
    OutputTokens,
    /// US dollars of use at list price.
    Usd,
}

impl Carries {
    /// The measure that it counts.
    pub fn measure(self) -> Measure {
        match self {
            Self::Tokens => Measure::Tokens,
            Self::InputTokens => Measure::InputTokens,
            Self::OutputTokens => Measure::OutputTokens,
            Self::Usd => Measure::Usd,
        }
    }
}

impl Unit {
    /// Units that serve `demand` (what it [`Carries`] in `per_s` seconds) with `headroom` on top (35/100
    /// for 35 %), rounded up once to what is sold. None where it cannot be counted in 64 bits, or the
    /// throughput is not published.
    ///
    /// ```
    /// # use plimsoll_catalog::{Carries, Unit};
    /// use num_rational::Ratio;
    ///
    /// let ptu = Unit {
    ///     throughput: Some(4750), per_s: 60, min: 15, increment: 5,
    ///     ..Unit::named("PTU", Carries::Tokens)
    /// };
    /// let (demand, tenth) = (16 * 4750_u128, Ratio::new(1, 10));
    /// // 16 x 1.1 = 17.6 units; rounding before and after the headroom would give 25.
    /// assert_eq!(ptu.units_for(demand, tenth), Some(20));
    /// ```
    pub fn units_for(&self, demand: impl Into<Ratio<u128>>, headroom: Ratio<u128>) -> Option<u64> {
        self.sold(&self.raw_units(demand, headroom)?)
    }

    /// The same before it is rounded.
    pub fn raw_units(&self, demand: impl Into<Ratio<u128>>, headroom: Ratio<u128>) -> Option<Ratio<u128>> {
        let padded = demand.into().checked_mul(&headroom.checked_add(&Ratio::from(1))?)?;
        let throughput = self.throughput.filter(|throughput| *throughput > 0)?;
        padded.checked_mul(&Ratio::new(1, throughput.into()))
    }

    /// The smallest count that is sold and is at least `units`: the minimum, or a multiple of the
    /// increment above it.
    pub fn sold(&self, units: &Ratio<u128>) -> Option<u64> {
        if *units <= Ratio::from(u128::from(self.min)) {
            return Some(self.min);
        }
        let increment = u128::from(self.increment.max(1));
        let steps = units.numer().div_ceil(units.denom().checked_mul(&increment)?);
        u64::try_from(steps.checked_mul(increment)?).ok()
    }

    /// What `units` serve in `per_s` seconds; 0 while the throughput is not known.
    pub fn capacity(&self, units: u64) -> u64 {
        self.throughput.unwrap_or(0).saturating_mul(units)
    }

    /// A unit of that name and nothing else: one is sold at a time, for no term, and serves an unknown
    /// amount a minute.
    pub fn named(name: &str, carries: Carries) -> Self {
        Self {
            name: name.to_owned(),
            carries,
            throughput: None,
            unpublished: false,
            per_s: 60,
            min: 1,
            increment: 1,
            max: None,
            model_independent: false,
            windows: Vec::new(),
            terms: Vec::new(),
        }
    }

    /// The term of that name.
    pub fn term(&self, name: &str) -> Option<&Term> {
        self.terms.iter().find(|term| term.name == name)
    }

    /// The share of a unit's full use above which it is cheaper than paying on demand: its price an
    /// hour over what a fully used hour would cost on demand. `shape` is the settled tokens of a
    /// typical call (or of many), `on_demand_usd` what the same tokens cost on demand. Above 1 it
    /// never pays. None where the price is not known or the shape is empty.
    pub fn break_even(&self, usd_per_hour: Decimal, shape: u64, on_demand_usd: Decimal) -> Option<Decimal> {
        let per_hour =
            Decimal::from(self.throughput?).checked_mul(3600.into())?.checked_div(self.per_s.into())?;
        let full_hour = on_demand_usd.checked_mul(per_hour)?.checked_div(shape.into())?;
        usd_per_hour.checked_div(full_hour)
    }

    /// What is wrong with it, if anything: the field and why.
    pub(crate) fn fault(&self) -> Option<(String, String)> {
        if self.min == 0 || self.increment == 0 || self.per_s == 0 {
            return Some(("min".to_owned(), "min, increment and per_s are 1 or more".to_owned()));
        }
        if let Some(served) = self.throughput
            && !(1..=1_000_000_000).contains(&served)
        {
            let message = format!("{served} is not plausible: expected 1 to 1000000000");
            return Some(("throughput".to_owned(), message));
        }
        if self.max.is_some_and(|max| max < self.min) {
            return Some(("max".to_owned(), format!("is below the {} that are the fewest sold", self.min)));
        }
        if self.unpublished && self.throughput.is_some() {
            return Some(("unpublished".to_owned(), "has a `throughput` beside it".to_owned()));
        }
        unit_window::fault(&self.windows).or_else(|| self.terms.iter().find_map(term::fault))
    }
}
