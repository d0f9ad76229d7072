//! Two plans held against each other: what changed, and which input caused it.
//!
//! Which inputs changed is told by their digests. Which of them a change is laid to is told by the field:
//! a field that follows from others which changed too has their causes, else those inputs of its own that
//! changed. The invariant: a cause is an input that did change; where no input did, it is the program.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::Plan;

/// What changed from one plan to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanDiff {
    /// Hash of the older plan.
    pub old: String,
    /// Hash of the newer plan.
    pub new: String,
    /// Inputs that changed.
    pub inputs: Vec<InputChange>,
    /// Fields that changed, by part of the plan.
    pub changes: Vec<Change>,
}

/// An input that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputChange {
    /// spec, catalog, lake, ledger, calendar or as_of.
    pub input: String,
    /// What it was.
    pub old: String,
    /// What it is.
    pub new: String,
}

/// A field that changed; null on one side where the whole row is new or gone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Part of the plan: pools, quota_requests, reservations, ...
    pub part: String,
    /// Its row, as in `POOL (ACCOUNT) DIMENSION`.
    pub row: String,
    /// Field of the row; `row` where the row itself is new or gone.
    pub field: String,
    /// What it was.
    pub old: Value,
    /// What it is.
    pub new: Value,
    /// Inputs that caused it; `program` where none of them changed.
    pub causes: Vec<String>,
}

const ALL: &[&str] = &["as_of", "calendar", "catalog", "lake", "ledger", "spec"];
/// What measured demand follows from.
const DEMAND: &[&str] = &["as_of", "calendar", "catalog", "lake", "spec"];

/// What a field follows from: fields of its row, and inputs of its own.
struct Origin {
    field: &'static str,
    fields: &'static [&'static str],
    inputs: &'static [&'static str],
}

const fn origin(
    field: &'static str,
    fields: &'static [&'static str],
    inputs: &'static [&'static str],
) -> Origin {
    Origin { field, fields, inputs }
}

/// Fields that follow from others of their row; all others follow from [`DEMAND`] or, where decisions and
/// dates are concerned, from everything.
const ORIGINS: &[Origin] = &[
    origin("limit", &["event", "event_start"], &["as_of", "calendar", "catalog", "spec"]),
    origin("event_start", &["event"], DEMAND),
    origin("mean_demand", &["event", "event_start"], DEMAND),
    origin("p95_floor", &["mean_demand", "event", "event_start"], DEMAND),
    origin("p95_need", &["p95_floor"], &["spec"]),
    origin("replayed", &["p95_floor", "mean_demand"], DEMAND),
    origin("need", &["replayed", "p95_need"], &["spec"]),
    origin("largest_need", &["need"], DEMAND),
    origin("ask", &["largest_need", "need", "limit"], &["catalog", "spec"]),
    origin("grant_step", &["ask"], &["catalog"]),
    origin("utilization_p95", &["p95_floor", "limit"], DEMAND),
    origin("fix_first", &["need", "limit"], DEMAND),
    origin("file_by", &["event_start", "need", "limit", "fix_first"], ALL),
    origin("last_safe", &["event_start", "need", "limit", "fix_first"], ALL),
    origin("decision", &["file_by", "last_safe", "need", "limit", "fix_first"], ALL),
    origin("to", &["from"], &["catalog", "lake", "spec"]),
    origin("from", &[], &["as_of", "calendar", "catalog", "spec"]),
    origin("channel", &[], &["catalog"]),
    origin("command", &["to"], &["catalog", "spec"]),
    origin("held", &[], &["spec"]),
    origin("until", &[], &["spec"]),
    origin("term", &[], &["spec"]),
    origin("held_cost_usd", &["held"], &["as_of", "catalog", "spec"]),
    origin("monthly_cost_usd", &["recommended", "held"], &["as_of", "catalog", "spec"]),
    origin("break_even", &[], &["as_of", "catalog", "lake", "spec"]),
    origin("action", &["recommended", "held"], DEMAND),
    origin("owner", &[], &["lake", "spec"]),
];

/// Fields that only retell others at length.
const RETOLD: [&str; 10] = [
    "derivation",
    "inputs",
    "limits",
    "evidence",
    "justification",
    "fields",
    "load_duration",
    "reason",
    "lints",
    "detail",
];

