//! `plimsoll doctor`: what to mend in the telemetry, what costs most trust first.

use std::process::ExitCode;

use jiff::civil::Date;
use plimsoll_profile::{Advice, Reader, advise};

use crate::{cli::Format, failure::Failure, open, output, settings::Settings};

/// Pieces of advice that are shown before the list is cut.
const SHOWN: usize = 10;

/// Options of `doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Looks at one service only.
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Looks at what came since this day; without it, at the latest 30 days that there are.
    #[arg(long, value_name = "DATE")]
    since: Option<Date>,
    /// Shows every piece of advice, not only the first ten.
    #[arg(long)]
    all: bool,
}

impl Doctor {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let lake = open::lake(settings).await?;
        let sessions = open::sessions(settings)?;
        let reader = Reader::pinned(&lake, &sessions).await?;
        let found = advise(&reader, &sessions, self.service.as_deref(), self.since).await?;
        let Some(since) = found.since else {
            return Err(Failure::no_data(
                "there is no telemetry to look at: run `plimsoll ingest` or `serve`, then `plimsoll profile`",
            ));
        };
        match format {
            Format::Table => self.tell(&found.advice, since)?,
            _ => output::list(&found.advice, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn tell(&self, advice: &[Advice], since: Date) -> Result<(), Failure> {
        let whose = self.service.as_deref().unwrap_or("all services");
        if advice.is_empty() {
            return output::line(&format!("{whose} since {since}: nothing to mend"));
        }
        output::line(&format!("{whose} since {since}, what costs most trust first"))?;
        let shown = if self.all { advice.len() } else { SHOWN };
        for (at, each) in advice.iter().take(shown).enumerate() {
            output::line(&format!("\n{:>2}. {} ({}).", at + 1, each.says, counts(each)))?;
            for line in each.mend.lines() {
                output::line(&format!("    {line}"))?;
            }
        }
        match advice.len().saturating_sub(shown) {
            0 => Ok(()),
            more => output::line(&format!("\n{more} more: --all shows them, --format json gives them all")),
        }
    }
}

/// `traceloop, n = 1,234 of 11,218 calls`.
fn counts(advice: &Advice) -> String {
    let dialect = advice.dialect.as_ref().map(|dialect| format!("{dialect}, ")).unwrap_or_default();
    format!("{dialect}n = {} of {} {}", grouped(advice.n), grouped(advice.of), advice.counted)
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
