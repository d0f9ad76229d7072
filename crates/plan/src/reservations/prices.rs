//! What a unit costs by term, and what the same tokens cost on demand.
//!
//! The invariants: no price, no claim about cost; a term that outlives the model that it is bound to is
//! not on offer.

use jiff::SignedDuration;
use plimsoll_catalog::{Call, Carries, Entry, Measure, Term, Unit};

use super::group::{Group, Member};
use crate::context::Context;
use crate::money::exact;
use crate::quantity::Quantity;

/// A term with what one unit costs in it.
#[derive(Debug, Clone)]
pub(super) struct TermPrice {
    pub(super) name: String,
    pub(super) hours: u32,
    /// USD a month.
    pub(super) unit_month: Quantity,
    /// Where the price comes from.
    pub(super) told: String,
}

impl TermPrice {
    /// Bought for as long as it is needed.
    pub(super) fn is_hourly(&self) -> bool {
        self.hours == 1
    }
}

/// The terms on offer with a known price, shortest first; what is held at what was negotiated.
pub(super) fn terms(context: &Context<'_>, group: &Group<'_>, member: &Member<'_>) -> Vec<TermPrice> {
    let Some(unit) = member.unit else { return Vec::new() };
    let mut terms: Vec<TermPrice> = unit
        .terms
        .iter()
        .filter(|term| !outlives_model(context, member, term))
        .filter_map(|term| term_price(context, group, term))
        .collect();
    // A term that the catalog does not list is sold to whoever holds it.
    for held in &group.held {
        if unit.term(&held.term).is_none()
            && let Some(unit_month) = negotiated(group, &held.term)
        {
            let (name, told) = (held.term.clone(), "the negotiated price".to_owned());
            terms.push(TermPrice { name, hours: plimsoll_catalog::HOURS_PER_MONTH, unit_month, told });
        }
    }
    terms.sort_by_key(|term| term.hours);
    terms.dedup_by(|one, other| one.name == other.name);
    terms
}

fn term_price(context: &Context<'_>, group: &Group<'_>, term: &Term) -> Option<TermPrice> {
    let (unit_month, told) = match negotiated(group, &term.name) {
        Some(price) => (price, "the negotiated price".to_owned()),
        None => (exact(term.usd_per_month(context.today)?), format!("the list price of {}", term.name)),
    };
    Some(TermPrice { name: term.name.clone(), hours: term.hours, unit_month, told })
}

/// What is paid for a unit held for a term, USD a month.
fn negotiated(group: &Group<'_>, term: &str) -> Option<Quantity> {
    let held = || group.held.iter().filter(|held| held.term == term);
    let priced = || held().filter_map(|held| Some((held.price_usd_month?, held.units)));
    let units: u64 = priced().map(|(_, units)| units).sum();
    let paid: Quantity = priced().map(|(price, _)| exact(price)).sum();
    paid.over(&units.into())
}

/// Whether a term ends after the model that its units are bound to.
pub(super) fn outlives_model(context: &Context<'_>, member: &Member<'_>, term: &Term) -> bool {
    let bound = member.unit.is_some_and(|unit| !unit.model_independent);
    let end = context.input.as_of.checked_add(SignedDuration::from_hours(i64::from(term.hours)));
    let end = end.map(|end| context.input.calendar.local_date(end));
    let retires = member.entry.and_then(|entry| entry.retires).filter(|_| bound && term.hours > 1);
    retires.is_some_and(|retires| end.is_ok_and(|end| end > retires))
}

/// What one unit of what the units carry costs on demand, USD, by the mix of tokens that the pools' calls
/// had: by the pool's own prices, else by those of the product that its overflow goes to, else by any in
/// which the provider sells the same model in the same scope.
pub(super) fn on_demand(context: &Context<'_>, member: &Member<'_>) -> Option<Quantity> {
    let unit = member.unit?;
    if unit.carries == Carries::Usd {
        return Quantity::ratio(1, super::demand::NANO);
    }
    let call = mix(context, member, unit);
    let carried = member.entry?.meter(&call).settlement.amount(unit.carries.measure());
    let cost = lists(context, member).into_iter().find_map(|entry| entry.cost(&call, context.today))?;
    exact(cost).over(&carried.into())
}

/// Tokens of the history's calls, as far as the units carry them.
fn mix(context: &Context<'_>, member: &Member<'_>, unit: &Unit) -> Call {
    let mut call = Call::default();
    for measured in member.serves.iter().chain(&member.spills_to).filter_map(|id| context.pool_measured(id)) {
        let sums = &measured.tokens;
        if unit.carries.measure() != Measure::OutputTokens {
            call.input_uncached += sums.input_uncached;
            call.cache_read += sums.cache_read;
            call.cache_write += sums.cache_write;
        }
        if unit.carries.measure() != Measure::InputTokens {
            call.output += sums.output;
        }
    }
    call
}

/// Price lists that tell what a call of the model costs on demand, the best first.
fn lists<'c>(context: &Context<'c>, member: &Member<'c>) -> Vec<&'c Entry> {
    let key = &member.key;
    let to = member.entry.and_then(|entry| entry.overflow.as_ref()).map(|overflow| overflow.to.as_str());
    let rank = |entry: &Entry| {
        let other = &entry.key;
        let product = Some(other.product()) == to;
        match other.scope() == key.scope() {
            true if product => Some(0),
            _ if product && other.scope() == "global" => Some(1),
            true => Some(2),
            false => None,
        }
    };
    let model = |entry: &&Entry| (entry.key.provider(), entry.key.model()) == (key.provider(), key.model());
    let mut others: Vec<(u8, &Entry)> = context
        .input
        .catalog
        .in_force(context.today)
        .filter(model)
        .filter_map(|entry| Some((rank(entry)?, entry)))
        .collect();
    others.sort_by_key(|(rank, _)| *rank);
    let own = member.serves.iter().filter(|_| member.on_demand).filter_map(|id| context.entry(&id.pool));
    own.chain(member.entry).chain(others.into_iter().map(|(_, entry)| entry)).collect()
}
