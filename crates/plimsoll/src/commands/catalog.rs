//! `plimsoll catalog`: what the provider rules say, whether a folder of them is right, and what changed.

use std::process::ExitCode;

use clap::Subcommand;
use jiff::civil::Date;
use plimsoll_catalog::Catalog;

use crate::{cli::Format, failure::Failure, settings::Settings};

mod check;
mod diff;
mod list;
mod show;

/// Options of `catalog`.
#[derive(Debug, clap::Args)]
pub(crate) struct CatalogCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Every pool that has a row, with its limits and how well it is known.
    List(list::List),
    /// One pool's row: every field, the questions that are still open, stale sources.
    Show(show::Show),
    /// Every mistake in a folder of provider files, and every stale row.
    Check(check::Check),
    /// What changed between two folders, or between two days.
    Diff(diff::Diff),
}

impl CatalogCommand {
    pub(crate) fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        match &self.what {
            What::List(list) => list.run(settings, format),
            What::Show(show) => show.run(settings, format),
            What::Check(check) => check.run(settings, format),
            What::Diff(diff) => diff.run(settings, format),
        }
    }
}

/// The day that was asked for, else the last of the catalog's month: the clock plays no part.
pub(crate) fn day(text: Option<&str>, catalog: &Catalog) -> Result<Date, Failure> {
    match text {
        Some(text) => text
            .parse()
            .map_err(|_| Failure::input(format!("--as-of is `{text}`: write a day as 2026-11-30"))),
        None => catalog.edition_day().ok_or_else(|| {
            Failure::input("no provider file tells its `edition`, so there is no day to go by: give --as-of")
        }),
    }
}
