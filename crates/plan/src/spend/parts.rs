//! Who spends what, month by month, and how that stands beside the budget.
//!
//! The invariant: the parts of a month add up to its totals, before either is rounded.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use rust_decimal::{Decimal, RoundingStrategy};

use super::runs::{Hours, Runs, by_month};
use crate::context::{Context, PoolId};
use crate::horizon::{Horizon, Month};
use crate::parallel;
use crate::rates::Rhythm;
use crate::{ReservationPlan, RunCost, SpendPart, SpendPlan, WorkflowMeasured};

/// Tenants of a workflow that stand by themselves.
const TENANTS: usize = 5;

/// One row per local month of the horizon; none where no run of the history has a known cost and nothing
/// is held.
pub(crate) fn spend(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    horizon: &Horizon,
    reservations: &[ReservationPlan],
) -> Vec<SpendPlan> {
    let hours = Hours::of(horizon);
    let workflows: Vec<&WorkflowMeasured> =
        context.measured().workflows.iter().filter(|workflow| priced(workflow)).collect();
    let runs = parallel::map(&workflows, |workflow| {
        let learned = rhythm.workflows.get(workflow.workflow.as_str());
        learned.map(|learned| by_month(context, rhythm, horizon, &hours, learned)).unwrap_or_default()
    });
    let held = Held::of(context, reservations);
    if workflows.is_empty() && held.total.is_zero() {
        return Vec::new();
    }
    let spenders: Vec<Spender<'_>> = workflows
        .into_iter()
        .zip(runs)
        .flat_map(|(workflow, runs)| spenders(context, workflow, &runs, &held))
        .collect();
    let months = horizon.months.iter().enumerate();
    months.map(|(index, month)| row(context, (index, month), &spenders, &held)).collect()
}

fn priced(workflow: &WorkflowMeasured) -> bool {
    workflow.costs.iter().any(|cost| cost.priced_runs > 0 || cost.to_date_usd.is_some())
}

/// What is paid for units, USD a month, and whose they are.
struct Held {
    total: Decimal,
    /// By workflow.
    of: BTreeMap<String, Decimal>,
}

impl Held {
    fn of(context: &Context<'_>, reservations: &[ReservationPlan]) -> Self {
        let mut held = Self { total: Decimal::ZERO, of: BTreeMap::new() };
        for row in reservations {
            let paid =
                row.held_cost_usd.as_ref().and_then(|usd| usd.parse::<Decimal>().ok()).unwrap_or_default();
            held.total += paid;
            let drawn = drawn(context, row);
            let all: u64 = drawn.values().sum();
            for (workflow, amount) in drawn {
                let part = paid * Decimal::from(amount) / Decimal::from(all.max(1));
                *held.of.entry(workflow.to_owned()).or_default() += part;
            }
        }
        held
    }
}

/// What each workflow drew of a reservation over the history, as its units count.
fn drawn<'c>(context: &'c Context<'_>, row: &ReservationPlan) -> BTreeMap<&'c str, u64> {
    let pools = row.pools.iter().map(|deployment| deployment.pool.as_str()).chain([row.pool.as_str()]);
    let pools: Vec<&str> = pools.collect();
    let of_row = |id: &&PoolId| pools.contains(&id.pool.as_str());
    let measured = context.pools().iter().filter(of_row).filter_map(|id| context.pool_measured(id));
    let mut drawn = BTreeMap::new();
    for share in
        measured.flat_map(|pool| &pool.by_workflow).filter(|share| share.measure == "settlement.tokens")
    {
        *drawn.entry(share.workflow.as_str()).or_default() += share.amount;
    }
    drawn
}

/// One workflow and tenant.
struct Spender<'a> {
    workflow: &'a str,
    tenant: Option<&'a str>,
    others: u64,
    tier: Option<u8>,
    runs: Vec<Runs>,
    mean: Decimal,
    p50: Decimal,
    /// USD a month.
    reserved: Decimal,
    to_date: Option<Decimal>,
    counted: (u64, u64),
}

fn spenders<'a>(
    context: &Context<'_>,
    workflow: &'a WorkflowMeasured,
    runs: &[Runs],
    held: &Held,
) -> Vec<Spender<'a>> {
    let mut costs: Vec<&RunCost> = workflow.costs.iter().collect();
    costs.sort_by(|one, other| other.runs.cmp(&one.runs).then_with(|| one.tenant.cmp(&other.tenant)));
    let all: u64 = costs.iter().map(|cost| cost.runs).sum();
    let (usd, priced) =
        costs.iter().fold((Decimal::ZERO, 0), |(usd, n), cost| (usd + cost.usd, n + cost.priced_runs));
    let (first, rest) = costs.split_at(TENANTS.min(costs.len()));
    let reserved = held.of.get(&workflow.workflow).copied().unwrap_or_default();
    let one = |of: &[&'a RunCost]| {
        let own: u64 = of.iter().map(|cost| cost.runs).sum();
        let known: u64 = of.iter().map(|cost| cost.priced_runs).sum();
        let share = Decimal::from(own) / Decimal::from(all.max(1));
        let mean = |usd: Decimal, n: u64| usd / Decimal::from(n.max(1));
        // Whose runs have no known cost is taken to pay what the workflow's others do.
        let own_usd: Decimal = of.iter().map(|cost| cost.usd).sum();
        Spender {
            workflow: workflow.workflow.as_str(),
            tenant: match of {
                [one] => one.tenant.as_deref(),
                _ => None,
            },
            others: if of.len() > 1 { of.len() as u64 } else { 0 },
            tier: context.tier(&workflow.workflow),
            runs: runs.iter().map(|runs| runs.times(share)).collect(),
            mean: if known > 0 { mean(own_usd, known) } else { mean(usd, priced) },
            p50: p50(of).unwrap_or_default(),
            reserved: reserved * share,
            to_date: of.iter().filter_map(|cost| cost.to_date_usd).reduce(|one, other| one + other),
            counted: (known, own),
        }
    };
    let mut found: Vec<Spender<'a>> = first.iter().map(|cost| one(&[*cost])).collect();
    if !rest.is_empty() {
        found.push(one(rest));
    }
    found
}

