//! Reserved units: how many, for which term, at which break-even.
//!
//! Invariant: a count is rounded once, from the peak demand with headroom; the break-even compares exact
//! fractions of units with the same calls on demand, so that rounding up does not show in it.

use jiff::civil::Date;
use plimsoll_catalog::{Carries, Entry, HOURS_PER_MONTH, Measure, Term, Unit};

use super::{
    BurstFit, HeldUnits, PoolDemand, TermCost, UnitCount,
    money::{count, decimal, fixed},
    shape::MeanDraw,
};
use crate::{
    money::{exact, usd},
    quantity::Quantity,
};

/// One kind of unit, and what the demand asks of it.
pub(super) struct Needed<'a> {
    pub(super) unit: &'a Unit,
    /// What one call draws of it; none while a price that it is counted in is not known.
    per_call: Option<Quantity>,
    /// Exact units of the mean rate, without headroom.
    mean: Option<Quantity>,
    /// Exact units of the peak, without headroom.
    peak: Option<Quantity>,
    /// Exact units of the peak, with headroom.
    pub(super) raw: Option<Quantity>,
    /// What is to be had.
    pub(super) units: Option<u64>,
}

impl<'a> Needed<'a> {
    pub(super) fn of(
        unit: &'a Unit,
        drawn: &MeanDraw<'_>,
        usd: Option<&Quantity>,
        demand: &PoolDemand,
    ) -> Self {
        let per_call = match unit.carries {
            Carries::Usd => usd.cloned(),
            carries => Some(drawn.settlement(carries.measure())),
        };
        let throughput = unit.throughput.map(Quantity::from);
        let units = |calls_per_min: &Quantity| {
            let window = Quantity::ratio(unit.per_s, 60)?;
            (&(per_call.as_ref()? * calls_per_min) * &window).over(throughput.as_ref()?)
        };
        let rate = demand.calls_per_min();
        let (mean, peak) = (units(&rate), units(&(&rate * &demand.peak_factor)));
        let raw = peak.as_ref().map(|peak| peak * &(Quantity::one() + demand.headroom.clone()));
        let burst = demand.burst_calls.as_ref().and_then(|calls| Some(calls * per_call.as_ref()?));
        let sold = || {
            let served = |units: &Quantity| (units * throughput.as_ref()?).to_ratio();
            match burst {
                Some(burst) => unit.units_for_burst(
                    served(peak.as_ref()?)?,
                    burst.to_ratio()?,
                    demand.headroom.to_ratio()?,
                ),
                None => unit.units_for(served(peak.as_ref()?)?, demand.headroom.to_ratio()?),
            }
        };
        let units = sold();
        Self { unit, per_call, mean, peak, raw, units }
    }

    pub(super) fn count(&self, entry: &Entry, as_of: Date) -> UnitCount {
        let priced = self.unit.terms.iter().find_map(|term| term.usd_per_hour(as_of));
        let per_hour = self
            .unit
            .throughput
            .and_then(|throughput| Quantity::ratio(u128::from(throughput) * 3600, self.unit.per_s));
        let million = || (&exact(priced?) * &1_000_000.into()).over(&per_hour?);
        let tokens = self.unit.carries.measure() != Measure::Usd;
        UnitCount {
            unit: self.unit.name.clone(),
            dimension: dimension(entry, self.unit),
            units: self.units,
            raw_units: self.raw.as_ref().map(count),
            min: self.unit.min,
            increment: self.unit.increment,
            usd_per_million_at_full_use: million().filter(|_| tokens).map(|usd| fixed(&usd, 2)),
        }
    }

    /// Calls a minute, mean, at which these units no longer suffice.
    pub(super) fn next_step_at(&self, demand: &PoolDemand) -> Option<Quantity> {
        let raw = self.raw.as_ref().filter(|raw| !raw.is_zero())?;
        (&demand.calls_per_min() * &self.units?.into()).over(raw)
    }

