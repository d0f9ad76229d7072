//! `plimsoll ledger`: the requests made so far, and what became of them.
//!
//! The same can be done in an editor; here dates are checked, and a text that is wrong is not written.

use std::{collections::BTreeSet, path::PathBuf, process::ExitCode};

use jiff::civil::Date;
use plimsoll_plan::{LedgerRequest, LedgerText, Which};
use serde::Serialize;

use super::plan_record::ledger_text;
use crate::{
    cli::Format,
    failure::{self, Failure},
    output,
    whole_file::write_text,
};

/// Options of `ledger`.
#[derive(Debug, clap::Args)]
pub(crate) struct Ledger {
    #[command(subcommand)]
    action: Action,
    /// The ledger.
    #[arg(long, global = true, default_value = "ledger.toml", value_name = "FILE")]
    ledger: PathBuf,
}

/// What to do with it.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Every request with its state, and the lead times that they teach.
    List,
    /// Writes down that a draft was filed, or a request that has none.
    File(File),
    /// Writes down what the provider decided.
    Decide(Decide),
}

/// Which request.
#[derive(Debug, clap::Args)]
struct Request {
    /// Pool key.
    #[arg(value_name = "POOL")]
    pool: String,
    /// Dimension, as in tokens_per_min.
    #[arg(value_name = "DIMENSION")]
    dimension: String,
    /// Account, where several have such a request.
    #[arg(long)]
    account: Option<String>,
    /// Region, likewise.
    #[arg(long)]
    region: Option<String>,
    /// Event, likewise.
    #[arg(long)]
    event: Option<String>,
}

/// Options of `ledger file`.
#[derive(Debug, clap::Args)]
struct File {
    #[command(flatten)]
    request: Request,
    /// Day on which it was filed.
    #[arg(long, value_name = "DATE")]
    on: Date,
    /// Limit that was asked for; without it, the draft's.
    #[arg(long, value_name = "LIMIT")]
    asked: Option<u64>,
    /// The provider's case number.
    #[arg(long, value_name = "ID")]
    case: Option<String>,
}

/// Options of `ledger decide`.
#[derive(Debug, clap::Args)]
struct Decide {
    #[command(flatten)]
    request: Request,
    /// Day of the decision.
    #[arg(long, value_name = "DATE")]
    on: Date,
    /// Limit that was granted; 0 where it was denied.
    #[arg(long, value_name = "LIMIT")]
    granted: u64,
    /// Anything worth keeping.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// A request as `ledger list` gives it.
#[derive(Debug, Serialize)]
struct Listed<'l> {
    line: usize,
    state: &'static str,
    pool: &'l str,
    account: Option<&'l str>,
    region: Option<&'l str>,
    dimension: &'l str,
    event: Option<&'l str>,
    asked: u64,
    granted: Option<u64>,
    drafted: Option<Date>,
    filed: Option<Date>,
    decided: Option<Date>,
    case: Option<&'l str>,
    plan_id: Option<&'l str>,
}

impl Ledger {
    pub(crate) fn run(&self, format: Format) -> Result<ExitCode, Failure> {
        let mut text = ledger_text(&self.ledger)?;
        let line = match &self.action {
            Action::List => {
                list(&text, format)?;
                return Ok(ExitCode::SUCCESS);
            }
            Action::File(file) => text.file(&file.request.which(), file.on, file.asked, file.case.as_deref()),
            Action::Decide(decide) => {
                text.decide(&decide.request.which(), decide.on, decide.granted, decide.note.as_deref())
            }
        };
        let line = line.map_err(failure::in_file(&self.ledger))?;
        write_text(&self.ledger, &text.to_string())?;
        let written = text.ledger().requests.iter().find(|request| request.line == line);
        if let Some(request) = written {
            tell(request, format)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Request {
    fn which(&self) -> Which {
        Which {
            pool: self.pool.clone(),
            dimension: self.dimension.clone(),
            account: self.account.clone(),
            region: self.region.clone(),
            event: self.event.clone(),
        }
    }
}

fn listed(request: &LedgerRequest) -> Listed<'_> {
    Listed {
        line: request.line,
        state: request.state(),
        pool: &request.pool,
        account: request.account.as_deref(),
        region: request.region.as_deref(),
        dimension: &request.dimension,
        event: request.event.as_deref(),
        asked: request.asked,
        granted: request.granted,
        drafted: request.drafted,
        filed: request.filed,
        decided: request.decided,
        case: request.case.as_deref(),
        plan_id: request.plan_id.as_deref(),
    }
}

fn list(text: &LedgerText, format: Format) -> Result<(), Failure> {
    let ledger = text.ledger();
    let rows: Vec<Listed<'_>> = ledger.requests.iter().map(listed).collect();
    if format != Format::Table {
        return output::list(&rows, format);
    }
    for request in &ledger.requests {
        output::line(&in_words(request))?;
    }
    let product = |request: &LedgerRequest| request.pool.split('/').take(2).collect::<Vec<_>>().join("/");
    let products: BTreeSet<String> = ledger.requests.iter().map(product).collect();
    for product in products {
        let told = match ledger.lead_times(&product) {
            Some(lead) => {
                format!("P50 {} days, P90 {} days (n = {})", lead.p50_days, lead.p90_days, lead.n)
            }
            None => "fewer than five outcomes, so the catalog's count".to_owned(),
        };
        output::line(&format!("lead time of {product}: {told}"))?;
    }
    Ok(())
}

fn tell(request: &LedgerRequest, format: Format) -> Result<(), Failure> {
    if format == Format::Table {
        output::line(&in_words(request))
    } else {
        output::answer(&listed(request), &[("request".to_owned(), in_words(request))], format)
    }
}

/// `decided  POOL tokens_per_min: asked 2000000 on 2026-08-03, granted 1000000 on 2026-08-22`.
fn in_words(request: &LedgerRequest) -> String {
    let place: Vec<&str> =
        [request.account.as_deref(), request.region.as_deref()].into_iter().flatten().collect();
    let place = if place.is_empty() { String::new() } else { format!(" ({})", place.join(", ")) };
    let on = |what: &str, day: Option<Date>| day.map_or_else(String::new, |day| format!(" {what} {day}"));
    let event = request.event.as_ref().map_or_else(String::new, |event| format!(" for {event}"));
    let granted = request.granted.map_or_else(String::new, |granted| format!(", granted {granted}"));
    format!(
        "{:<8} {}{place} {}: asked {}{event},{}{}{granted}{}",
        request.state(),
        request.pool,
        request.dimension,
        request.asked,
        on("drafted", request.drafted.filter(|_| request.filed.is_none())),
        on("filed", request.filed),
        on("on", request.decided),
    )
}
