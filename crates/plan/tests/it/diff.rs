//! Two plans held against each other: what changed, and which input is behind it.

use plimsoll_plan::{Change, PlanDiff, diff};
use serde_json::json;

use crate::world::{CLOSE, SONNET, at, measured, plan, plan_as_of};

fn change<'d>(diff: &'d PlanDiff, part: &str, field: &str) -> &'d Change {
    let row = format!("{SONNET} (prod) input_tokens_per_min");
    let found =
        diff.changes.iter().find(|change| change.part == part && change.row == row && change.field == field);
    found.ok_or_else(|| format!("{part} {field} in {diff:#?}")).unwrap()
}

fn causes(diff: &PlanDiff) -> Vec<String> {
    let mut causes: Vec<String> = diff.changes.iter().flat_map(|change| change.causes.clone()).collect();
    causes.sort();
    causes.dedup();
    causes
}

/// Protects the reviewer: the same plan has no difference.
#[test]
fn the_same_plan_differs_in_nothing() {
    let one = plan(CLOSE, "", &measured());
    let diff = diff(&one, &one);
    assert!(diff.inputs.is_empty() && diff.changes.is_empty(), "{diff:?}");
}

/// Protects the answer to "why": with one input changed, it and nothing else is the cause of every change.
#[test]
fn one_input_is_the_cause_of_all() {
    let one = plan(CLOSE, "", &measured());
    let spec = diff(&one, &plan(&CLOSE.replace("750000", "900000"), "", &measured()));
    assert_eq!(causes(&spec), ["spec"]);
    let limit = change(&spec, "pools", "limit");
    assert_eq!((&limit.old, &limit.new), (&json!(750_000), &json!(900_000)));

    let mut more = measured();
    more.lake_version = 8;
    for draw in &mut more.workflows[0].draws {
        draw.per_run.p95 *= 2.0;
    }
    let lake = diff(&one, &plan(CLOSE, "", &more));
    assert_eq!(causes(&lake), ["lake"]);
    let floor = change(&lake, "pools", "p95_floor");
    assert_eq!((&floor.old, &floor.new), (&json!(1_584_000), &json!(3_168_000)));

    let filed = format!(
        "[[request]]\npool = \"{SONNET}\"\naccount = \"prod\"\ndimension = \"input_tokens_per_min\"\nasked = 5000000\nfiled = \"2026-11-01\"\n"
    );
    let ledger = diff(&one, &plan(CLOSE, &filed, &measured()));
    assert_eq!(causes(&ledger), ["ledger"]);
    assert_eq!(change(&ledger, "pools", "decision").new, json!("hold"));
    assert_eq!(change(&ledger, "quota_requests", "row").new, json!(null), "it is not asked again");
}

/// Protects the cause where several inputs changed: a need that grew by what was measured is not laid to a
/// later day, and a decision that the day changed is not laid to the lake.
#[test]
fn each_field_has_its_own_cause() {
    let one = plan(CLOSE, "", &measured());
    let mut more = measured();
    more.lake_version = 8;
    let later = diff(&one, &plan_as_of(CLOSE, "", &more, at("2026-11-12T10:00:00Z")));
    let inputs: Vec<&str> = later.inputs.iter().map(|change| change.input.as_str()).collect();
    assert_eq!(inputs, ["as_of", "lake"]);
    assert_eq!(change(&later, "pools", "decision").new, json!("late"));
    assert!(change(&later, "pools", "decision").causes.contains(&"as_of".to_owned()));

    let limit = plan(&CLOSE.replace("750000", "900000"), "", &more);
    let both = diff(&one, &limit);
    assert_eq!(change(&both, "pools", "limit").causes, ["spec"]);
    assert_eq!(change(&both, "pools", "utilization_p95").causes, ["spec"], "it follows from the limit alone");
}
