//! The cheapest count of units: every count that is sold, against the demand of a term.
//!
//! Cost is the reservation and what does not fit into it on demand; inside an event more units may be bought
//! by the hour, where they are sold so, since a peak of three days is no reason for a term. Leaves words and
//! terms to `reservations`. The invariants: every count is one that the provider sells and is looked at, unless
//! its price alone is above the best cost found; costs are exact.

use num_rational::Ratio;
use plimsoll_catalog::{Carries, Unit};

use super::curve::Curve;
use super::demand::{NANO, Part};
use crate::quantity::Quantity;

/// Counts that are looked at, at most: of a unit that serves next to nothing there are millions.
const COUNTS: usize = 200_000;

/// What is asked: units of one deployment over one term.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'q> {
    pub(super) unit: &'q Unit,
    /// Window of a unit that has none of its own, seconds.
    pub(super) window_s: u32,
    /// What one unit costs, USD a month.
    pub(super) unit_month: &'q Quantity,
    /// The same bought by the hour; none where it is not sold so, or at a price that is not known.
    pub(super) hourly_month: Option<&'q Quantity>,
    /// What one of what the units carry costs on demand, USD.
    pub(super) on_demand: &'q Quantity,
    /// The ordinary hours and those of each event.
    pub(super) parts: &'q [Part],
    /// Up to which tier the floors must be covered; none: by cost alone.
    pub(super) protects: Option<usize>,
}

/// What a count costs, USD a month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Costed {
    pub(super) units: u64,
    pub(super) reservation: Quantity,
    /// On demand.
    pub(super) overflow: Quantity,
    pub(super) by_the_hour: Vec<TopUp>,
}

/// Units bought for the hours of an event, beside those of the term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopUp {
    pub(super) event: String,
    pub(super) units: u64,
    /// Over the term.
    pub(super) seconds: u64,
    /// USD a month.
    pub(super) cost: Quantity,
}

impl Costed {
    pub(super) fn total(&self) -> Quantity {
        let hours: Quantity = self.by_the_hour.iter().map(|top_up| top_up.cost.clone()).sum();
        &(&self.reservation + &self.overflow) + &hours
    }
}