    /// The burst against the worst documented window of the units to be had. Without a burst, one call:
    /// a call that is larger than a window spills over whatever is held.
    pub(super) fn burst(&self, demand: &PoolDemand) -> Option<BurstFit> {
        let units = self.units?;
        let window = self.unit.window(units)?;
        let calls = demand.burst_calls.clone().unwrap_or_else(Quantity::one);
        let amount = &calls * self.per_call.as_ref()?;
        let budget = self.unit.worst_budget(units)?;
        Some(BurstFit {
            window_s: window.shortest_s,
            longest_window_s: window.longest_s,
            budget,
            fits: amount <= budget.into(),
            amount,
        })
    }

    pub(super) fn held(&self, held: &Quantity) -> Option<HeldUnits> {
        let (unit, peak) = (self.unit, self.peak.as_ref()?);
        let serves = &(held * &unit.throughput?.into()) * &Quantity::ratio(60, unit.per_s)?;
        let per_min = serves.over(self.per_call.as_ref()?)?;
        let covered = peak.min(held);
        Some(HeldUnits {
            unit: unit.name.clone(),
            units: held.clone(),
            serves_requests_per_min: fixed(&per_min, 2),
            serves_requests_per_hour: (&per_min * &60.into()).floor(),
            covered: count(covered),
            overflow: count(&(peak.clone() - covered.clone())),
            beyond: self.units.map(|units| units.saturating_sub(held.floor())),
        })
    }
}

/// Name of the dimension that a unit carries.
fn dimension(entry: &Entry, unit: &Unit) -> String {
    let carried = |measure: Measure| {
        entry.dimensions.iter().find(|limit| limit.counts == measure).map(|limit| limit.name.clone())
    };
    carried(unit.carries.measure()).unwrap_or_else(|| unit.carries.measure().to_string())
}

/// What all units cost by term, shortest first; `on_demand_hour` is what the mean rate costs on demand.
pub(super) fn terms(needed: &[Needed<'_>], on_demand_hour: Option<&Quantity>, as_of: Date) -> Vec<TermCost> {
    let Some(first) = needed.first() else { return Vec::new() };
    first.unit.terms.iter().map(|term| term_cost(needed, term, on_demand_hour, as_of)).collect()
}

fn term_cost(needed: &[Needed<'_>], term: &Term, on_demand_hour: Option<&Quantity>, as_of: Date) -> TermCost {
    let hours = Quantity::from(u64::from(term.hours));
    // USD an hour of so many units of each kind; none where a count or a price is missing.
    let hourly = |units: &dyn Fn(&Needed<'_>) -> Option<Quantity>| -> Option<Quantity> {
        needed
            .iter()
            .map(|kind| {
                let price = exact(kind.unit.term(&term.name)?.usd(as_of)?);
                (&price * &units(kind)?).over(&hours)
            })
            .sum()
    };
    let whole = hourly(&|kind| kind.units.map(Quantity::from));
    let mean = hourly(&|kind| kind.mean.clone());
    let even = || mean.as_ref()?.over(on_demand_hour?);
    let unit_usd = match needed {
        [_] => term.usd(as_of).map(|usd| decimal(&exact(usd), 6)),
        _ => None,
    };
    TermCost {
        term: term.name.clone(),
        hours: term.hours,
        unit_usd,
        term_usd: whole.as_ref().map(|hour| usd(&(hour * &hours))),
        hourly_usd: whole.as_ref().map(usd),
        daily_usd: whole.as_ref().map(|hour| usd(&(hour * &24.into()))),
        monthly_usd: whole.as_ref().map(|hour| usd(&(hour * &u64::from(HOURS_PER_MONTH).into()))),
        break_even: even().map(|share| fixed(&share, 2)),
    }
}

/// Units deployed beyond those reserved, which are billed by the hour: a reservation holds for all
/// deployments of its type, region and scope, whatever the model.
pub fn overage(deployed: &[u64], reserved: u64) -> u64 {
    deployed.iter().fold(0u64, |sum, units| sum.saturating_add(*units)).saturating_sub(reserved)
}
