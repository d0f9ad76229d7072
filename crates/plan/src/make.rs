//! The plan as a whole: every part in its order, and the hash that names it.
//!
//! The invariant: the same input gives the same bytes; nothing here reads a clock or a map in the
//! order of its hashes.

use crate::context::{Context, PlanError, PlanInput};
use crate::degradation::degradation;
use crate::digest::sha256;
use crate::filing::schedule;
use crate::horizon::Horizon;
use crate::pools::{pools, without_figures};
use crate::quantity::Quantity;
use crate::rates::{Rhythm, event_rates, growth, load, occurrences};
use crate::requests::{requests, share};
use crate::reservations::reservations;
use crate::risks::risks;
use crate::runs::{budgets, concurrency, workflows};
use crate::spend::spend;
use crate::stress::stress;
use crate::tiers::tiers;
use crate::timeline::Instants;
use crate::unsigned::unsigned;
use crate::verdict::verdict;
use crate::warnings::{over_budget, warnings};
use crate::windows::EventWindows;
use crate::{EventPlan, Plan, PlanHistory};

/// Makes the plan.
///
/// # Errors
/// [`PlanError`] where the calendar does not know a day that the plan needs.
pub fn make(input: &PlanInput<'_>) -> Result<Plan, PlanError> {
    let context = Context::new(input)?;
    let rhythm = Rhythm::new(&context)?;
    let instants = Instants::new(&context, &rhythm);
    let mut pools = pools(&context, &rhythm, &instants)?;
    let horizon = Horizon::new(&context, &rhythm)?;
    let thin = context.too_thin();
    let (reservations, spend) = match &thin {
        Some(why) => {
            without_figures(&mut pools, why);
            (Vec::new(), Vec::new())
        }
        None => {
            let reservations = reservations(&context, &rhythm, &horizon);
            let spend = spend(&context, &rhythm, &horizon, &reservations);
            (reservations, spend)
        }
    };
    let mut open = Vec::new();
    let quota_requests = requests(&context, &mut pools, &spend, &mut open);
    let (event_rates, growth) = (event_rates(&context, &rhythm), growth(&rhythm));
    let mut warned = warnings(&context, &pools, &event_rates, &growth);
    warned.append(&mut open);
    let no_stress = input.quick || thin.is_some();
    let (stress, scenarios) = if no_stress { Default::default() } else { stress(&context, &rhythm, &pools) };
    let unsigned = if input.quick { Vec::new() } else { unsigned(&context, &rhythm, &pools) };
    let concurrency = concurrency(&context, &instants, &rhythm, &pools);
    warned.extend(over_budget(&spend));
    let mut plan = Plan {
        plan_id: plan_id(input),
        as_of: input.as_of,
        lake_version: input.measured.lake_version,
        spec_sha256: input.spec_sha256.to_owned(),
        catalog: input.catalog.edition().to_owned(),
        catalog_sha256: input.catalog.sha256().to_owned(),
        ledger_sha256: ledger_sha256(input).map(str::to_owned),
        time_zone: input.calendar.zone_name().to_owned(),
        holidays: input.calendar.name().to_owned(),
        verdict: String::new(),
        history: history(input),
        pools: pools.iter().map(|pool| pool.plan.clone()).collect(),
        filing: schedule(&context, &pools, &quota_requests)?,
        quota_requests,
        reservations,
        spend,
        degradation: degradation(&context, &rhythm, &pools),
        tiers: tiers(&context, &rhythm, &instants, &pools),
        events: context.windows.coming.iter().map(|occurrence| event(input, occurrence)).collect(),
        stress,
        scenarios,
        event_rates,
        growth,
        load: load(&rhythm),
        unsigned,
        risks: risks(&context, &pools),
        concurrency,
        budgets: budgets(&context),
        cheaper_first: pools.iter().flat_map(|pool| pool.fixes.iter().cloned()).collect(),
        workflows: workflows(&context),
        warnings: warned,
        ledger: input.ledger.told(context.today),
    };
    plan.verdict = verdict(&context, &plan, &pools);
    Ok(plan)
}

/// Names a plan by what it was made from: the same four (and ledger) give the same bytes.
fn plan_id(input: &PlanInput<'_>) -> String {
    let text = format!(
        "plimsoll plan\nlake {}\nspec {}\ncatalog {}\nas of {}\nledger {}\n",
        input.measured.lake_version,
        input.spec_sha256,
        input.catalog.sha256(),
        input.as_of,
        ledger_sha256(input).unwrap_or("none"),
    );
    // A plan without replays has other figures.
    let text = if input.quick { text + "quick\n" } else { text };
    sha256(text.as_bytes())
}

fn ledger_sha256<'a>(input: &PlanInput<'a>) -> Option<&'a str> {
    Some(input.ledger.sha256.as_str()).filter(|digest| !digest.is_empty())
}

fn history(input: &PlanInput<'_>) -> PlanHistory {
    let history = &input.measured.history;
    let minutes = |of: fn(&crate::PoolMeasured) -> u64| input.measured.pools.iter().map(of).sum::<u64>();
    PlanHistory {
        from: history.from,
        to: history.to,
        runs: history.runs,
        coverage: share(history.model_calls_with_usage, history.model_calls),
        days: history.days_with_runs,
        censored: Quantity::ratio(minutes(|pool| pool.censored_minutes), minutes(|pool| pool.busy_minutes))
            .map_or(0.0, |share| share.to_f64()),
    }
}

fn event(input: &PlanInput<'_>, coming: &EventWindows) -> EventPlan {
    let mut lived: Vec<_> = input
        .measured
        .workflows
        .iter()
        .flat_map(|workflow| occurrences(workflow, &coming.event))
        .map(|occurrence| occurrence.start)
        .collect();
    lived.sort_unstable();
    lived.dedup();
    EventPlan {
        event: coming.event.clone(),
        start: coming.start(),
        end: coming.end(),
        occurrences: u32::try_from(lived.len()).unwrap_or(u32::MAX),
    }
}
