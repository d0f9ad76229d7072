//! The whole answer for one pool.
//!
//! Invariants: limits are held against the larger of admission and settlement; money is reckoned at the
//! mean rate, limits and units at the peak with headroom.

use plimsoll_catalog::{Catalog, Confidence, Dimension, Entry, Measure};

use super::{
    Grant, OtherReading, PoolDemand, PoolSize, PoolSizeError, RateNeed,
    money::{Price, fixed},
    shape::MeanDraw,
    units::{Needed, terms},
};
use crate::{quantity::Quantity, queue::poisson_quantile};

/// What `demand` needs of its pool.
///
/// # Errors
/// [`PoolSizeError`] where the catalog has no row for the pool, a figure cannot be, or a limit or held unit
/// is not one of the pool's.
pub fn size_pool(catalog: &Catalog, demand: &PoolDemand) -> Result<PoolSize, PoolSizeError> {
    demand.calls.iter().try_for_each(|calls| calls.shape.check())?;
    let entry = catalog.row(&demand.pool, demand.as_of)?;
    let unknown = |(name, _): &&(String, Quantity)| entry.dimension(name).is_none();
    if let Some((dimension, _)) = demand.limits.iter().find(unknown) {
        let names: Vec<&str> = entry.dimensions.iter().map(|limit| limit.name.as_str()).collect();
        let (pool, dimension) = (demand.pool.to_string(), dimension.clone());
        return Err(PoolSizeError::Dimension { pool, dimension, known: names.join(", ") });
    }
    if !demand.held.is_empty() && demand.held.len() != entry.units.len() {
        let (pool, given) = (demand.pool.to_string(), demand.held.len());
        return Err(PoolSizeError::Held { pool, given, sold: entry.units.len() });
    }
    let drawn = MeanDraw::of(demand, entry)?;
    let price = Price::of(catalog, entry, demand);
    let of = Sizing { entry, demand, price: price.as_ref() };
    Ok(of.answer(&drawn))
}

struct Sizing<'a> {
    entry: &'a Entry,
    demand: &'a PoolDemand,
    price: Option<&'a Price>,
}

