//! What went into one figure, each with where it was read: query, parameters, rows and n.
//!
//! `derivation` tells how a figure came about in words; this lets anybody read its inputs again. The
//! invariant: a measured input names its query, and a declared one its key.

use std::collections::BTreeMap;

use crate::FigureInput;
use crate::context::{Context, PoolId};
use crate::demand::{Counted, Demand, ENOUGH_EVENT_RUNS, Kind, per_run};
use crate::enforced::Enforced;
use crate::pattern::Pattern;
use crate::rates::{Rate, Rates, occurrences};

/// The inputs of a demand and of what is made of it, in the order of the derivation.
pub(crate) fn inputs(
    context: &Context<'_>,
    pool: &PoolId,
    counted: &Counted,
    demand: &Demand,
    rates: Option<&Rates<'_>>,
    limit: Option<u64>,
) -> Vec<FigureInput> {
    let book = Book { context, pool };
    let mut found = Vec::new();
    if let Kind::PerMinute(measure) | Kind::PerDay(measure) = &counted.kind {
        let measure = format!("{}.{measure}", demand.basis);
        match rates {
            Some(rates) => {
                for part in &demand.parts {
                    let Some(rate) = rates.get(part.workflow.as_str()) else { continue };
                    found.push(book.rate(&part.workflow, rate));
                    found.extend(book.draw(&part.workflow, &measure, rate.event.as_deref()));
                }
            }
            None => found.extend(book.busy_minutes(&measure)),
        }
    }
    if counted.kind == Kind::Concurrent {
        let rows = format!("boundary = 'model' AND name = {}", quoted(&pool.pool));
        let n = context.measured().in_flight.iter().find(|at| at.boundary == "model" && at.name == pool.pool);
        let mut length = book.measured("mean length of a call", "", n.map(|at| at.starts), "in_flight", rows);
        length.value = n
            .map_or_else(|| "unknown".to_owned(), |at| format!("{} us over {} calls", at.busy_us, at.starts));
        found.push(length);
    }
    if let (Some(rates), false, Kind::PerMinute(_)) = (rates, context.input.quick, &counted.kind) {
        found.extend(book.replayed(demand, rates));
    }
    found.extend(book.meter());
    found.push(declared("headroom", &context.spec().policy.headroom, "policy.headroom"));
    if let Some(limit) = limit {
        let given =
            context.pool_spec(pool).is_some_and(|spec| spec.dimensions().contains(&&*counted.dimension));
        let key = if given { "limits" } else { "units of [[reservation]]" };
        let what = format!("limit of {} in force", counted.dimension);
        found.push(declared(&what, &limit, &format!("pool `{}`.{key}", pool.pool)));
    }
    found
}

/// What a declared figure is, where.
fn declared(what: &str, value: &impl ToString, key: &str) -> FigureInput {
    FigureInput {
        what: what.to_owned(),
        value: value.to_string(),
        n: None,
        source: "plan.toml".to_owned(),
        after: Vec::new(),
        parameters: BTreeMap::new(),
        rows: Some(key.to_owned()),
    }
}

struct Book<'b> {
    context: &'b Context<'b>,
    pool: &'b PoolId,
}

