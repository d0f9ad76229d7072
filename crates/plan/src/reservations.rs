//! Reserved units: what is held, how much of it is used, and what to do with it.
//!
//! Sized on the load-duration curve of the minutes that were measured, never on a quota's peak. A
//! first recommendation: terms and shapes of a later date are replay's. The invariants: no price, no
//! claim about cost; a recommended count is one that the provider sells.

use jiff::civil::Date;
use plimsoll_catalog::{Call, Entry, PoolKey, Unit};

use crate::context::{Context, PoolId};
use crate::money::{exact, usd};
use crate::quantity::Quantity;
use crate::spec::ReservationSpec;
use crate::{Alternative, PoolMeasured, ReservationPlan};

const HOURS_A_MONTH: u64 = 730;
const MINUTES_A_MONTH: u64 = HOURS_A_MONTH * 60;
/// Points of the load-duration curve, beside its peak.
const CURVE_POINTS: u64 = 100;
/// Unit counts that are looked at between nothing and the peak, at most.
const COUNTS: u64 = 400;
/// Minutes below which use is not judged: "below this for a month", taken as four weeks.
const ENOUGH_MINUTES: u64 = 28 * 24 * 60;

/// One row per reservation held.
pub(crate) fn reservations(context: &Context<'_>) -> Vec<ReservationPlan> {
    context.spec().reservations.iter().map(|held| reservation(context, held)).collect()
}

/// Price of a unit over what its full use would cost on demand, both for the same time: above this
/// share of use the unit is the cheaper one. `None` where a fully used unit is worth nothing.
#[must_use]
pub fn break_even(unit_price: &Quantity, full_use_on_demand: &Quantity) -> Option<Quantity> {
    unit_price.over(full_use_on_demand)
}

/// The measured minutes, as a load-duration curve in settled tokens.
struct Load {
    /// Busy minutes, ascending.
    amounts: Vec<u64>,
    /// Sum of the amounts from each index on; one longer than `amounts`.
    from_here: Vec<u128>,
    covered: u64,
}

impl Load {
    fn of(measured: &PoolMeasured) -> Option<Self> {
        let mut amounts = measured.minute_amounts.get("settlement.tokens")?.clone();
        amounts.sort_unstable();
        let mut from_here = vec![0u128; amounts.len() + 1];
        for (index, amount) in amounts.iter().enumerate().rev() {
            from_here[index] = from_here[index + 1] + u128::from(*amount);
        }
        let covered = measured.minutes_covered.max(u64::try_from(amounts.len()).ok()?);
        (covered > 0).then_some(Self { amounts, from_here, covered })
    }

    /// Tokens above a capacity a minute, over all minutes.
    fn above(&self, capacity: &Quantity) -> Quantity {
        let first = self.amounts.partition_point(|amount| Quantity::from(*amount) <= *capacity);
        let total = self.from_here.get(first).copied().unwrap_or(0);
        let minutes = u64::try_from(self.amounts.len() - first).unwrap_or(u64::MAX);
        Quantity::ratio(total, 1).unwrap_or_default() - capacity * &minutes.into()
    }

    /// Share of a capacity that was used, over all covered minutes.
    fn used(&self, capacity: &Quantity) -> Option<Quantity> {
        let all = Quantity::ratio(self.from_here.first().copied().unwrap_or(0), 1)?;
        (all - self.above(capacity)).over(&(capacity * &self.covered.into()))
    }

    /// The amount that the busiest `share` of covered minutes reach; 0 where they were idle.
    fn reached(&self, numerator: u64, denominator: u64) -> u64 {
        let rank = u128::from(self.covered) * u128::from(numerator) / u128::from(denominator.max(1));
        let rank = usize::try_from(rank).unwrap_or(usize::MAX);
        self.amounts.iter().rev().nth(rank).copied().unwrap_or(0)
    }
}

/// What a unit and a token cost.
struct Prices {
    /// One unit, USD a month.
    unit_month: Quantity,
    /// Where the price comes from.
    told: String,
    /// One settled token on demand, USD; `None` while prices are not known.
    token: Option<Quantity>,
}