/// The median cost of a run, USD; of several tenants that of the one with most runs.
fn p50(of: &[&RunCost]) -> Option<Decimal> {
    let nano = of.iter().find_map(|cost| cost.p50_nano_usd)?;
    // Half a billionth is the finest that a median of whole ones falls on.
    Decimal::from_f64((nano * 2.0).round())?.checked_div(Decimal::from(2_000_000_000_u64))
}

fn row(
    context: &Context<'_>,
    (index, month): (usize, &Month),
    spenders: &[Spender<'_>],
    held: &Held,
) -> SpendPlan {
    let present = index == 0;
    let paid = covered(context, month, present);
    let mut sums = [Decimal::ZERO; 4];
    let mut to_date = None;
    let (mut known, mut all) = (0, 0);
    let mut parts: Vec<(Decimal, SpendPart)> = Vec::new();
    for spender in spenders {
        let runs = spender.runs.get(index).copied().unwrap_or_default();
        let costs = [
            (runs.point, spender.mean),
            (runs.point, spender.p50),
            (runs.low, spender.mean),
            (runs.high, spender.mean),
        ];
        let usd = costs.map(|(runs, each)| runs.saturating_mul(each));
        for (sum, part) in sums.iter_mut().zip(usd) {
            *sum = sum.saturating_add(part);
        }
        let spent = spender.to_date.filter(|_| present);
        to_date = spent.map_or(to_date, |spent| Some(to_date.unwrap_or(Decimal::ZERO) + spent));
        (known, all) = (known + spender.counted.0, all + spender.counted.1);
        let [on_demand, p50, ..] = usd;
        let reserved = spender.reserved * paid;
        parts.push((
            on_demand.saturating_add(reserved + spent.unwrap_or_default()),
            SpendPart {
                workflow: Some(spender.workflow.to_owned()),
                tenant: spender.tenant.map(str::to_owned),
                others: spender.others,
                tier: spender.tier,
                runs: runs.point.round().to_u64().unwrap_or(u64::MAX),
                on_demand_usd: cents(on_demand),
                p50_usd: cents(p50),
                reserved_usd: cents(reserved),
                to_date_usd: spent.map(cents),
            },
        ));
    }
    let drawn: Decimal = spenders.iter().map(|spender| spender.reserved).sum();
    parts.extend(idle((held.total - drawn) * paid));
    parts.sort_by(|one, other| {
        let name = |part: &SpendPart| (part.workflow.clone(), part.tenant.clone(), part.others);
        other.0.cmp(&one.0).then_with(|| name(&one.1).cmp(&name(&other.1)))
    });
    let [on_demand, p50, low, high] = sums;
    let fixed = to_date.unwrap_or_default() + held.total * paid;
    let budget = context.spec().policy.budget_usd_month;
    let over =
        |total: Decimal| budget.map(|budget| total - budget).filter(|over| *over > Decimal::ZERO).map(cents);
    SpendPlan {
        month: month.first.strftime("%Y-%m").to_string(),
        from: month.from,
        to: month.to,
        to_date_usd: to_date.map(cents),
        on_demand_usd: cents(on_demand),
        p50_usd: cents(p50),
        low_usd: cents(low),
        high_usd: cents(high),
        reserved_usd: cents(held.total * paid),
        total_usd: cents(fixed.saturating_add(on_demand)),
        budget_usd: budget.map(cents),
        over_usd: over(fixed.saturating_add(on_demand)),
        over_high_usd: over(fixed.saturating_add(high)),
        coverage: Decimal::from(known)
            .checked_div(Decimal::from(all))
            .and_then(|share| share.to_f64())
            .unwrap_or(0.0),
        parts: parts.into_iter().map(|(_, part)| part).collect(),
    }
}

/// Units that nobody drew on whose spend is forecast.
fn idle(unused: Decimal) -> Option<(Decimal, SpendPart)> {
    let part = SpendPart {
        workflow: None,
        tenant: None,
        others: 0,
        tier: None,
        runs: 0,
        on_demand_usd: cents(Decimal::ZERO),
        p50_usd: cents(Decimal::ZERO),
        reserved_usd: cents(unused),
        to_date_usd: None,
    };
    (unused.round_dp(2) > Decimal::ZERO).then_some((unused, part))
}

/// Share of a month's price for units: all of the present month's, since what was spent in it counts too;
/// of the last one as much as the horizon has of it.
fn covered(context: &Context<'_>, month: &Month, present: bool) -> Decimal {
    let calendar = context.input.calendar;
    let ends = || {
        let next = month.first.last_of_month().tomorrow().ok()?;
        Some((calendar.start_of_day(month.first).ok()?, calendar.start_of_day(next).ok()?))
    };
    let Some((start, end)) = ends() else { return Decimal::ONE };
    let from = if present { start } else { month.from };
    let seconds = |length: SignedDuration| Decimal::from(length.as_secs().max(0));
    let whole = |from: Timestamp, to: Timestamp| seconds(to.duration_since(from));
    whole(from, month.to).checked_div(whole(start, end)).unwrap_or(Decimal::ONE)
}

/// `1234.50`: half a cent up.
fn cents(usd: Decimal) -> String {
    format!("{:.2}", usd.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero))
}
