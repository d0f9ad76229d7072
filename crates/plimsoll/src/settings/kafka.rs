//! `[kafka]`: the broker, and what is read from it.

use std::collections::BTreeMap;

use plimsoll_otlp::Encoding;
use serde::Deserialize;

use crate::failure::Failure;

/// `[kafka]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kafka {
    /// `host:port` of some brokers, parted by commas.
    pub(crate) brokers: String,
    /// Topics that telemetry is read from, by name or, from `^` on, by pattern.
    #[serde(default)]
    pub(crate) topics: Vec<String>,
    /// Consumer group: the processes that share the partitions.
    #[serde(default = "plimsoll")]
    pub(crate) group: String,
    /// How messages are written; without it, each is looked at.
    #[serde(default)]
    encoding: Option<Written>,
    /// Topic for messages that cannot be read; without it, they become files beside the journal.
    #[serde(default)]
    pub(crate) dead_letter: Option<String>,
    /// Settings of librdkafka, by its names.
    #[serde(default)]
    properties: BTreeMap<String, Property>,
}

/// The names that the collector gives its encodings.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written {
    OtlpProto,
    OtlpJson,
}

/// A value as TOML has it; librdkafka takes text.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Property {
    Flag(bool),
    Number(i64),
    Text(String),
}

fn plimsoll() -> String {
    "plimsoll".to_owned()
}

impl Kafka {
    /// How messages are written, where that is said.
    pub(crate) fn encoding(&self) -> Option<Encoding> {
        self.encoding.map(|written| match written {
            Written::OtlpProto => Encoding::Protobuf,
            Written::OtlpJson => Encoding::Json,
        })
    }

    /// The settings of librdkafka. `"${NAME}"` stands for a variable of the environment, so that no
    /// password need be in a file.
    ///
    /// # Errors
    /// A variable that is not set.
    pub(crate) fn properties(&self) -> Result<BTreeMap<String, String>, Failure> {
        self.properties.iter().map(|(key, value)| Ok((key.clone(), value.text(key)?))).collect()
    }
}

impl Property {
    fn text(&self, key: &str) -> Result<String, Failure> {
        match self {
            Self::Flag(flag) => Ok(flag.to_string()),
            Self::Number(number) => Ok(number.to_string()),
            Self::Text(text) => match text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
                None => Ok(text.clone()),
                Some(name) => std::env::var(name).map_err(|_| {
                    Failure::input(format!("kafka.properties: {key} is to be ${{{name}}}, which is not set"))
                }),
            },
        }
    }
}
