//! `plimsoll size --pool`: what a demand needs of one pool of the catalog.

use std::process::ExitCode;

use plimsoll_catalog::{PoolKey, TokenPrice};
use plimsoll_plan::{Calls, PoolDemand, PoolSize, Quantity, Shape, SizeInput, size, size_pool};
use serde_json::Value;

use super::{catalog, size::read};
use crate::{cli::Format, failure::Failure, open, output, settings::Settings};

/// Options of `size` that are about a pool.
#[derive(Debug, clap::Args)]
pub(super) struct PoolOptions {
    /// Pool: provider/product/scope/model. The answer is in its own units, or in its own limits.
    #[arg(long, value_name = "KEY")]
    pool: Option<String>,
    /// Audio input tokens a call; not in --input-tokens.
    #[arg(long, requires = "pool")]
    audio_tokens: Option<String>,
    /// Share of the input that the cache serves (0 where not given).
    #[arg(long, requires = "pool")]
    cache_rate: Option<String>,
    /// Cap on the output that calls send.
    #[arg(long, requires = "pool")]
    max_tokens: Option<String>,
    /// Calls that arrive at once, held against the window over which units are enforced.
    #[arg(long, requires = "pool", value_name = "CALLS")]
    burst: Option<String>,
    /// Units held today; once for each kind where input and output are sold apart.
    #[arg(long, requires = "pool", value_name = "UNITS")]
    held: Vec<String>,
    /// List price on demand in USD per million tokens, in place of the catalog's, as in
    /// input=5,output=30; further kinds: cache_read, audio.
    #[arg(long, requires = "pool", value_name = "KIND=USD,...")]
    price: Option<String>,
    /// Day whose rules and prices are taken; without it, the last of the catalog's month.
    #[arg(long, requires = "pool", value_name = "DATE")]
    as_of: Option<String>,
}

impl PoolOptions {
    pub(super) fn is_given(&self) -> bool {
        self.pool.is_some()
    }

    pub(super) fn run(
        &self,
        input: &SizeInput,
        limits: &[String],
        settings: &Settings,
        format: Format,
    ) -> Result<ExitCode, Failure> {
        let pool: PoolKey = self.pool.as_deref().unwrap_or_default().parse().map_err(Failure::input)?;
        let catalog = open::catalog(settings)?;
        let as_of = catalog::day(self.as_of.as_deref(), &catalog)?;
        let per_min = size(input).map_err(Failure::input)?.requests_per_min.ok_or_else(|| {
            Failure::input("no rate is given: add --rpm, --qps, --runs-per-min, --rps, or --in-flight with --run-seconds")
        })?;
        let or_zero = |value: Option<Quantity>| value.unwrap_or_default();
        let shape = Shape {
            input_tokens: or_zero(input.input_tokens.clone()),
            audio_tokens: or_zero(read("--audio-tokens", self.audio_tokens.as_ref())?),
            output_tokens: or_zero(input.output_tokens.clone()),
            cache_rate: or_zero(read("--cache-rate", self.cache_rate.as_ref())?),
            max_tokens: read("--max-tokens", self.max_tokens.as_ref())?,
        };
        let held = self.held.iter().map(|held| read("--held", Some(held)).map(or_zero));
        let demand = PoolDemand {
            pool,
            as_of,
            calls: vec![Calls { shape, per_min, service_seconds: input.service_seconds.clone() }],
            peak_factor: input.p95_factor.clone().unwrap_or_else(Quantity::one),
            headroom: or_zero(input.headroom.clone()),
            burst_calls: read("--burst", self.burst.as_ref())?,
            limits: limits.iter().map(|limit| named(limit)).collect::<Result<_, _>>()?,
            held: held.collect::<Result<_, _>>()?,
            price: self.price.as_deref().map(price).transpose()?,
        };
        let answer = size_pool(&catalog, &demand).map_err(Failure::input)?;
        output::answer(&answer, &lines(&answer)?, format)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// `dimension=value`, of any dimension that the pool may have.
fn named(text: &str) -> Result<(String, Quantity), Failure> {
    let (name, value) = text.split_once('=').ok_or_else(|| {
        Failure::input(format!("--limit {text}: write dimension=value, for example tokens_per_min=2000000"))
    })?;
    let value = value.parse().map_err(|error| Failure::input(format!("--limit {text}: {error}")))?;
    Ok((name.to_owned(), value))
}

/// `input=5,output=30` as a price list, within the bounds that the catalog has for one.
fn price(text: &str) -> Result<TokenPrice, Failure> {
    let mut fields = serde_json::Map::new();
    for part in text.split(',') {
        let (kind, usd) = part
            .split_once('=')
            .filter(|(kind, _)| ["input", "output", "cache_read", "audio"].contains(kind))
            .ok_or_else(|| {
                let kinds = "input, output, cache_read and audio";
                Failure::input(format!(
                    "--price {part}: write kind=USD, for example input=5; there are {kinds}"
                ))
            })?;
        fields.insert(kind.to_owned(), Value::String(usd.to_owned()));
    }
    serde_json::from_value(Value::Object(fields)).map_err(|error| Failure::input(format!("--price: {error}")))
}

/// The table twin: one line a figure, lists spread over lines of their own.
fn lines(answer: &PoolSize) -> Result<Vec<(String, String)>, Failure> {
    let value = serde_json::to_value(answer).map_err(Failure::internal)?;
    let mut lines = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Array(list) => {
                let item = |item: &Value| (key.clone(), flat(item));
                lines.extend(list.iter().map(item));
            }
            Value::Null => {}
            other => lines.push((key.clone(), flat(other))),
        }
    }
    Ok(lines)
}

/// `name value, name value`, without what is not known.
fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let known = fields.iter().filter(|(_, value)| !value.is_null());
            let parts: Vec<String> = known.map(|(key, value)| format!("{key} {}", flat(value))).collect();
            parts.join(", ")
        }
        Value::Array(list) => list.iter().map(flat).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
