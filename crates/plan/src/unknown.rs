//! Names in spec and ledger that nobody knows: mistakes, told with the line and with what was meant.
//!
//! A pool that neither the catalog nor telemetry knows would be planned for nothing, or never be found
//! again. The invariant: what telemetry shows is never refused, whatever the catalog knows.

use std::collections::BTreeSet;

use plimsoll_catalog::PoolKey;
use plimsoll_toml::{meant, nearest};

use crate::SpecError;
use crate::context::Context;
use crate::spec::{FILE, ReservationSpec};

/// Refuses the first name that nobody knows.
pub(crate) fn refuse_unknown(context: &Context<'_>) -> Result<(), SpecError> {
    let names = Names { context, measured: measured(context).collect() };
    for pool in &context.spec().pools {
        names.check(&pool.key, "", FILE, &format!("pool `{}`.key", pool.key), pool.line)?;
    }
    for held in &context.spec().reservations {
        let place = format!("reservation `{}`", held.pool);
        names.check(&held.pool, "", FILE, &format!("{place}.pool"), held.line)?;
        term(context, held, &place)?;
    }
    for request in &context.input.ledger.requests {
        names.check(&request.pool, ", spec", "ledger.toml", "request.pool", request.line)?;
    }
    Ok(())
}

/// The pools that telemetry shows, each as often as it does.
fn measured<'c>(context: &'c Context<'_>) -> impl Iterator<Item = &'c str> {
    let drawn = context.measured().workflows.iter().flat_map(|workflow| &workflow.draws);
    let drawn = drawn.map(|draw| draw.pool.as_str());
    context.measured().pools.iter().map(|pool| pool.pool.as_str()).chain(drawn)
}

struct Names<'c> {
    context: &'c Context<'c>,
    measured: BTreeSet<&'c str>,
}

impl Names<'_> {
    /// `beside` is who else would know a pool, for the message: the spec for the ledger.
    fn check(&self, pool: &str, beside: &str, file: &str, field: &str, line: usize) -> Result<(), SpecError> {
        let catalog = self.context.input.catalog;
        let of_spec = self.context.spec().pools.iter().map(|pool| pool.key.as_str());
        let of_spec = of_spec.filter(|_| !beside.is_empty());
        // Of any day: what was asked for once need not be sold today.
        let sold = |key: PoolKey| catalog.entries().any(|entry| entry.key.covers(&key));
        let known = self.measured.contains(pool) || of_spec.clone().any(|key| key == pool);
        if known || pool.parse().is_ok_and(sold) {
            return Ok(());
        }
        let of_catalog = || pool.parse().ok().and_then(|key| catalog.did_you_mean(&key));
        let meant = nearest(pool, measured(self.context).chain(of_spec))
            .map(str::to_owned)
            .or_else(|| of_catalog().map(ToString::to_string))
            .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        let problem = format!("`{pool}` is a pool that neither catalog{beside} nor telemetry knows{meant}");
        let mut fault = SpecError::new(file, problem).field(field);
        fault.line = Some(line);
        Err(fault)
    }
}

/// A term that is not sold has no price of its own: it must be a mistake, unless its price is given.
fn term(context: &Context<'_>, held: &ReservationSpec, place: &str) -> Result<(), SpecError> {
    let Some(unit) = context.entry(&held.pool).and_then(|entry| entry.units.first()) else { return Ok(()) };
    if held.price_usd_month.is_some() || unit.terms.is_empty() || unit.term(&held.term).is_some() {
        return Ok(());
    }
    let known = || unit.terms.iter().map(|term| term.name.as_str());
    let problem = format!(
        "`{}` is no term that {} is sold for ({}){}: mend it, or give price_usd_month",
        held.term,
        unit.name,
        known().collect::<Vec<_>>().join(", "),
        meant(&held.term, known()),
    );
    let mut fault = SpecError::new(FILE, problem).field(format!("{place}.term"));
    fault.line = Some(held.line);
    Err(fault)
}