impl Book<'_> {
    fn rate(&self, workflow: &str, rate: &Rate) -> FigureInput {
        let what = format!("runs of {workflow} started a minute ({})", rate.from.replace('_', " "));
        let value = rate.per_min.to_string();
        let of = format!("workflow = {}", quoted(workflow));
        let event = rate.event.as_deref().unwrap_or_default();
        let of_event = || format!("{of} AND event = {}", quoted(event));
        let key = || format!("event `{event}`.workflows.{workflow}");
        let known = |event: &str| {
            let workflow = self.context.workflow(workflow)?;
            u64::try_from(occurrences(workflow, event).count()).ok()
        };
        let mut input = match rate.from {
            "in_flight" | "runs_per_min" | "multiplier" => declared(&what, &value, &key()),
            "hour_of_week" => self.measured(&what, &value, None, "hourly_starts", of.clone()),
            _ => self.measured(&what, &value, known(event), "occurrences", of_event()),
        };
        // Where the spec gives a part of it, the rest is measured.
        match rate.from {
            "in_flight" => {
                input.after = vec![file("metrics"), file("event_duration")];
                input.parameters = self.parameters();
            }
            "multiplier" | "measured" | "assumed" => {
                input.after = vec![file("hourly_starts")];
                input.parameters = self.parameters();
            }
            _ => {}
        }
        input
    }

    fn draw(&self, workflow: &str, measure: &str, event: Option<&str>) -> Option<FigureInput> {
        let draw = per_run(self.context, self.context.workflow(workflow)?, self.pool, measure, event)?;
        let percentile = self.context.percentile_name();
        let what = format!("{measure} that a run of {workflow} draws, mean and {percentile}");
        let value = format!("{} and {}", draw.mean, draw.percentile);
        let mut rows =
            format!("workflow = {} AND {} AND measure = '{measure}'", quoted(workflow), self.of_pool());
        let query = if draw.of_event {
            rows += &format!(" AND event = {}", quoted(event.unwrap_or_default()));
            "event_draws"
        } else {
            "draws"
        };
        let mut input = self.measured(&what, &value, Some(draw.n), query, rows);
        input.after = vec![file("11_run_draws")];
        if draw.of_event {
            input.after.push(file("12_event_runs"));
        }
        Some(input)
    }

    /// What a replay draws from: whole runs, when they start within an event, and how the limit is held.
    fn replayed(&self, demand: &Demand, rates: &Rates<'_>) -> Vec<FigureInput> {
        let mut found = Vec::new();
        for part in &demand.parts {
            let Some(rate) = rates.get(part.workflow.as_str()) else { continue };
            let of = format!("workflow = {}", quoted(&part.workflow));
            let runs = |event: Option<&str>| self.context.index.runs(&part.workflow, event).len() as u64;
            let own = rate.event.as_deref().filter(|event| runs(Some(event)) >= ENOUGH_EVENT_RUNS);
            let which = match own {
                Some(event) => format!("{of} AND event = {}", quoted(event)),
                None => format!("{of} AND event IS NULL"),
            };
            let n = runs(own);
            if n > 0 {
                let what = format!("whole runs of {} that are replayed", part.workflow);
                let mut input = self.measured(&what, &n.to_string(), Some(n), "chosen_calls", which);
                input.after = vec![file("12_event_runs"), file("14_chosen_runs")];
                found.push(input);
            }
            let workflow = self.context.workflow(&part.workflow);
            if let (Some(workflow), Some(event)) = (workflow, rate.event.as_deref())
                && let Some(pattern) = Pattern::of(workflow, rate)
            {
                let what = format!("when runs of {} start within {event}", part.workflow);
                let value =
                    format!("{:.2} times the rate in its busiest {} min", pattern.busiest(1).1, pattern.slot);
                let n =
                    workflow.event_starts.get(event).map(|starts| starts.iter().map(|one| one.starts).sum());
                let rows = format!("{of} AND event = {}", quoted(event));
                let mut input = self.measured(&what, &value, n, "event_starts", rows);
                input.after = vec![file("12_event_runs")];
                found.push(input);
            }
        }
        if let Some(Enforced { burst, refusals, .. }) = self.context.enforced(self.pool) {
            let value = match burst {
                Some((dimension, burst)) => {
                    format!("{dimension}: what flows in within {} s; others as the catalog has it", burst.0)
                }
                None => "as the catalog has it".to_owned(),
            };
            let what =
                format!("how much the limit lets through at once: {} refusals explained", refusals.explained);
            let mut input = self.measured(&what, &value, Some(refusals.refused), "refusals", self.of_pool());
            input.after = minutes();
            found.push(input);
        }
        found
    }

    fn busy_minutes(&self, measure: &str) -> Option<FigureInput> {
        let stat = self.context.pool_measured(self.pool)?.per_minute.get(measure)?;
        let percentile = self.context.percentile_name();
        let what = format!("{measure} drawn in a busy minute, {percentile}");
        let value = self.context.percentile(stat).to_string();
        let rows = format!("{} AND measure = '{measure}'", self.of_pool());
        let mut input = self.measured(&what, &value, Some(stat.n), "pool_minutes", rows);
        input.after = minutes();
        Some(input)
    }

    fn meter(&self) -> Option<FigureInput> {
        let entry = self.context.entry(&self.pool.pool)?;
        Some(FigureInput {
            what: "what a call draws on the limit, by kind of token".to_owned(),
            value: format!("as metered in edition {}", self.context.input.catalog.edition()),
            n: None,
            source: "catalog".to_owned(),
            after: Vec::new(),
            parameters: BTreeMap::new(),
            rows: Some(entry.key.to_string()),
        })
    }

    fn measured(&self, what: &str, value: &str, n: Option<u64>, query: &str, rows: String) -> FigureInput {
        FigureInput {
            what: what.to_owned(),
            value: value.to_owned(),
            n,
            source: file(query),
            after: Vec::new(),
            parameters: self.parameters(),
            rows: Some(rows),
        }
    }

    /// Of every query in `sql/plan`.
    fn parameters(&self) -> BTreeMap<String, String> {
        let (from, to) = self.context.windows.history;
        let first_event = self.context.windows.past.iter().map(|event| event.start()).min();
        let measured_from = first_event.map_or(from, |event| event.min(from));
        [("from", from), ("to", to), ("measured_from", measured_from)]
            .map(|(name, at)| (name.to_owned(), at.to_string()))
            .into()
    }

    fn of_pool(&self) -> String {
        let is = |column: &str, value: &Option<String>| match value {
            Some(value) => format!("{column} = {}", quoted(value)),
            None => format!("{column} IS NULL"),
        };
        let pool = self.pool;
        format!(
            "pool = {} AND {} AND {}",
            quoted(&pool.pool),
            is("account", &pool.account),
            is("region", &pool.region)
        )
    }
}

/// What makes the minutes that other queries read.
fn minutes() -> Vec<String> {
    ["05_workflow_minutes", "10_minutes"].map(file).to_vec()
}

fn file(query: &str) -> String {
    format!("sql/plan/{query}.sql")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
