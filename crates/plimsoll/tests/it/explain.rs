//! `plimsoll explain` on small inputs of our own.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{explained, plimsoll};

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/explain").join(name)
}

/// An agent's total, a refused request and its retry, a tool, and a stream without usage: each says what
/// it counts as, and by which rule it was recognised.
#[test]
fn a_run_of_the_conventions() {
    insta::assert_snapshot!(explained(&input("conventions.json")));
}

/// Counts in Python's notation, JSON that was cut, a client that guesses and one that misreports: what
/// was read, what was not, and why.
#[test]
fn a_run_of_odd_clients() {
    insta::assert_snapshot!(explained(&input("odd.json")));
}

/// JSON has the same, span by span, and `--span` takes one.
#[test]
fn as_json() {
    let file = input("conventions.json").display().to_string();
    let folder = std::env::temp_dir();
    let all: Value =
        serde_json::from_str(&plimsoll(&["explain", "--format", "json", &file], &folder)).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 6);
    let one = plimsoll(&["explain", "--format", "json", "--span", "00000000000000c2", &file], &folder);
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one[0]["counted"], "operation 1, attempt 2; usage reported");
    assert_eq!(one[0]["columns"]["input_tokens"], 1200);
    let places = one[0]["why"]["places"].as_array().unwrap();
    let won =
        places.iter().find(|place| place["column"] == "input_tokens" && place["outcome"] == "won").unwrap();
    assert_eq!((&won["origin"], &won["value"]), (&"gen_ai.usage.input_tokens".into(), &"1200".into()));
}

/// The lake answers for what it kept, and names what only the original bytes can tell.
#[test]
fn from_the_lake() {
    let folder = tempfile::tempdir().unwrap();
    let file = input("conventions.json").display().to_string();
    plimsoll(&["ingest", &file], folder.path());
    plimsoll(&["profile"], folder.path());
    let page = plimsoll(&["explain", "5b8efff798038103d269b633813fc60c"], folder.path());
    assert!(
        page.contains("chat gpt-5.2 [00000000000000c2]: operation 1, attempt 2; usage reported"),
        "{page}"
    );
    assert!(page.contains("original bytes"), "{page}");
}

/// What is neither a file nor in the lake is said so, with an exit code of its own.
#[test]
fn nothing_to_explain() {
    let folder = tempfile::tempdir().unwrap();
    let command = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["explain", "00000000000000000000000000000001"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(command.status.code(), Some(3));
}
