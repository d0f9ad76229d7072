//! Public failures, one folder each in `tests/torture`: symptom, bodies, queries and what is right.
//!
//! A folder is data; its README and `tests/torture/README.md` say what the names of files mean. What is
//! proven is the path from a body's bytes to a row of SQL; receivers and the journal are `ingest`'s.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use plimsoll_assembly::naming::Rules;
use serde_json::Value;

use crate::support::{Outcome, RECEIVED, World};

/// How far two numbers may lie apart, as a share of the larger.
const NEAR: f64 = 1e-9;

/// What a file of a folder asks for.
enum Step {
    /// A body, when it is received and how many of its spans must be rejected.
    Body { bytes: Vec<u8>, received: i64, rejects: u64 },
    /// A query and its rows.
    Query { file: String, sql: String, expected: Value },
}

/// A folder, its steps in order.
struct Case {
    name: String,
    rules: Rules,
    steps: Vec<Step>,
}

impl Case {
    fn read(folder: &Path) -> Outcome<Self> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let file = entry?.file_name().to_string_lossy().into_owned();
            if let Some((number, rest)) = file.split_once('-') {
                files.push((number.parse::<u32>()?, rest.to_owned(), file.clone()));
            }
        }
        files.sort();
        let mut steps = Vec::new();
        for (number, rest, file) in &files {
            if let Some(options) = rest.strip_prefix("body").and_then(|rest| rest.strip_suffix(".json")) {
                let bytes = std::fs::read(folder.join(file))?;
                let after: SignedDuration = option(options, "after").unwrap_or("0s").parse()?;
                let received = RECEIVED + i64::try_from(after.as_micros())?;
                let rejects = option(options, "rejects").unwrap_or("0").parse()?;
                steps.push(Step::Body { bytes, received, rejects });
            } else if rest == "query.sql" {
                let sql = std::fs::read_to_string(folder.join(file))?;
                let expected = std::fs::read(folder.join(format!("{number}-expected.json")))?;
                let expected = serde_json::from_slice(&expected)?;
                steps.push(Step::Query { file: format!("{name}/{file}"), sql, expected });
            } else if rest != "expected.json" {
                return Err(format!("{name}/{file}: neither a body nor a query").into());
            }
        }
        let rules = match std::fs::read_to_string(folder.join("plimsoll.toml")) {
            Ok(text) => toml::from_str(&text)?,
            Err(_) => Rules::default(),
        };
        Ok(Self { name, rules, steps })
    }

    /// Everything in the order of the numbers, a round before each query.
    async fn in_order(&self, faults: &mut Vec<String>) -> Outcome {
        let world = World::with_rules(&self.rules).await?;
        let mut stale = false;
        for step in &self.steps {
            match step {
                Step::Body { bytes, received, rejects } => {
                    stale = true;
                    let rejected = world.receive_body(bytes, *received).await?;
                    if rejected != *rejects {
                        faults.push(format!("{}: {rejected} spans rejected, not {rejects}", self.name));
                    }
                }
                Step::Query { file, sql, expected } => {
                    if std::mem::take(&mut stale) {
                        world.round().await?;
                    }
                    faults.extend(ask(&world, file, sql, expected).await);
                }
            }
        }
        Ok(())
    }

    /// Bodies in the opposite order, each twice, one round; then what was asked after the last body.
    async fn backwards(&self, faults: &mut Vec<String>) -> Outcome {
        let Some(last) = self.steps.iter().rposition(|step| matches!(step, Step::Body { .. })) else {
            return Ok(());
        };
        let world = World::with_rules(&self.rules).await?;
        for step in self.steps.iter().rev() {
            if let Step::Body { bytes, received, .. } = step {
                for _ in 0..2 {
                    world.receive_body(bytes, *received).await?;
                }
            }
        }
        world.round().await?;
        for step in &self.steps[last + 1..] {
            if let Step::Query { file, sql, expected } = step {
                faults.extend(ask(&world, &format!("{file}, backwards and twice"), sql, expected).await);
            }
        }
        Ok(())
    }
}

/// The value of `-NAME-VALUE` in a file's name.
fn option<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    let mut words = options.split('-');
    words.find(|word| *word == name).and_then(|_| words.next())
}

/// What is wrong with the answer to a query, if anything is.
async fn ask(world: &World, file: &str, sql: &str, expected: &Value) -> Option<String> {
    match world.query(sql).await {
        Ok(rows) => {
            let got = Value::Array(rows);
            (!alike(&got, expected)).then(|| format!("{file}:\n  gives {got}\n  not   {expected}"))
        }
        Err(error) => Some(format!("{file}: {error}")),
    }
}

/// Equal, numbers within [`NEAR`]; a column that a row leaves out is null.
fn alike(got: &Value, expected: &Value) -> bool {
    match (got, expected) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            (a - b).abs() <= NEAR * a.abs().max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.keys().all(|key| b.contains_key(key))
                && b.iter().all(|(key, b)| alike(a.get(key).unwrap_or(&Value::Null), b))
        }
        (a, b) => a == b,
    }
}

/// Every public failure comes out right, in whatever order and however often its bodies come.
#[tokio::test]
async fn public_failures() -> Outcome {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/torture");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root)?.map(|entry| Ok(entry?.path())).collect::<Outcome<_>>()?;
    folders.retain(|path| path.is_dir());
    folders.sort();
    let mut faults = Vec::new();
    for folder in &folders {
        let case = Case::read(folder)?;
        case.in_order(&mut faults).await?;
        case.backwards(&mut faults).await?;
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    Ok(())
}