type Row = BTreeMap<String, Value>;
type Rows = BTreeMap<(&'static str, String), Row>;

/// What changed from `old` to `new`.
#[must_use]
pub fn diff(old: &Plan, new: &Plan) -> PlanDiff {
    let inputs = changed_inputs(old, new);
    let changed: BTreeSet<&str> = inputs.iter().map(|change| change.input.as_str()).collect();
    let (before, after) = (rows(old), rows(new));
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut changes = Vec::new();
    for key in keys {
        let (part, row) = key;
        let mut push = |field: &str, old: Value, new: Value, causes: Vec<String>| {
            changes.push(Change {
                part: (*part).to_owned(),
                row: row.clone(),
                field: field.to_owned(),
                old,
                new,
                causes,
            });
        };
        match (before.get(key), after.get(key)) {
            (Some(old), Some(new)) => {
                let moved: BTreeSet<&str> = old
                    .keys()
                    .chain(new.keys())
                    .map(String::as_str)
                    .filter(|field| old.get(*field) != new.get(*field))
                    .collect();
                for field in &moved {
                    let at = |row: &Row| row.get(*field).cloned().unwrap_or_default();
                    push(field, at(old), at(new), told(causes(field, &moved, &changed)));
                }
            }
            (old, new) => {
                let whole = |row: Option<&Row>| row.map_or(Value::Null, headline);
                let causes = of_row(part, row, &before, &after, &changed);
                push("row", whole(old), whole(new), causes);
            }
        }
    }
    PlanDiff { old: old.plan_id.clone(), new: new.plan_id.clone(), inputs, changes }
}

fn changed_inputs(old: &Plan, new: &Plan) -> Vec<InputChange> {
    let none = || "none".to_owned();
    let told = |plan: &Plan| {
        [
            ("as_of", plan.as_of.to_string()),
            ("calendar", format!("{} in {}", plan.holidays, plan.time_zone)),
            ("catalog", format!("{} ({})", plan.catalog, short(&plan.catalog_sha256))),
            ("lake", format!("version {}, {} runs", plan.lake_version, plan.history.runs)),
            ("ledger", plan.ledger_sha256.as_deref().map_or_else(none, |digest| short(digest).to_owned())),
            ("spec", short(&plan.spec_sha256).to_owned()),
        ]
    };
    told(old)
        .into_iter()
        .zip(told(new))
        .filter(|(old, new)| old.1 != new.1)
        .map(|((input, old), (_, new))| InputChange { input: input.to_owned(), old, new })
        .collect()
}

/// Enough of a digest to tell it from another.
fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// Inputs behind a change of `field`, given all that moved in its row.
fn causes<'i>(field: &str, moved: &BTreeSet<&str>, changed: &BTreeSet<&'i str>) -> BTreeSet<&'i str> {
    let own = |inputs: &[&str]| changed.iter().filter(|input| inputs.contains(input)).copied().collect();
    let Some(origin) = ORIGINS.iter().find(|origin| origin.field == field) else {
        return own(ALL);
    };
    let above: Vec<&str> = origin.fields.iter().filter(|field| moved.contains(*field)).copied().collect();
    if above.is_empty() {
        let direct: BTreeSet<&str> = own(origin.inputs);
        // What it should follow from did not change, yet it did: any input may be behind it.
        return if direct.is_empty() { own(ALL) } else { direct };
    }
    above.into_iter().flat_map(|field| causes(field, moved, changed)).collect()
}

/// A request or a warning comes and goes with the limit that it is about.
fn of_row(part: &str, row: &str, before: &Rows, after: &Rows, changed: &BTreeSet<&str>) -> Vec<String> {
    let about = ("pools", row.to_owned());
    if part == "quota_requests"
        && let (Some(old), Some(new)) = (before.get(&about), after.get(&about))
    {
        let moved: BTreeSet<&str> =
            old.keys().map(String::as_str).filter(|field| old.get(*field) != new.get(*field)).collect();
        let fields = ["decision", "ask", "file_by"].into_iter().filter(|field| moved.contains(field));
        let found: BTreeSet<&str> = fields.flat_map(|field| causes(field, &moved, changed)).collect();
        if !found.is_empty() {
            return told(found);
        }
        // The limit needs what it needed: only the ledger, or the day, takes a request away.
        let found: BTreeSet<&str> =
            changed.iter().filter(|input| ["as_of", "ledger"].contains(input)).copied().collect();
        if !found.is_empty() {
            return told(found);
        }
    }
    told(changed.clone())
}

fn told(causes: BTreeSet<&str>) -> Vec<String> {
    if causes.is_empty() {
        return vec!["program".to_owned()];
    }
    causes.into_iter().map(str::to_owned).collect()
}

/// What a row that is new or gone is shown by.
fn headline(row: &Row) -> Value {
    let keys = ["to", "ask", "decision", "value", "frees", "recommended", "detail", "action"];
    let shown = keys.into_iter().filter_map(|key| Some((key.to_owned(), row.get(key)?.clone())));
    Value::Object(shown.collect())
}

/// Every row of a plan that is worth a line, by part and name.
fn rows(plan: &Plan) -> Rows {
    let mut rows = Rows::new();
    for pool in &plan.pools {
        for dimension in &pool.dimensions {
            let name =
                name(&pool.pool, pool.account.as_deref(), pool.region.as_deref(), &dimension.dimension);
            add(&mut rows, "pools", name, dimension);
        }
    }
    for request in &plan.quota_requests {
        let (account, region) = (request.account.as_deref(), request.region.as_deref());
        add(&mut rows, "quota_requests", name(&request.pool, account, region, &request.dimension), request);
    }
    for reservation in &plan.reservations {
        add(&mut rows, "reservations", reservation.pool.clone(), reservation);
    }
    for fix in &plan.cheaper_first {
        let whose = fix.workflow.as_deref().unwrap_or("all");
        add(&mut rows, "cheaper_first", format!("{} {} {whose} {}", fix.pool, fix.fix, fix.dimension), fix);
    }
    for tier in &plan.tiers {
        add(&mut rows, "tiers", format!("{} tier {}", tier.pool, tier.tier), tier);
    }
    for budget in &plan.budgets {
        add(&mut rows, "budgets", format!("{} {}", budget.workflow, budget.limit), budget);
    }
    for risk in &plan.risks {
        let pool = risk.pool.as_deref().unwrap_or("all pools");
        add(&mut rows, "risks", format!("{pool}: {}", risk.risk), risk);
    }
    for stress in &plan.stress {
        add(&mut rows, "stress", stress.stress.clone(), stress);
    }
    rows
}

fn name(pool: &str, account: Option<&str>, region: Option<&str>, dimension: &str) -> String {
    let place: Vec<&str> = [account, region].into_iter().flatten().collect();
    if place.is_empty() {
        format!("{pool} {dimension}")
    } else {
        format!("{pool} ({}) {dimension}", place.join(", "))
    }
}

fn add(rows: &mut Rows, part: &'static str, name: String, row: &impl Serialize) {
    if let Ok(Value::Object(fields)) = serde_json::to_value(row) {
        let kept = fields.into_iter().filter(|(field, _)| !RETOLD.contains(&field.as_str()));
        rows.insert((part, name), kept.collect());
    }
}
