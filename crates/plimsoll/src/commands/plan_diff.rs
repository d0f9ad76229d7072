//! `plimsoll plan diff OLD NEW`: what changed from one plan to another, and which input caused it.

use std::{path::Path, process::ExitCode};

use plimsoll_plan::{Plan, PlanDiff, diff};
use plimsoll_profile::{Reader, stored_plans};
use serde_json::Value;

use crate::{
    cli::Format,
    failure::{self, Failure},
    open, output,
    settings::Settings,
};

/// Shortest beginning of a plan's id that names it.
const SHORTEST_ID: usize = 6;

/// Options of `plan diff`.
#[derive(Debug, clap::Args)]
pub(super) struct Diff {
    /// The older plan: a plan.json, a folder with one, or the id of a plan in the lake (or its beginning).
    #[arg(value_name = "OLD")]
    old: String,
    /// The newer plan.
    #[arg(value_name = "NEW")]
    new: String,
}

impl Diff {
    pub(super) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let old = read(settings, &self.old).await?;
        let new = read(settings, &self.new).await?;
        let diff = diff(&old, &new);
        match format {
            Format::Table => table(&diff)?,
            Format::Json => output::answer(&diff, &[], format)?,
            Format::Csv | Format::Parquet => output::list(&diff.changes, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A plan by its file, its folder or its id.
///
/// # Errors
/// Where there is none, several, or one of another version.
pub(super) async fn read(settings: &Settings, name: &str) -> Result<Plan, Failure> {
    let path = Path::new(name);
    let path = if path.is_dir() { path.join("plan.json") } else { path.to_owned() };
    let text = if path.is_file() {
        std::fs::read_to_string(&path).map_err(failure::file(&path))?
    } else {
        stored(settings, name).await?
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::input(format!(
            "{name}: no plan of this version ({error}): make it again with `plimsoll plan`"
        ))
    })
}

async fn stored(settings: &Settings, id: &str) -> Result<String, Failure> {
    let is_id = id.len() >= SHORTEST_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id {
        return Err(Failure::input(format!(
            "{id}: no such file, and no plan's id: name a plan.json or an id"
        )));
    }
    let lake = open::existing_lake(settings).await?;
    let reader = Reader::pinned(&lake, &open::sessions(settings)?).await?;
    let mut found = stored_plans(&reader, id).await?;
    match (found.pop(), found.len()) {
        (Some(plan), 0) => Ok(plan),
        (None, _) => Err(Failure::input(format!(
            "{id}: the lake has no plan of this id (plimsoll sql \"SELECT plan_id, as_of FROM plans\" lists them)"
        ))),
        (_, more) => Err(Failure::input(format!("{id}: {} plans begin so: write more of the id", more + 1))),
    }
}

fn table(diff: &PlanDiff) -> Result<(), Failure> {
    if diff.changes.is_empty() && diff.inputs.is_empty() {
        return output::line("the same plan");
    }
    for input in &diff.inputs {
        output::line(&format!("input {:<10} {} -> {}", input.input, input.old, input.new))?;
    }
    if diff.changes.is_empty() {
        return output::line("nothing else changed");
    }
    let mut at = None;
    for change in &diff.changes {
        let row = (&change.part, &change.row);
        if at != Some(row) {
            output::line(&format!("\n{}: {}", change.part, change.row))?;
            at = Some(row);
        }
        let causes = change.causes.join(", ");
        let told = match (&change.old, &change.new) {
            (Value::Null, new) if change.field == "row" => format!("new: {}", plain(new)),
            (old, Value::Null) if change.field == "row" => format!("gone: {}", plain(old)),
            (old, new) => format!("{}: {} -> {}", change.field, plain(old), plain(new)),
        };
        output::line(&format!("  {told}   [{causes}]"))?;
    }
    Ok(())
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let told: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key} {}", plain(value))).collect();
            told.join(", ")
        }
        other => other.to_string(),
    }
}