fn reservation(context: &Context<'_>, held: &ReservationSpec) -> ReservationPlan {
    let entry = context.entry(&held.pool);
    let unit = entry.and_then(|entry| entry.units.first());
    let mut plan = ReservationPlan {
        pool: held.pool.clone(),
        unit: unit.map_or_else(|| "unit".to_owned(), |unit| unit.name.clone()),
        held: held.units,
        recommended: held.units,
        term: Some(held.term.clone()),
        until: held.until,
        action: "unknown".to_owned(),
        ..ReservationPlan::default()
    };
    let measured = context.measured().pools.iter().find(|pool| covers(held, pool));
    let Some((unit, served)) = unit.and_then(|unit| Some((unit, unit.throughput?))) else {
        plan.reason =
            "the catalog does not know what a unit of this pool serves: add it in a provider file".to_owned();
        return plan;
    };
    let prices = prices(context, held, unit, measured);
    let price_of = |units: u64| prices.as_ref().map(|prices| &prices.unit_month * &units.into());
    plan.held_cost_usd = price_of(held.units).as_ref().map(usd);
    plan.monthly_cost_usd = plan.held_cost_usd.clone();
    let Some(load) = measured.and_then(Load::of) else {
        plan.reason = "no minute of this pool was measured: its use is not known".to_owned();
        return plan;
    };
    let Some(per_unit) = Quantity::from(served.saturating_mul(60)).over(&u64::from(unit.per_s.max(1)).into())
    else {
        return plan;
    };
    let capacity = |units: u64| &per_unit * &units.into();
    let used = load.used(&capacity(held.units));
    plan.utilization = used.as_ref().map(Quantity::to_f64);
    plan.load_duration = curve(&load, &per_unit);
    let idle = used.clone().map(|used| Quantity::one() - used);
    plan.idle_usd = price_of(held.units).zip(idle).map(|(cost, idle)| usd(&(cost * idle)));
    let full_month = prices
        .as_ref()
        .and_then(|prices| Some(&(&per_unit * &MINUTES_A_MONTH.into()) * prices.token.as_ref()?));
    let even = prices
        .as_ref()
        .zip(full_month.as_ref())
        .and_then(|(prices, full)| break_even(&prices.unit_month, full));
    plan.break_even = even.as_ref().map(Quantity::to_f64);

    let told = told(&load, &plan, prices.as_ref());
    match (&prices, prices.as_ref().and_then(|prices| prices.token.as_ref())) {
        (Some(prices), Some(token)) => {
            let cost = |units: u64| monthly(&load, prices, token, units, &capacity(units));
            let (best, least) = cheapest(&load, unit, &per_unit, held.units, cost);
            plan.recommended = best;
            plan.alternatives = [0, held.units]
                .into_iter()
                .filter(|units| *units != best)
                .map(|units| Alternative {
                    units,
                    term: held.term.clone(),
                    monthly_cost_usd: usd(&cost(units)),
                })
                .collect();
            plan.reason = format!(
                "{told}; {best} units with the rest on demand cost the least, {} USD a month for reservation and overflow, against {} with the {} held",
                usd(&least),
                usd(&cost(held.units)),
                held.units,
            );
        }
        _ => {
            plan.recommended = by_use(context, &load, unit, &per_unit, held.units, used.as_ref());
            plan.reason = format!(
                "{told}; what the same tokens cost on demand is not known, so use alone is judged, by policy.idle_reservation"
            );
        }
    }
    plan.monthly_cost_usd = price_of(plan.recommended).as_ref().map(usd);
    plan.action = action(held.units, plan.recommended).to_owned();
    if load.covered < ENOUGH_MINUTES {
        plan.action = if plan.action == "hold" { "hold" } else { "unknown" }.to_owned();
        plan.reason += ", but less than four weeks were measured: decide later";
    }
    plan
}

fn covers(held: &ReservationSpec, pool: &PoolMeasured) -> bool {
    let fits = |mine: &Option<String>, theirs: &Option<String>| mine.is_none() || mine == theirs;
    held.pool == pool.pool && fits(&held.account, &pool.account) && fits(&held.region, &pool.region)
}

fn action(held: u64, recommended: u64) -> &'static str {
    match recommended {
        0 => "let_lapse",
        units if units < held => "step_down",
        units if units > held => "step_up",
        _ => "hold",
    }
}

/// The spec's price, else the catalog's for the term; with the price of a settled token on demand, by
/// the mix of tokens that the pool's calls had.
fn prices(
    context: &Context<'_>,
    held: &ReservationSpec,
    unit: &Unit,
    measured: Option<&PoolMeasured>,
) -> Option<Prices> {
    let (unit_month, told) = match held.price_usd_month {
        Some(price) => (exact(price).over(&held.units.into())?, "the negotiated price".to_owned()),
        None => {
            let month = unit.term(&held.term)?.usd_per_month(context.today)?;
            (exact(month), format!("the list price of {}", held.term))
        }
    };
    Some(Prices {
        unit_month,
        told,
        token: measured.and_then(|measured| token_price(context, measured, context.today)),
    })
}

