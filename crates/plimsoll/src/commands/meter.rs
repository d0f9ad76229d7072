//! `plimsoll meter`: what one call costs each limit when it starts and when it ends, and in money.

use std::process::ExitCode;

use plimsoll_catalog::{Amounts, Call, OtherPool, PoolKey, Reading};

use crate::{cli::Format, commands::catalog, failure::Failure, open, output, settings::Settings};

/// Options of `meter`.
#[derive(Debug, clap::Args)]
pub(crate) struct Meter {
    /// Pool: provider/product/scope/model.
    #[arg(long, value_name = "KEY")]
    pool: String,
    /// The call, as in input=1000,cache_read=0,cache_write=0,max=4000,output=100. Further keys:
    /// cache_write_1h, audio, audio_cache_read, reasoning, output_audio, output_image, status, and
    /// total_input, from which cached tokens are taken off, instead of input.
    #[arg(long, value_name = "KEY=N,...")]
    call: String,
    /// Service tier: standard, priority, flex, batch or reserved.
    #[arg(long, default_value = "standard", value_name = "TIER")]
    tier: String,
    /// Inference is held within the United States, which some providers charge more for.
    #[arg(long)]
    us_only: bool,
    /// Day whose rules are taken; without it, the last of the catalog's month.
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
}

impl Meter {
    pub(crate) fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let pool: PoolKey = self.pool.parse().map_err(Failure::input)?;
        let mut call: Call = self.call.parse().map_err(|error| Failure::input(format!("--call: {error}")))?;
        call.tier = self.tier.parse().map_err(Failure::input)?;
        call.us_only = self.us_only;
        let catalog = open::catalog(settings)?;
        let as_of = catalog::day(self.as_of.as_deref(), &catalog)?;
        let reading = catalog.reading(&pool, &call, as_of).map_err(Failure::input)?;
        output::answer(&reading, &lines(&reading), format)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The table twin.
fn lines(reading: &Reading) -> Vec<(String, String)> {
    let mut lines = vec![
        ("pool".to_owned(), reading.pool.clone()),
        ("tier".to_owned(), reading.tier.to_string()),
        ("as_of".to_owned(), reading.as_of.to_string()),
    ];
    let bound = if reading.lower_bound { "admission (at least)" } else { "admission" };
    lines.extend(named(bound, &reading.admission));
    lines.extend(named("settlement", &reading.settlement));
    lines.extend(named("released", &reading.released));
    if let Some(day) = &reading.per_day {
        lines.extend(named(bound, &day.admission));
        lines.extend(named("settlement", &day.settlement));
    }
    for OtherPool { pool, drawn } in &reading.also_draws_on {
        match drawn {
            Some(drawn) => {
                lines.extend(named(&format!("{pool} admission"), &drawn.admission));
                lines.extend(named(&format!("{pool} settlement"), &drawn.settlement));
            }
            None => lines.push((pool.clone(), "is drawn on too; the catalog has no row for it".to_owned())),
        }
    }
    lines.push(("billed_tokens".to_owned(), reading.billed_tokens.to_string()));
    lines.push(("cost_usd".to_owned(), reading.cost_usd.clone().unwrap_or_else(|| "unknown".to_owned())));
    for other in &reading.sensitivities {
        lines.push((
            format!("if {} = {}", other.flag, other.reading),
            format!("admission {}; settlement {}", joined(&other.admission), joined(&other.settlement)),
        ));
    }
    for source in &reading.sources {
        lines.push(("source".to_owned(), format!("{} (read on {})", source.title, source.read_on)));
    }
    lines.extend(reading.warnings.iter().map(|warning| ("warning".to_owned(), warning.clone())));
    lines
}

/// A line an amount.
fn named<'a>(stage: &'a str, amounts: &'a Amounts) -> impl Iterator<Item = (String, String)> + 'a {
    amounts.0.iter().map(move |(limit, amount)| (format!("{stage}.{limit}"), amount.to_string()))
}

/// All amounts on one line.
fn joined(amounts: &Amounts) -> String {
    let parts: Vec<String> = amounts.0.iter().map(|(limit, amount)| format!("{limit} {amount}")).collect();
    parts.join(", ")
}