impl Question<'_> {
    /// The cheapest count that covers what must be protected; of equal costs the fewest units.
    pub(super) fn cheapest(&self) -> Option<Costed> {
        let counts = self.counts();
        let least = self.floor_units();
        let events = self.events(&counts);
        let mut best: Option<(Quantity, usize)> = None;
        for (index, units) in counts.iter().enumerate().filter(|(_, units)| **units >= least) {
            let reserved = self.unit_month * &Quantity::from(*units);
            if best.as_ref().is_some_and(|(cost, _)| reserved > *cost) {
                break;
            }
            let cost = self.costed(*units, index, &events).total();
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, index));
            }
        }
        let (_, index) = best?;
        Some(self.costed(*counts.get(index)?, index, &events))
    }

    /// What any count costs, whether it covers what must be protected or not, with units by the hour where they
    /// are cheaper.
    pub(super) fn cost(&self, units: u64) -> Costed {
        let mut counts = self.counts();
        counts.retain(|count| *count > units);
        counts.insert(0, units);
        let events = self.events(&counts);
        self.costed(units, 0, &events)
    }

    /// What all of the demand costs on demand, USD a month.
    pub(super) fn all_on_demand(&self) -> Quantity {
        let demand = self.parts.iter().filter_map(|part| Some(&part.curves.first()?.demand() * &part.share));
        &demand.sum::<Quantity>() * self.on_demand
    }

    /// Share of a count that is used, over all of the term.
    pub(super) fn used(&self, units: u64) -> Option<Quantity> {
        let used = self.parts.iter().map(|part| {
            let (curve, capacity) = self.held(part, units)?;
            Some(&curve.used(capacity)? * &part.share)
        });
        used.collect::<Option<Vec<_>>>().map(|used| used.into_iter().sum())
    }

    /// Units that cover the floors of the ordinary hours.
    pub(super) fn floor_units(&self) -> u64 {
        let ordinary = self.parts.iter().filter(|part| part.event.is_none());
        ordinary.map(|part| self.floor_of(part)).max().unwrap_or(0)
    }

    /// Units that cover the floor of a part of the time; 0 where nothing is to be covered.
    fn floor_of(&self, part: &Part) -> u64 {
        let floor = self.protects.and_then(|tier| part.floors.get(tier)).filter(|floor| !floor.is_zero());
        let units = |floor: &Quantity| {
            let wanted = floor.over(&carried_in(self.unit, 60)?)?;
            self.unit.sold(&Ratio::from(u128::from(wanted.ceil())))
        };
        floor.and_then(units).unwrap_or(0)
    }

    /// None, and every count that is sold up to the one into which all of the demand fits.
    fn counts(&self) -> Vec<u64> {
        let last_window = self.unit.windows.last().map_or(0, |window| window.from_units);
        let least = self.parts.iter().map(|part| self.floor_of(part)).max().unwrap_or(0);
        let mut counts = vec![0];
        let mut next = self.next(0);
        while let Some(units) = next {
            counts.push(units);
            let fits = self
                .parts
                .iter()
                .all(|part| self.held(part, units).is_some_and(|(curve, capacity)| curve.peak() <= capacity));
            if (fits && units >= last_window.max(least)) || counts.len() >= COUNTS {
                break;
            }
            next = self.next(units);
        }
        counts
    }

    /// The next larger count that is sold.
    pub(super) fn next(&self, units: u64) -> Option<u64> {
        let next = self.unit.sold(&Ratio::from(u128::from(units) + 1))?;
        Some(next).filter(|next| self.unit.max.is_none_or(|max| *next <= max))
    }

    /// The next smaller count that is sold; none is the smallest.
    pub(super) fn previous(&self, units: u64) -> Option<u64> {
        let increment = self.unit.increment.max(1);
        match units {
            0 => None,
            units if units <= self.unit.min => Some(0),
            units => Some(((units - 1) / increment * increment).max(self.unit.min)),
        }
    }

    /// The curve by whose windows a count is enforced, and what it serves in one.
    fn held<'p>(&self, part: &'p Part, units: u64) -> Option<(&'p Curve, u64)> {
        let seconds = self.unit.window(units.max(1)).map_or(self.window_s, |window| window.shortest_s);
        let curve = part.curves.iter().find(|curve| curve.window_s == seconds)?;
        Some((curve, self.unit.budget(units, seconds)?.saturating_mul(scale(self.unit))))
    }

    /// What does not fit into a count in a part of the time, on demand, USD a month of the term.
    fn overflow(&self, part: &Part, units: u64) -> Quantity {
        let above = self.held(part, units).map(|(curve, capacity)| curve.above(capacity));
        &(&above.unwrap_or_default() * &part.share) * self.on_demand
    }

    /// For each event the best count of the hour from each count on, or that count itself where units are not
    /// sold by the hour.
    fn events(&self, counts: &[u64]) -> Vec<Event<'_>> {
        let of = |part| {
            let floor = self.floor_of(part);
            let a_unit = self.hourly_month.map(|hourly| hourly * &part.share);
            let mut best = counts.to_vec();
            if let Some(a_unit) = &a_unit {
                let mut cheapest: Option<(Quantity, u64)> = None;
                for units in best.iter_mut().rev() {
                    let cost = a_unit * &Quantity::from(*units) + self.overflow(part, *units);
                    let (least, held) = match cheapest {
                        Some((least, held)) if *units < floor || cost > least => (least, held),
                        _ => (cost, *units),
                    };
                    cheapest = Some((least, held));
                    *units = held;
                }
            }
            Event { part, best, a_unit }
        };
        self.parts.iter().filter(|part| part.event.is_some()).map(of).collect()
    }

    fn costed(&self, units: u64, index: usize, events: &[Event<'_>]) -> Costed {
        let ordinary = self.parts.iter().filter(|part| part.event.is_none());
        let mut overflow: Quantity = ordinary.map(|part| self.overflow(part, units)).sum();
        let mut by_the_hour = Vec::new();
        for event in events {
            let inside = event.best.get(index).copied().unwrap_or(units);
            overflow = overflow + self.overflow(event.part, inside);
            if let (Some(a_unit), true) = (&event.a_unit, inside > units) {
                by_the_hour.push(TopUp {
                    event: event.part.event.clone().unwrap_or_default(),
                    units: inside - units,
                    seconds: event.part.seconds,
                    cost: a_unit * &Quantity::from(inside - units),
                });
            }
        }
        Costed { units, reservation: self.unit_month * &Quantity::from(units), overflow, by_the_hour }
    }
}

/// An event's hours.
struct Event<'q> {
    part: &'q Part,
    /// By the place of a count of the term: the count inside the event.
    best: Vec<u64>,
    /// What one more unit costs for the event's hours, USD a month.
    a_unit: Option<Quantity>,
}

/// Demand in dollars is counted in parts of them.
fn scale(unit: &Unit) -> u64 {
    if unit.carries == Carries::Usd { NANO } else { 1 }
}

/// What one unit carries in so many seconds, as demand is counted.
pub(super) fn carried_in(unit: &Unit, seconds: u64) -> Option<Quantity> {
    let a_second =
        Quantity::ratio(u128::from(unit.throughput?) * u128::from(scale(unit)), unit.per_s.max(1))?;
    Some(&a_second * &seconds.into())
}

#[cfg(test)]
mod tests;
