//! The files in `schemas/config/`, held against each other and against mistakes.

use plimsoll_plan::{Ledger, Spec};
use plimsoll_scenario::{DEMO_LEDGER, DEMO_PLAN, DEMO_PLIMSOLL, INSURER, Scenario};

fn refusal(text: &str) -> String {
    Scenario::parse(text).unwrap_err().to_string()
}

/// Protects users who copy and change: a misspelt key or name is answered with what was meant.
#[test]
fn mistakes_are_placed_and_explained() {
    let said = refusal(&INSURER.replace("burst_s = 5 ", "burts_s = 5 "));
    assert!(said.contains("burts_s") && said.contains("did you mean `burst_s`?"), "{said}");
    let said = refusal(&INSURER.replace("spill = \"gpt-standard\"", "spill = \"gpt-standart\""));
    assert!(said.contains("did you mean `gpt-standard`?"), "{said}");
    let said = refusal(&INSURER.replace("input = { mean = 6000 }", "input = { mean = 6000, p50 = 1 }"));
    assert!(said.contains("{ p50, p95 }"), "{said}");
    let said = refusal(&INSURER.replace("America/New_York", "America/New_Yorck"));
    assert!(said.contains("America/New_Yorck"), "{said}");
    let said = refusal(&INSURER.replace("days = \"business\"", "days = \"busines\""));
    assert!(said.contains("names no days"), "{said}");
}

/// Protects the schema: it knows every key of the example and describes it.
#[test]
fn the_schema_knows_every_key() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../schemas/config/scenario.schema.json")).unwrap();
    let file: toml::Table = toml::from_str(INSURER).unwrap();
    covered(&schema, &schema, &toml::Value::Table(file), "");
}

fn covered(root: &serde_json::Value, schema: &serde_json::Value, value: &toml::Value, path: &str) {
    if let Some(name) = schema.get("$ref").and_then(|name| name.as_str()?.strip_prefix("#/$defs/")) {
        return covered(root, &root["$defs"][name], value, path);
    }
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let here = format!("{path}.{key}");
                // A spread is one of several shapes.
                let shapes =
                    schema.get("oneOf").and_then(|shapes| shapes.as_array()).map_or(&[][..], |shapes| shapes);
                let known = schema["properties"].get(key);
                let known = known.or_else(|| shapes.iter().find_map(|shape| shape["properties"].get(key)));
                covered(
                    root,
                    known.unwrap_or_else(|| unreachable!("{here} is not in the schema")),
                    value,
                    &here,
                );
            }
        }
        toml::Value::Array(values) => {
            values.iter().for_each(|value| covered(root, &schema["items"], value, path))
        }
        _ => {}
    }
}

/// Protects the demo: the planner reads its own example.
#[test]
fn the_planner_reads_the_plan_and_the_ledger() {
    let spec = Spec::parse(DEMO_PLAN).unwrap();
    for workflow in Scenario::insurer().unwrap().workflow_names() {
        assert!(spec.workflow(workflow).is_some(), "{workflow}");
    }
    assert_eq!(Ledger::parse(DEMO_LEDGER).unwrap().requests.len(), 1);
}

/// Protects the demo: the limits that it plans with are the limits that were played.
#[test]
fn the_plan_has_the_limits_of_the_scenario() {
    let scenario: toml::Table = toml::from_str(INSURER).unwrap();
    let plan: toml::Table = toml::from_str(DEMO_PLAN).unwrap();
    let rules: toml::Table = toml::from_str(DEMO_PLIMSOLL).unwrap();
    let list = |table: &toml::Table, key: &str| table[key].as_array().unwrap().clone();
    let mut compared = 0;
    for pool in list(&scenario, "pool") {
        let model = pool["model"].as_str().unwrap().to_owned();
        let rule = list(&rules, "deployment").into_iter().find(|rule| {
            let glob = rule["match"]["model"].as_str().unwrap();
            rule["match"]["provider"] == pool["provider"]
                && glob.strip_suffix('*').map_or(model == glob, |prefix| model.starts_with(prefix))
        });
        let key = rule.unwrap()["pool"].clone();
        let planned = list(&plan, "pool").into_iter().find(|planned| planned["key"] == key).unwrap();
        let (played, planned) = (pool["limits"].as_array().unwrap(), planned["limits"].as_array().unwrap());
        assert_eq!(played.len(), planned.len(), "{key}");
        for (played, planned) in played.iter().zip(planned) {
            for (dimension, limit) in planned.as_table().unwrap() {
                assert_eq!(played.get(dimension), Some(limit), "{key} {dimension}");
                compared += 1;
            }
        }
    }
    assert!(compared > 10);
}

/// Protects the ledger's story: what was granted, and when, is what the pool was given.
#[test]
fn the_ledger_tells_of_the_grant() {
    let ledger: toml::Table = toml::from_str(DEMO_LEDGER).unwrap();
    let request = &ledger["request"][0];
    assert_eq!(request["asked"].as_integer(), Some(1_500_000));
    let granted = format!(
        "from = {}, requests_per_min = 4000, input_tokens_per_min = {}",
        request["decided"], request["granted"]
    );
    assert!(INSURER.contains(&granted), "{granted}");
}
