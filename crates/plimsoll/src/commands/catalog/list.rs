//! `plimsoll catalog list`: the pools that have a row.

use std::process::ExitCode;

use jiff::civil::Date;
use plimsoll_catalog::{Confidence, Entry, Source};
use serde::Serialize;

use super::day;
use crate::{cli::Format, failure::Failure, open, output, settings::Settings};

/// Options of `catalog list`.
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Only pools whose provider is this, for example aws.bedrock.
    #[arg(long)]
    provider: Option<String>,
    /// Day whose rows are listed; without it, the last of the catalog's month.
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
}

/// A pool, as listed.
#[derive(Serialize)]
struct Listed {
    pool: String,
    limit_group: String,
    from: Option<Date>,
    limits: String,
    tiers: String,
    unit: Option<String>,
    priced: bool,
    confidence: &'static str,
    read_on: Option<Date>,
    stale: bool,
    retires: Option<Date>,
    flags: usize,
}

impl List {
    pub(super) fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let catalog = open::catalog(settings)?;
        let as_of = day(self.as_of.as_deref(), &catalog)?;
        let asked =
            |entry: &&Entry| self.provider.as_ref().is_none_or(|provider| entry.key.provider() == provider);
        let listed: Vec<Listed> =
            catalog.in_force(as_of).filter(asked).map(|entry| Listed::of(entry, as_of)).collect();
        if listed.is_empty() {
            let mut known: Vec<&str> = catalog.entries().map(|entry| entry.key.provider()).collect();
            known.dedup();
            return Err(Failure::input(format!("no pool matches; there are providers {}", known.join(", "))));
        }
        match format {
            Format::Table => output::line(&table(&listed))?,
            _ => output::list(&listed, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Listed {
    fn of(entry: &Entry, as_of: Date) -> Self {
        let names = |texts: Vec<String>| texts.join(" ");
        Self {
            pool: entry.key.to_string(),
            limit_group: entry.limit_group.clone(),
            from: entry.from,
            limits: names(entry.dimensions.iter().map(|limit| limit.name.clone()).collect()),
            tiers: names(entry.tiers.iter().map(|rule| rule.tier.to_string()).collect()),
            unit: entry.units.first().map(|unit| unit.name.clone()),
            priced: entry.price(as_of).is_some(),
            confidence: confidence(&entry.sources),
            read_on: entry.sources.iter().map(|source| source.read_on).min(),
            stale: entry.is_stale(as_of),
            retires: entry.retires,
            flags: entry.flags.len(),
        }
    }
}

/// How well the least of the sources that were read is known; what is assumed is lead times.
fn confidence(sources: &[Source]) -> &'static str {
    let any = |wanted: Confidence| sources.iter().any(|source| source.confidence == wanted);
    if any(Confidence::Derived) {
        "derived"
    } else if any(Confidence::SecondHand) {
        "second_hand"
    } else if any(Confidence::OwnPage) {
        "own_page"
    } else {
        "assumed"
    }
}

fn table(listed: &[Listed]) -> String {
    let rows: Vec<[String; 5]> = listed
        .iter()
        .map(|row| {
            let read = row.read_on.map(|day| day.to_string()).unwrap_or_default();
            let stale = if row.stale { " stale" } else { "" };
            let retired = row.retires.map(|day| format!(" retires {day}")).unwrap_or_default();
            [
                row.pool.clone(),
                row.limits.clone(),
                row.unit.clone().unwrap_or_default(),
                row.confidence.to_owned(),
                format!("{read}{stale}{retired}"),
            ]
        })
        .collect();
    let table = output::columns(["pool", "limits", "unit", "confidence", "oldest source"], &rows);
    format!("{table}\n{} pools", listed.len())
}
