//! `plimsoll catalog diff`: what changed between two folders of provider files, or between two days.

use std::{collections::BTreeMap, path::Path, process::ExitCode};

use jiff::civil::Date;
use plimsoll_catalog::{Catalog, Change, Entry, changes};

use crate::{cli::Format, embedded, failure::Failure, open, output, settings::Settings};

/// Options of `catalog diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// Folder of provider files, or a day.
    #[arg(value_name = "OLD")]
    old: String,
    /// The other folder, or the other day.
    #[arg(value_name = "NEW")]
    new: String,
}

impl Diff {
    pub(super) fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let found = match (self.old.parse::<Date>(), self.new.parse::<Date>()) {
            (Ok(old), Ok(new)) => {
                let catalog = open::catalog(settings)?;
                let on = |day| -> Vec<Entry> { catalog.in_force(day).map(|entry| entry.on(day)).collect() };
                let (old, new) = (on(old), on(new));
                changes(&by_key(&old), &by_key(&new))
            }
            (Err(_), Err(_)) => {
                let (old, new) = (folder(&self.old)?, folder(&self.new)?);
                changes(&by_row(&old), &by_row(&new))
            }
            _ => return Err(Failure::input("give two folders, or two days such as 2026-06-01 2026-11-30")),
        };
        match format {
            Format::Table => output::line(&table(&found))?,
            _ => output::list(&found, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn folder(folder: &str) -> Result<Catalog, Failure> {
    Ok(Catalog::load(embedded::read_folder(Path::new(folder), "toml")?)?)
}

fn by_key(entries: &[Entry]) -> BTreeMap<String, &Entry> {
    entries.iter().map(|entry| (entry.key.to_string(), entry)).collect()
}

/// Rows of one key are told apart by their first day.
fn by_row(catalog: &Catalog) -> BTreeMap<String, &Entry> {
    let name = |entry: &Entry| match entry.from {
        Some(from) => format!("{} from {from}", entry.key),
        None => entry.key.to_string(),
    };
    catalog.entries().map(|entry| (name(entry), entry)).collect()
}

fn table(found: &[Change]) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let rows: Vec<[String; 5]> = found
        .iter()
        .map(|change| {
            [
                change.row.clone(),
                change.change.to_owned(),
                text(&change.field),
                text(&change.old),
                text(&change.new),
            ]
        })
        .collect();
    let table = output::columns(["row", "change", "field", "old", "new"], &rows);
    if rows.is_empty() { "no difference".to_owned() } else { format!("{table}\n{} changes", rows.len()) }
}
