//! The command line: options that every subcommand takes, and the list of subcommands.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands;

/// Measures what LLM agents draw from their providers' quotas, and says what to request, what to
/// reserve, and by when.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every subcommand takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Shared {
    /// Settings; without it, ./plimsoll.toml where that exists.
    #[arg(short, long, global = true, env = "PLIMSOLL_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The lake: a folder, or s3://, gs://, az:// with the provider's usual environment variables.
    #[arg(long, global = true, env = "PLIMSOLL_LAKE", value_name = "DIR|URL")]
    pub(crate) lake: Option<String>,
    /// How results are printed.
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// An array of objects for lists, one object for a single answer.
    Json,
    /// With a header; texts that a spreadsheet would run are led by an apostrophe.
    Csv,
    /// A Parquet file on stdout (sql only).
    Parquet,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The main job on an example, in one go: receive, profile, plan, report.
    Demo(commands::demo::Demo),
    /// Makes realistic agent telemetry as OTLP.
    Generate(commands::generate::Generate),
    /// Receives telemetry and serves what is known.
    Serve(commands::serve::Serve),
    /// Reads telemetry from files.
    Ingest(commands::ingest::Ingest),
    /// Runs the SQL jobs over what is new.
    Profile(commands::profile::Profile),
    /// Read-only SQL over all tables; a prompt without arguments.
    Sql(commands::sql::Sql),
    /// The planning worksheet, without telemetry.
    Size(Box<commands::size::Size>),
    /// When the events of a rule, a calendar file or a plan come, and what was understood.
    Calendar(commands::calendar::Calendar),
    /// What one call costs each limit when it starts and when it ends, and in money.
    Meter(commands::meter::Meter),
    /// What the provider rules say, whether a folder of them is right, and what changed.
    Catalog(commands::catalog::CatalogCommand),
    /// Quota requests and reservations for what the calendar brings.
    Plan(Box<commands::plan::Plan>),
    /// The requests made so far, and what became of them.
    Ledger(commands::ledger::Ledger),
    /// Limits as the provider lists them, into the spec.
    Limits(commands::limits::Limits),
    /// An instant of the calendar, replayed with measured runs: who is throttled, who waits, at which limits.
    Replay(commands::replay::Replay),
    /// Plans made from the first part of a history, held against the rest: what was covered, at which cost.
    Backtest(commands::backtest::Backtest),
    /// Why a number is what it is: what each span was recognised as, by which rule, and what was ignored.
    Explain(commands::explain::Explain),
    /// What to mend in the telemetry, what costs most trust first.
    Doctor(commands::doctor::Doctor),
    /// Copies a table, or the rows of a query, into a Parquet, CSV or JSON file.
    Export(commands::export::Export),
    /// Merges small files, drops what is too old and removes what no reader needs: what `serve` does by the clock.
    Compact(commands::compact::Compact),
    /// Removes the rows of a tenant, a user or a session from every table.
    Erase(commands::erase::Erase),
    /// Verifies a lake: logs, files, and what tables say against each other. Changes nothing.
    Check(commands::check::Check),
}
