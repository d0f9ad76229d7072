//! What can be bought for a group: the best count of every deployment, term by term.
//!
//! Offers of different terms stand against each other by what they save over the same hours on demand, since
//! a month and a year see different demand. The invariant: all of a group's deployments are bought for one
//! term, as one reservation.

use std::collections::BTreeMap;

use plimsoll_catalog::{HOURS_PER_MONTH, Unit};

use super::curve::MONTH_S;
use super::demand::{Demand, Part, window_of};
use super::group::{Group, Member};
use super::measured;
use super::prices::{TermPrice, on_demand, terms};
use super::search::{Costed, Question, carried_in};
use crate::context::Context;
use crate::horizon::Horizon;
use crate::quantity::Quantity;
use crate::rates::Rhythm;

/// Price of a unit over what its full use would cost on demand, both for the same time: above this
/// share of use the unit is the cheaper one. `None` where a fully used unit is worth nothing.
#[must_use]
pub fn break_even(unit_price: &Quantity, full_use_on_demand: &Quantity) -> Option<Quantity> {
    unit_price.over(full_use_on_demand)
}

/// A deployment with its demand.
pub(super) struct Load<'g> {
    pub(super) member: &'g Member<'g>,
    /// What one of what its units carry costs on demand, USD.
    pub(super) on_demand: Option<Quantity>,
    /// `None` where there is nothing to replay.
    pub(super) replayed: Option<Demand>,
    /// The demand by hours of a term; of no hours where it is the same for every term.
    parts: BTreeMap<u64, Vec<Part>>,
}

impl<'g> Load<'g> {
    fn of(
        context: &Context<'_>,
        rhythm: &Rhythm<'_>,
        horizon: &Horizon,
        member: &'g Member<'g>,
        terms: &[TermPrice],
    ) -> Self {
        let replayed = match context.input.quick {
            true => None,
            false => Demand::replayed(context, rhythm, horizon, member),
        };
        let parts = match &replayed {
            Some(demand) => {
                let hours = terms.iter().map(|term| term.hours).chain([HOURS_PER_MONTH]).map(hours_of);
                hours.map(|hours| (hours, demand.over(horizon, hours))).collect()
            }
            None => measured::parts(context, rhythm, horizon, member)
                .map(|parts| (0, parts))
                .into_iter()
                .collect(),
        };
        Self { member, on_demand: on_demand(context, member), replayed, parts }
    }

    /// The demand over the hours of a term, or of a month; none where it is not known.
    pub(super) fn parts(&self, term_hours: u32) -> &[Part] {
        self.parts.get(&hours_of(term_hours)).or(self.parts.get(&0)).map_or(&[], Vec::as_slice)
    }
}

/// Hours that a term is held against: a month for what is bought by the hour.
fn hours_of(term_hours: u32) -> u64 {
    u64::from(if term_hours == 1 { HOURS_PER_MONTH } else { term_hours })
}

/// One term with the counts that are best in it.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) term: TermPrice,
    /// By deployment.
    pub(super) counts: Vec<Costed>,
    /// The same demand without a reservation, USD a month.
    pub(super) on_demand: Quantity,
    /// Share of the units that would be used; `None` without units.
    pub(super) used: Option<Quantity>,
    pub(super) break_even: Option<Quantity>,
    /// Units that the floors need, by deployment.
    pub(super) floors: Vec<u64>,
    /// Length of the demand that it was held against, seconds.
    pub(super) seconds: u64,
}

impl Offer {
    pub(super) fn units(&self) -> u64 {
        self.counts.iter().map(|costed| costed.units).sum()
    }

    pub(super) fn sum(&self, of: impl Fn(&Costed) -> Quantity) -> Quantity {
        self.counts.iter().map(of).sum()
    }

    pub(super) fn total(&self) -> Quantity {
        self.sum(Costed::total)
    }

    pub(super) fn saving(&self) -> Quantity {
        self.on_demand.clone() - self.total()
    }

    pub(super) fn covers_floors(&self) -> bool {
        self.counts.iter().zip(&self.floors).all(|(costed, floor)| costed.units >= *floor)
    }
}

/// What is bought at which price.
pub(super) struct Market<'g> {
    pub(super) loads: Vec<Load<'g>>,
    /// Terms with a known price, shortest first.
    pub(super) terms: Vec<TermPrice>,
}