impl Sizing<'_> {
    fn answer(&self, drawn: &MeanDraw<'_>) -> PoolSize {
        let (entry, demand) = (self.entry, self.demand);
        let needed = self.needed(drawn);
        let rates: Vec<RateNeed> =
            entry.dimensions.iter().filter_map(|limit| self.rate(limit, drawn)).collect();
        let on_demand = self.price.map(|price| price.on_demand(&demand.calls_per_min()));
        let hour = self.price.map(|price| price.per_hour(&demand.calls_per_min()));
        let terms = terms(&needed, hour.as_ref().filter(|hour| !hour.is_zero()), demand.as_of);
        let priced = terms.iter().find(|term| term.hourly_usd.is_some());
        let even = terms.iter().filter(|term| term.break_even.is_some());
        let even = even.clone().find(|term| term.hours > 1).or_else(|| even.clone().next());
        let by_units = !needed.is_empty();
        let spent = |units: Option<String>, calls: Option<String>| if by_units { units } else { calls };
        let in_flight = demand.in_flight();
        let only = match needed.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        let by_unit: Vec<_> = needed.iter().map(|kind| kind.count(entry, demand.as_of)).collect();
        let next = needed.iter().filter_map(|kind| kind.next_step_at(demand)).min();
        PoolSize {
            pool: demand.pool.to_string(),
            as_of: demand.as_of,
            units: only.and_then(|kind| kind.units),
            unit: only.map(|kind| kind.unit.name.clone()),
            raw_units: only.and_then(|_| by_unit.first()?.raw_units.clone()),
            by_unit,
            hourly_usd: spent(
                priced.and_then(|term| term.hourly_usd.clone()),
                on_demand.as_ref().map(|cost| cost.hourly_usd.clone()),
            ),
            daily_usd: spent(
                priced.and_then(|term| term.daily_usd.clone()),
                on_demand.as_ref().map(|cost| cost.daily_usd.clone()),
            ),
            monthly_usd: spent(
                priced.and_then(|term| term.monthly_usd.clone()),
                on_demand.as_ref().map(|cost| cost.monthly_usd.clone()),
            ),
            break_even: even.and_then(|term| term.break_even.clone()),
            break_even_term: even.map(|term| term.term.clone()),
            on_demand,
            requests_per_min: demand.calls_per_min(),
            grant: self.grant(&rates),
            in_flight_p95: in_flight.as_ref().map(|mean| poisson_quantile(mean.to_f64(), 0.95)),
            in_flight,
            burst: needed.first().and_then(|kind| kind.burst(demand)),
            held: needed.iter().zip(&demand.held).filter_map(|(kind, held)| kind.held(held)).collect(),
            next_step_at: next.map(|rate| fixed(&rate, 2)),
            sensitivities: self.others(drawn, &needed, &rates),
            warnings: self.warnings(drawn, &needed, &terms),
            rates,
            terms,
        }
    }

    fn needed(&self, drawn: &MeanDraw<'_>) -> Vec<Needed<'_>> {
        let usd = self.price.map(|price| &price.per_call);
        self.entry.units.iter().map(|unit| Needed::of(unit, drawn, usd, self.demand)).collect()
    }

    /// The need of one dimension; none where it cannot be told.
    fn rate(&self, limit: &Dimension, drawn: &MeanDraw<'_>) -> Option<RateNeed> {
        let demand = self.demand;
        let rate = demand.calls_per_min();
        let peak = &rate * &demand.peak_factor;
        // Calls that count against the limit at once: those of its window, or those in flight.
        let calls = match limit.counts {
            Measure::Concurrent => &demand.in_flight()? * &demand.peak_factor,
            Measure::EnqueuedTokens => return None,
            _ => &peak * &Quantity::ratio(limit.window_s, 60)?,
        };
        let (at_start, at_end) = match limit.counts {
            Measure::Usd => {
                let usd = &self.price?.per_call;
                (usd.clone(), usd.clone())
            }
            measure => (drawn.admission(measure), drawn.settlement(measure)),
        };
        let (admission, settlement) = (&calls * &at_start, &calls * &at_end);
        let (per_call, larger, binding) = if admission > settlement {
            (&at_start, &admission, "admission")
        } else {
            (&at_end, &settlement, "settlement")
        };
        let exact_need = larger * &(Quantity::one() + demand.headroom.clone());
        let need = exact_need.ceil();
        let grant = (!limit.from_units).then(|| self.entry.grants.cover(&limit.name, need));
        let given = demand.limits.iter().find(|(name, _)| *name == limit.name).map(|(_, limit)| limit);
        let at = given.and_then(|given| (&rate * given).over(&exact_need));
        Some(RateNeed {
            dimension: limit.name.clone(),
            binding: binding.to_owned(),
            need,
            ask: grant.as_ref().map(|grant| grant.limit),
            grant_step: grant.and_then(|grant| grant.step),
            limit: given.cloned(),
            limit_fits_calls: given.and_then(|given| given.over(per_call)).map(|calls| calls.floor()),
            limit_at: at.map(|rate| fixed(&rate, 2)),
            violated: given.map(|given| *given < exact_need),
            per_call_admission: at_start,
            per_call_settlement: at_end,
            admission,
            settlement,
        })
    }

    /// What covers all needs together.
    fn grant(&self, rates: &[RateNeed]) -> Option<Grant> {
        let grants = &self.entry.grants;
        let needs = || rates.iter().map(|rate| (rate.dimension.as_str(), rate.need));
        let step = grants.step_for(needs()).map(|step| step.name.clone());
        let step = step.or_else(|| grants.beyond.clone().filter(|_| !grants.steps.is_empty()));
        let capacity_units = grants.units_for(needs());
        let unit = grants.capacity_unit.as_ref().map(|unit| unit.name.clone());
        (step.is_some() || capacity_units.is_some()).then_some(Grant { step, capacity_units, unit })
    }

    /// Other readings that ask for another count or another need.
    fn others(&self, drawn: &MeanDraw<'_>, taken: &[Needed<'_>], rates: &[RateNeed]) -> Vec<OtherReading> {
        let other = |(flag, drawn): (usize, MeanDraw<'_>)| {
            let flag = self.entry.flags.get(flag)?;
            let alternative = flag.alternative.as_ref()?;
            let needed = self.needed(&drawn);
            let stays = |limit: &&Dimension| !alternative.without.contains(&limit.name);
            let limits = self.entry.dimensions.iter().filter(stays);
            let needs: Vec<(String, u64)> = limits
                .filter_map(|limit| self.rate(limit, &drawn))
                .map(|rate| (rate.dimension, rate.need))
                .collect();
            let same = needs
                .iter()
                .map(|(dimension, need)| (dimension, *need))
                .eq(rates.iter().map(|rate| (&rate.dimension, rate.need)));
            let counts = |kinds: &[Needed<'_>]| kinds.iter().map(|kind| kind.units).collect::<Vec<_>>();
            if same && counts(&needed) == counts(taken) {
                return None;
            }
            Some(OtherReading {
                flag: flag.name.clone(),
                question: flag.question.clone(),
                taken: flag.taken.clone(),
                reading: alternative.reading.clone(),
                units: match needed.as_slice() {
                    [only] => only.units,
                    _ => None,
                },
                needs,
            })
        };
        drawn.others().into_iter().filter_map(other).collect()
    }

    fn warnings(
        &self,
        drawn: &MeanDraw<'_>,
        needed: &[Needed<'_>],
        terms: &[super::TermCost],
    ) -> Vec<String> {
        let (entry, demand) = (self.entry, self.demand);
        let mut warnings = Vec::new();
        if let Some(day) = entry.retires.filter(|day| *day <= demand.as_of) {
            warnings.push(format!("{} was retired on {day}; the row still answers", entry.key));
        }
        if entry.is_fallback() {
            warnings.push(format!("no row of its own: `{}` answers", entry.key));
        }
        if drawn.is_lower_bound() {
            warnings.push(
                "max_tokens is not given and what the provider reserves then is not known: the admission is a \
                 lower bound, reckoned with the output"
                    .to_owned(),
            );
        }
        for kind in needed {
            let name = &kind.unit.name;
            if kind.unit.throughput.is_none() {
                warnings.push(format!(
                    "what one {name} serves is not published: its count is unknown; measure it, or ask the \
                     provider, and put `unit_throughput` into a provider file of your own"
                ));
            } else if kind.raw.is_none() {
                warnings.push(format!("no price is known that {name} could be counted in: give --price"));
            }
            if let (Some(units), Some(max)) = (kind.units, kind.unit.max)
                && units > max
            {
                let deployments = units.div_ceil(max);
                warnings.push(format!(
                    "{units} {name} are above the {max} of one deployment: {deployments} deployments"
                ));
            }
            if let Some(burst) = kind.burst(demand).filter(|burst| !burst.fits) {
                let what = if demand.burst_calls.is_some() { "the burst" } else { "one call" };
                warnings.push(format!(
                    "{what} draws {} at once, above the {} that {} {name} let through in their shortest window \
                     of {} s: it spills over as a whole, and nothing is carried over",
                    burst.amount,
                    burst.budget,
                    kind.units.unwrap_or_default(),
                    burst.window_s
                ));
            }
        }
        if !needed.is_empty() && terms.iter().all(|term| term.hourly_usd.is_none()) {
            warnings.push("no price of the units is known for any term".to_owned());
        }
        if self.price.is_none() {
            warnings.push(
                "what these calls cost on demand is not known: give --price, or prices in a provider file of \
                 your own"
                    .to_owned(),
            );
        }
        for source in entry.stale_sources(demand.as_of) {
            warnings.push(format!(
                "stale: `{}` was read on {}, more than 180 days before",
                source.title, source.read_on
            ));
        }
        let second_hand = |confidence| matches!(confidence, Confidence::SecondHand | Confidence::Derived);
        if entry.sources.iter().all(|source| second_hand(source.confidence)) {
            warnings.push("every source of this row is second-hand".to_owned());
        }
        warnings
    }
}