/// What a settled token costs on demand: by the pool's own prices, else by those of the same model and
/// scope where the provider sells it on demand.
fn token_price(context: &Context<'_>, measured: &PoolMeasured, as_of: Date) -> Option<Quantity> {
    let sums = &measured.tokens;
    let call = Call {
        input_uncached: sums.input_uncached,
        cache_read: sums.cache_read,
        cache_write: sums.cache_write,
        output: sums.output,
        ..Call::default()
    };
    let entry = context.entry(&measured.pool)?;
    let key = measured.pool.parse::<PoolKey>().ok()?;
    let same = |other: &&Entry| {
        let other = &other.key;
        (other.provider(), other.scope(), other.model()) == (key.provider(), key.scope(), key.model())
    };
    let others = context.input.catalog.entries().filter(same);
    let cost = std::iter::once(entry).chain(others).find_map(|entry| entry.cost(&call, as_of))?;
    exact(cost).over(&entry.meter(&call).settlement.tokens.into())
}

/// Reservation and overflow, USD a month.
fn monthly(load: &Load, prices: &Prices, token: &Quantity, units: u64, capacity: &Quantity) -> Quantity {
    let overflow = &load.above(capacity) * token;
    let a_month = Quantity::ratio(MINUTES_A_MONTH, load.covered).unwrap_or_default();
    &prices.unit_month * &units.into() + overflow * a_month
}

/// Counts that are sold, from none to the one that covers the busiest minute, what is held among them.
fn cheapest(
    load: &Load,
    unit: &Unit,
    per_unit: &Quantity,
    held: u64,
    cost: impl Fn(u64) -> Quantity,
) -> (u64, Quantity) {
    let peak = Quantity::from(load.reached(0, 1)).over(per_unit).unwrap_or_default().ceil();
    let most = sold(unit, peak.max(held));
    let step =
        ((most - unit.min.min(most)) / COUNTS).div_ceil(unit.increment.max(1)).max(1) * unit.increment.max(1);
    let ladder = (0..=COUNTS + 1).map(|index| unit.min + index * step).take_while(|units| *units <= most);
    let counts = [0, held].into_iter().chain(ladder);
    counts
        .map(|units| (cost(units), units))
        .min()
        .map_or((held, Quantity::zero()), |(cost, units)| (units, cost))
}

/// Without prices: hold what is used enough; else the count that the busiest twentieth of minutes
/// fills, and nothing where even the smallest count sold would idle.
fn by_use(
    context: &Context<'_>,
    load: &Load,
    unit: &Unit,
    per_unit: &Quantity,
    held: u64,
    used: Option<&Quantity>,
) -> u64 {
    let idle = &context.spec().policy.idle_reservation;
    if used.is_none_or(|used| used >= idle) {
        return held;
    }
    let wanted = Quantity::from(load.reached(1, 20)).over(per_unit).unwrap_or_default().ceil();
    let count = sold(unit, wanted).min(held);
    let fills = |units: u64| load.used(&(per_unit * &units.into())).is_some_and(|used| used >= *idle);
    if wanted > 0 && fills(count) { count } else { 0 }
}

/// A count rounded up to what is sold.
fn sold(unit: &Unit, units: u64) -> u64 {
    let increment = unit.increment.max(1);
    units.div_ceil(increment).saturating_mul(increment).max(unit.min)
}

/// (share of covered minutes, units that at least so many minutes need), busiest first.
fn curve(load: &Load, per_unit: &Quantity) -> Vec<(f64, f64)> {
    let units = |amount: u64| Quantity::from(amount).over(per_unit).map_or(0.0, |units| units.to_f64());
    (0..=CURVE_POINTS)
        .map(|point| (point as f64 / CURVE_POINTS as f64, units(load.reached(point, CURVE_POINTS))))
        .collect()
}

/// The use, with its n, and the break-even.
fn told(load: &Load, plan: &ReservationPlan, prices: Option<&Prices>) -> String {
    let share =
        plan.utilization.map_or_else(|| "unknown".to_owned(), |used| format!("{:.0} %", used * 100.0));
    let even = match (plan.break_even, prices) {
        (Some(even), Some(prices)) => format!("; break-even at {:.0} % by {}", even * 100.0, prices.told),
        _ => String::new(),
    };
    format!("{share} of {} units used over {} covered minutes{even}", plan.held, Quantity::from(load.covered))
}

/// Whether a pool is one that units are held in.
pub(crate) fn is_reserved(context: &Context<'_>, pool: &PoolId) -> bool {
    context.spec().reservations.iter().any(|held| held.pool == pool.pool)
}
