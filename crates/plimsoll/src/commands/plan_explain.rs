//! `plimsoll plan --explain POOL DIMENSION`: how one figure came about, and how to read its inputs again.

use plimsoll_plan::{DimensionPlan, FigureInput, Plan, PoolPlan};
use plimsoll_toml::meant;
use serde::Serialize;

use crate::{cli::Format, failure::Failure, output};

/// A figure with what it was made from.
#[derive(Debug, Serialize)]
struct Explanation<'p> {
    pool: &'p str,
    account: Option<&'p str>,
    region: Option<&'p str>,
    dimension: &'p str,
    limit: Option<u64>,
    need: u64,
    ask: Option<u64>,
    decision: &'p str,
    derivation: &'p [String],
    inputs: &'p [FigureInput],
}

/// Prints the derivation of a limit, of every account and region that has it.
pub(super) fn tell(plan: &Plan, pool: &str, dimension: &str, format: Format) -> Result<(), Failure> {
    let of_pool: Vec<&PoolPlan> = plan.pools.iter().filter(|row| row.pool == pool).collect();
    let rows = of_pool.iter().flat_map(|pool| pool.dimensions.iter().map(move |row| (*pool, row)));
    let found: Vec<Explanation<'_>> =
        rows.filter(|(_, row)| row.dimension == dimension).map(|(pool, row)| explained(pool, row)).collect();
    if found.is_empty() {
        return Err(unknown(plan, &of_pool, pool, dimension));
    }
    if format != Format::Table {
        return output::list(&found, format);
    }
    found.iter().try_for_each(table)
}

fn explained<'p>(pool: &'p PoolPlan, row: &'p DimensionPlan) -> Explanation<'p> {
    Explanation {
        pool: &pool.pool,
        account: pool.account.as_deref(),
        region: pool.region.as_deref(),
        dimension: &row.dimension,
        limit: row.limit,
        need: row.need,
        ask: row.ask,
        decision: &row.decision,
        derivation: &row.derivation,
        inputs: &row.inputs,
    }
}

fn table(each: &Explanation<'_>) -> Result<(), Failure> {
    let place: Vec<&str> = [each.account, each.region].into_iter().flatten().collect();
    let figure = |figure: Option<u64>| figure.map_or_else(|| "none".to_owned(), |figure| figure.to_string());
    output::line(&format!("{} {} {}", each.pool, place.join(" "), each.dimension))?;
    output::line(&format!(
        "need {}, limit {}, ask {}: {}",
        each.need,
        figure(each.limit),
        figure(each.ask),
        each.decision
    ))?;
    output::line("\nstep by step")?;
    for (index, step) in each.derivation.iter().enumerate() {
        output::line(&format!("{:>3}. {step}", index + 1))?;
    }
    output::line("\nwhat went into it")?;
    for input in each.inputs {
        let n = input.n.map_or_else(String::new, |n| format!(" (n = {n})"));
        output::line(&format!("  {}: {}{n}", input.what, input.value))?;
        let rows = input.rows.as_ref().map_or_else(String::new, |rows| format!(", {rows}"));
        output::line(&format!("      {}{rows}", input.source))?;
        if !input.after.is_empty() {
            output::line(&format!("      with {}", input.after.join(", ")))?;
        }
        if !input.parameters.is_empty() {
            let told: Vec<String> =
                input.parameters.iter().map(|(name, value)| format!("${name} = {value}")).collect();
            output::line(&format!("      {}", told.join(", ")))?;
        }
    }
    Ok(())
}

fn unknown(plan: &Plan, of_pool: &[&PoolPlan], pool: &str, dimension: &str) -> Failure {
    if of_pool.is_empty() {
        let meant = meant(pool, plan.pools.iter().map(|row| row.pool.as_str()));
        return Failure::input(format!("--explain {pool}: the plan has no such pool{meant}"));
    }
    let known: Vec<&str> =
        of_pool.iter().flat_map(|pool| &pool.dimensions).map(|row| row.dimension.as_str()).collect();
    let there = known.join(", ");
    let meant = meant(dimension, known);
    Failure::input(format!("--explain {pool} {dimension}: there is {there}{meant}"))
}