impl<'g> Market<'g> {
    pub(super) fn of(
        context: &Context<'_>,
        rhythm: &Rhythm<'_>,
        horizon: &Horizon,
        group: &'g Group<'g>,
    ) -> Self {
        let terms = group.members.first().map(|member| terms(context, group, member)).unwrap_or_default();
        let load = |member: &'g Member<'g>| Load::of(context, rhythm, horizon, member, &terms);
        let loads: Vec<Load<'g>> = group.members.iter().map(load).collect();
        Self { loads, terms }
    }

    /// Whether any cost can be told: of units, and of what does not fit into them.
    pub(super) fn is_priced(&self) -> bool {
        let priced = |load: &Load<'_>| load.on_demand.is_some() && !load.parts(HOURS_PER_MONTH).is_empty();
        !self.terms.is_empty() && !self.loads.is_empty() && self.loads.iter().all(priced)
    }

    /// The term of that name.
    pub(super) fn term(&self, name: &str) -> Option<&TermPrice> {
        self.terms.iter().find(|term| term.name == name)
    }

    /// The best counts of every term, with the floors of tiers 0 and 1 covered, or by cost alone.
    pub(super) fn offers(&self, protects: bool) -> Vec<Offer> {
        self.terms.iter().filter_map(|term| self.offer(term, protects, None)).collect()
    }

    /// The best counts for a term, or this count where there is one deployment.
    pub(super) fn offer(&self, term: &TermPrice, protects: bool, units: Option<u64>) -> Option<Offer> {
        let hourly = self.terms.iter().find(|term| term.is_hourly()).map(|term| &term.unit_month);
        let mut offer = Offer {
            term: term.clone(),
            counts: Vec::new(),
            on_demand: Quantity::zero(),
            used: None,
            break_even: self.break_even(term),
            floors: self.floors(term.hours, 1),
            seconds: 0,
        };
        let mut used = Quantity::zero();
        for load in &self.loads {
            let (unit, on_demand) = (load.member.unit?, load.on_demand.as_ref()?);
            let parts = load.parts(term.hours);
            let question = Question {
                unit,
                window_s: window_of(unit, load.member),
                unit_month: &term.unit_month,
                hourly_month: hourly,
                on_demand,
                parts,
                protects: protects.then_some(1),
            };
            let costed = match units {
                Some(units) => question.cost(units),
                None => question.cheapest()?,
            };
            used = used + &question.used(costed.units).unwrap_or_default() * &costed.units.into();
            offer.on_demand = offer.on_demand + question.all_on_demand();
            offer.seconds = offer.seconds.max(parts.iter().map(|part| part.seconds).sum());
            offer.counts.push(costed);
        }
        offer.used = used.over(&offer.units().into());
        Some(offer)
    }

    /// Units that the floors of a tier and of more urgent ones need in ordinary hours of a term, by deployment.
    pub(super) fn floors(&self, term_hours: u32, tier: usize) -> Vec<u64> {
        let nothing = Quantity::zero();
        let of = |load: &Load<'g>| {
            let unit = load.member.unit?;
            let parts = load.parts(term_hours);
            Some(Question { protects: Some(tier), ..unpriced(unit, &nothing, parts) }.floor_units())
        };
        self.loads.iter().map(|load| of(load).unwrap_or(0)).collect()
    }

    /// The break-even of a term, of the first deployment.
    pub(super) fn break_even(&self, term: &TermPrice) -> Option<Quantity> {
        let load = self.loads.first()?;
        let full = &carried_in(load.member.unit?, MONTH_S)? * load.on_demand.as_ref()?;
        break_even(&term.unit_month, &full)
    }

    /// The counts next to one, and none: for one deployment, whose count is the reservation's.
    pub(super) fn neighbours(&self, units: u64) -> Vec<u64> {
        let [load] = self.loads.as_slice() else { return Vec::new() };
        let Some(unit) = load.member.unit else { return Vec::new() };
        let nothing = Quantity::zero();
        let question = unpriced(unit, &nothing, &[]);
        [question.previous(units), question.next(units)]
            .into_iter()
            .flatten()
            .filter(|units| *units > 0)
            .collect()
    }
}

/// The offer that saves most, of equal ones the shortest term.
pub(super) fn best(offers: &[Offer]) -> Option<&Offer> {
    offers.iter().reduce(|best, offer| if offer.saving() > best.saving() { offer } else { best })
}

/// A question that no cost answers.
fn unpriced<'q>(unit: &'q Unit, nothing: &'q Quantity, parts: &'q [Part]) -> Question<'q> {
    Question {
        unit,
        window_s: 60,
        unit_month: nothing,
        hourly_month: None,
        on_demand: nothing,
        parts,
        protects: None,
    }
}
