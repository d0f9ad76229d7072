//! A worksheet as written (`schemas/config/worksheet.schema.json`), read and checked.
//!
//! Invariant: every mistake that can be seen without the catalog is answered here, with file and line.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use plimsoll_catalog::PoolKey;
use plimsoll_toml::{Fault, Spanned, meant, read};
use serde::Deserialize;

use super::Spread;
use crate::quantity::Quantity;

/// A worksheet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worksheet {
    /// Day whose rules and prices are taken.
    pub as_of: Option<Date>,
    /// Added on top of every need, as a share.
    #[serde(default)]
    pub headroom: Quantity,
    /// Pools of which more is known than the catalog tells.
    #[serde(default, rename = "pool")]
    pub pools: Vec<Spanned<PoolTerms>>,
    /// Units held for several pools.
    #[serde(default, rename = "reservation")]
    pub reservations: Vec<Spanned<Reservation>>,
    /// Classes of requests.
    #[serde(rename = "class")]
    pub classes: Vec<Spanned<Class>>,
    /// Scenarios; without any, the classes as they stand.
    #[serde(default, rename = "scenario")]
    pub scenarios: Vec<Spanned<Scenario>>,
}

/// `[[pool]]`: the term bought, and limits to hold needs against.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolTerms {
    /// The pool.
    pub key: PoolKey,
    /// Term whose price is taken; without it, the shortest that has one.
    pub term: Option<String>,
    /// Limits today, by dimension.
    #[serde(default)]
    pub limits: BTreeMap<String, Quantity>,
}

/// `[[reservation]]`: units that hold for every pool which the key covers, `*` being any.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservation {
    /// Pools, as in `azure.ai.openai/provisioned/global/*`.
    pub pools: PoolKey,
    /// Units held.
    pub units: u64,
}

/// `[[class]]`: requests of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Pool that its model calls draw on.
    pub pool: PoolKey,
    /// Requests (runs) started a minute.
    pub runs_per_min: Quantity,
    /// Model calls a run; 1 where not given.
    pub calls: Option<Spread>,
    /// Text input tokens of a call, cached or not.
    #[serde(default)]
    pub input_tokens: Spread,
    /// Audio input tokens of a call; not in `input_tokens`.
    #[serde(default)]
    pub audio_tokens: Spread,
    /// Output tokens of a call.
    #[serde(default)]
    pub output_tokens: Spread,
    /// Length of a call, seconds.
    pub service_seconds: Option<Spread>,
    /// Share of the input that the cache serves.
    #[serde(default)]
    pub cache_rate: Quantity,
    /// Cap on the output that the client sends.
    pub max_tokens: Option<Quantity>,
    /// Model calls that arrive at once.
    pub burst_calls: Option<Quantity>,
    /// Other stages that a run goes through.
    #[serde(default)]
    pub stages: Vec<Stage>,
}

/// A stage of a run that is no model call: a tool, a search, a queue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Times that a run passes it; 1 where not given.
    pub per_run: Option<Quantity>,
    /// Length of a pass, seconds.
    pub seconds: Spread,
}

/// `[[scenario]]`: what is different from the classes as they stand. Factors are 1 where not given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Factor on the rate of every class.
    pub rate: Option<Quantity>,
    /// Factor by class, in place of `rate`.
    #[serde(default)]
    pub class_rate: BTreeMap<String, Quantity>,
    /// Factor on input tokens.
    pub input: Option<Quantity>,
    /// Factor on output tokens.
    pub output: Option<Quantity>,
    /// Factor on the length of calls and stages.
    pub latency: Option<Quantity>,
    /// Factor on calls that arrive at once.
    pub burst: Option<Quantity>,
    /// Share of the input that the cache serves, in place of the classes' own.
    pub cache_rate: Option<Quantity>,
    /// Headroom, in place of the worksheet's.
    pub headroom: Option<Quantity>,
    /// Hours a day that it lasts; 24 where not given.
    pub hours_per_day: Option<Quantity>,
    /// Pools whose calls go to another pool: from, to.
    #[serde(default, rename = "move")]
    pub moves: BTreeMap<PoolKey, PoolKey>,
}

impl Worksheet {
    /// Reads a worksheet; `file` is only how messages call it.
    ///
    /// # Errors
    /// File, line, field and remedy of the first mistake.
    pub fn parse(file: &str, text: &str) -> Result<Self, Fault> {
        let sheet: Self = read(file, text)?;
        let fault = |span: std::ops::Range<usize>, field: &str, message: String| {
            Err(Fault::new(file, message).at(text, &span).field(field))
        };
        if sheet.classes.is_empty() {
            return Err(Fault::new(file, "is empty: describe at least one class of requests").field("class"));
        }
        let one = Quantity::one();
        let mut names = BTreeSet::new();
        for class in &sheet.classes {
            let (span, class) = (class.span(), class.get_ref());
            if !names.insert(class.name.as_str()) {
                return fault(span, "class.name", format!("`{}` stands twice", class.name));
            }
            if class.cache_rate > one {
                return fault(
                    span,
                    "class.cache_rate",
                    format!("{} is above 1: give a share", class.cache_rate),
                );
            }
            let spreads = [
                ("calls", class.calls.as_ref()),
                ("input_tokens", Some(&class.input_tokens)),
                ("audio_tokens", Some(&class.audio_tokens)),
                ("output_tokens", Some(&class.output_tokens)),
                ("service_seconds", class.service_seconds.as_ref()),
            ];
            let stages = class.stages.iter().map(|stage| ("stages", Some(&stage.seconds)));
            let falls = |(_, spread): &(&str, Option<&Spread>)| spread.is_some_and(Spread::falls);
            if let Some((name, _)) = spreads.into_iter().chain(stages).find(falls) {
                let message = "falls from one percentile to the next: P50, P95 and P99 never fall".to_owned();
                return fault(span, &format!("class.{name}"), message);
            }
        }
        let mut scenarios = BTreeSet::new();
        for scenario in &sheet.scenarios {
            let (span, scenario) = (scenario.span(), scenario.get_ref());
            if !scenarios.insert(scenario.name.as_str()) {
                return fault(span, "scenario.name", format!("`{}` stands twice", scenario.name));
            }
            if let Some(unknown) = scenario.class_rate.keys().find(|name| !names.contains(name.as_str())) {
                let meant = meant(unknown, names.iter().copied());
                let message = format!("there is no class `{unknown}`{meant}");
                return fault(span, "scenario.class_rate", message);
            }
            let drawn = |pool: &PoolKey| sheet.classes.iter().any(|class| class.get_ref().pool == *pool);
            if let Some(pool) = scenario.moves.keys().find(|pool| !drawn(pool)) {
                return fault(span, "scenario.move", format!("no class draws on `{pool}`"));
            }
            if scenario.cache_rate.as_ref().is_some_and(|rate| *rate > one) {
                return fault(span, "scenario.cache_rate", "is above 1: give a share".to_owned());
            }
            if scenario.hours_per_day.as_ref().is_some_and(|hours| *hours > 24.into() || hours.is_zero()) {
                return fault(span, "scenario.hours_per_day", "is not above 0 and up to 24".to_owned());
            }
        }
        Ok(sheet)
    }
}
