//! `catalog` and `meter`, as people run them.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// The command in an empty folder, so that no settings play a part.
fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(arguments).current_dir(folder).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    crate::support::plimsoll(arguments, folder.path())
}

fn read(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(arguments)).unwrap()
}

/// Exit code and what was said on stderr.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(arguments, folder.path());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

const SONNET: &str = "aws.bedrock/runtime/geo/claude-sonnet-4.5";

/// Protects the answer that scripts read, to the key.
#[test]
fn meter_prints_the_promised_json() {
    let call = "input=1000,cache_read=0,cache_write=0,max=4000,output=100";
    let answer = read(&["meter", "--pool", SONNET, "--call", call, "--format", "json"]);
    assert_eq!(answer["admission"], json!({"requests_per_min": 1, "tokens_per_min": 5000}));
    assert_eq!(answer["settlement"], json!({"requests_per_min": 1, "tokens_per_min": 1500}));
    assert_eq!(answer["released"]["tokens_per_min"], 3500);
    assert_eq!((&answer["billed_tokens"], &answer["cost_usd"]), (&json!(1100), &json!("0.00495")));
    let table = printed(&["meter", "--pool", SONNET, "--call", call]);
    assert!(table.contains("if reservation_times_burndown = yes"), "{table}");
}

/// Protects the person who mistypes: one plain sentence, exit code 2, never a number.
#[test]
fn meter_refuses_what_cannot_be() {
    for (pool, call, rest, remedy) in [
        ("aws.bedrock/runtime/geo/claude-sonet-4.5", "input=1", [].as_slice(), SONNET),
        (SONNET, "output=5,reasoning=6", &[], "reasoning is 6, above output 5"),
        (SONNET, "output=5,max=4", &[], "above max 4"),
        (SONNET, "input=-1", &[], "0 or more"),
        (SONNET, "input=1.5", &[], "whole number"),
        (SONNET, "inptu=1", &[], "did you mean `input`?"),
        (SONNET, "input=1", &["--tier", "golden"], "is no service tier"),
        (SONNET, "input=1", &["--as-of", "November"], "write a day as 2026-11-30"),
        ("sonnet", "input=1", &[], "write provider/product/scope/model"),
    ] {
        let arguments = [&["meter", "--pool", pool, "--call", call], rest].concat();
        let (code, said) = refused(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains(remedy) && said.trim_end().lines().count() == 1, "{arguments:?}: {said}");
    }
}

/// Protects what a person sees of a row: one pool a provider, field by field, open questions among them.
#[test]
fn a_row_is_shown_field_by_field() {
    for pool in [
        "anthropic/direct/global/claude-sonnet-4.5",
        "anthropic/priority/global/claude-opus-4.6",
        "aws.bedrock/mantle/regional/claude-opus-4.8",
        "aws.bedrock/runtime/geo/claude-sonnet-4.5",
        "azure.ai.openai/standard/datazone/gpt-5.2",
        "gcp.gemini/direct/global/gemini-2.5-pro",
        "gcp.vertex_ai/standard/global/gemini-3.6-flash",
        "openai-compatible/gateway/local/any-model",
        "openai/direct/global/gpt-5",
        "self-hosted/vllm/local/meta-llama/Llama-3.3-70B",
    ] {
        insta::assert_snapshot!(pool.replace('/', "_"), printed(&["catalog", "show", pool]));
    }
}

/// Protects the list: every provider's pools, one provider where asked, a stranger answered.
#[test]
fn pools_are_listed() {
    let all = read(&["catalog", "list", "--format", "json"]);
    let anthropic = read(&["catalog", "list", "--provider", "anthropic", "--format", "json"]);
    let (all, anthropic) = (all.as_array().unwrap(), anthropic.as_array().unwrap());
    assert!(anthropic.len() >= 15 && all.len() > 100, "{} of {}", anthropic.len(), all.len());
    assert!(anthropic.iter().all(|row| row["pool"].as_str().unwrap().starts_with("anthropic/")));
    let (code, said) = refused(&["catalog", "list", "--provider", "antropic"]);
    assert_eq!((code, said.contains("there are providers anthropic")), (Some(2), true), "{said}");
}

/// Protects the shipped rows, and a user's folder: T09 (a price per token typed per million) and every
/// other mistake of its files at once, each with file, line and field.
#[test]
fn every_mistake_of_a_folder_is_told() {
    assert!(printed(&["catalog", "check"]).contains(" 0 mistakes"));
    let folder = tempfile::tempdir().unwrap();
    let text = r#"edition = "2026-11"
provider = "own"
product = "direct"
[limits]
all = [{ name = "tokens_per_min", counts = "tokens", window_s = 60 }]
[meter.plain]
unset_max_output = "zero"
refused = "free"
admission.tokens = { input_uncached = 1 }
settlement.tokens = { input_uncached = 1, output = 1000 }
[source.page]
title = "a page"
read_on = "2026-01-01"
confidence = "own_page"
[[entry]]
scopes = ["global"]
models = ["one"]
limits = "all"
meter = "plain"
input_price_per_token = 3.0
prices = [{ input = "0.000003" }]
sources = ["page"]
"#;
    std::fs::write(folder.path().join("own.toml"), text).unwrap();
    let checked = run(&["catalog", "check", "."], folder.path());
    let said = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(2), "{said}");
    for told in [
        "own.toml:10: meter.plain",
        "1000 is not plausible: expected 0.01 to 200 tokens of quota per token",
        "own.toml:20: entry: unknown field `input_price_per_token`",
        "own.toml:21: entry.prices",
        "expected 0.001 to 1000 USD per million tokens; is it typed per token?",
        "3 mistakes",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
}

/// Protects change: a folder against another, field by field, and a price between two days.
#[test]
fn differences_are_told_field_by_field() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, price: &str, models: &str| {
        let text = format!(
            "provider = \"own\"\nproduct = \"direct\"\n[limits]\nall = [{{ name = \"tokens_per_min\", counts = \
             \"tokens\", window_s = 60 }}]\n[meter.plain]\nunset_max_output = \"zero\"\nrefused = \"free\"\n\
             admission = {{}}\nsettlement = {{}}\n[source.page]\ntitle = \"a page\"\nread_on = \"2026-01-01\"\n\
             confidence = \"own_page\"\n[[entry]]\nscopes = [\"global\"]\nmodels = [{models}]\nlimits = \"all\"\n\
             meter = \"plain\"\nprices = [{{ input = \"{price}\" }}]\nsources = [\"page\"]\n"
        );
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("own.toml"), text).unwrap();
    };
    file("old", "3", "\"one\", \"gone\"");
    file("new", "2.5", "\"one\", \"come\"");
    let answer = run(&["catalog", "diff", "old", "new", "--format", "json"], folder.path());
    let found: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let row = |model: &str, change: &str, field: Value, old: Value, new: Value| json!({"row": format!("own/direct/global/{model}"), "change": change, "field": field, "old": old, "new": new});
    assert_eq!(
        found,
        json!([
            row("come", "added", Value::Null, Value::Null, Value::Null),
            row("gone", "removed", Value::Null, Value::Null, Value::Null),
            row("one", "changed", json!("prices.standard.input"), json!("3"), json!("2.5")),
        ])
    );
    let days = printed(&["catalog", "diff", "2026-10-06", "2026-10-07"]);
    assert!(days.contains("prices.standard.cache_read") && days.contains("claude-sonnet-5.5"), "{days}");
    let (code, said) = refused(&["catalog", "diff", "2026-10-06", "folder"]);
    assert_eq!((code, said.contains("two folders, or two days")), (Some(2), true), "{said}");
}
