//! Where a Kafka cluster is and how it is spoken to: shared by the source, the journal and the dead
//! letters.
//!
//! Every setting of librdkafka can be given (TLS, SASL, buffers, timeouts) and wins over what is set
//! here, but for those that correctness rests on: they are refused with a sentence, not passed over.
//! Invariant: no message and no `Debug` shows the value of a setting that may hold a secret.

use std::collections::BTreeMap;
use std::fmt;

use rdkafka::ClientConfig;

/// A cluster.
#[derive(Clone, PartialEq, Eq)]
pub struct KafkaConnection {
    /// Addresses to ask for the others, comma-separated: `host:port,host:port`.
    pub brokers: String,
    /// Settings of librdkafka by their names there; they win over the defaults here.
    pub properties: BTreeMap<String, String>,
}

/// A connection that can't be used as it is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// There is no address.
    #[error("kafka.brokers is empty: name at least one broker as host:port")]
    NoBrokers,
    /// A setting that is not the user's.
    #[error("kafka.properties: `{name}` cannot be set to `{value}`: {reason}")]
    Refused {
        /// The setting.
        name: String,
        /// What it was set to.
        value: String,
        /// Why not, and what to write instead.
        reason: &'static str,
    },
    /// A setting that librdkafka doesn't take.
    #[error("kafka.properties: {0}")]
    Setting(String),
}

/// Settings that have a place of their own or that correctness rests on: name, the values that are
/// taken all the same, why no other is.
const OURS: [(&str, &[&str], &str); 7] = [
    ("bootstrap.servers", &[], "write kafka.brokers"),
    ("metadata.broker.list", &[], "write kafka.brokers"),
    ("group.id", &[], "write kafka.group"),
    ("enable.auto.commit", &["false"], "offsets are committed once the lake has the rows"),
    ("enable.auto.offset.store", &["false"], "offsets are committed once the lake has the rows"),
    (
        "auto.offset.reset",
        &["earliest", "smallest", "beginning"],
        "a topic is read from its start, and after that from where the lake is: later messages only would \
         be a loss",
    ),
    ("group.protocol", &["classic"], "partitions are moved by the classic protocol"),
];

/// Whether a topic can be called so (`org.apache.kafka.common.internals.Topic`).
pub(super) fn is_topic_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= 249 && name.bytes().all(legal)
}

impl KafkaConnection {
    /// A cluster with the defaults.
    pub fn new(brokers: impl Into<String>) -> Self {
        Self { brokers: brokers.into(), properties: BTreeMap::new() }
    }

    /// Looks for what can be known to be wrong without asking a broker.
    ///
    /// # Errors
    /// There is no address, a setting is not the user's, or librdkafka doesn't know it.
    pub fn check(&self) -> Result<(), ConnectionError> {
        if self.brokers.trim().is_empty() {
            return Err(ConnectionError::NoBrokers);
        }
        for (name, taken, reason) in OURS {
            if let Some(value) = self.properties.get(name)
                && !taken.contains(&value.as_str())
            {
                let (name, value) = (name.to_owned(), value.clone());
                return Err(ConnectionError::Refused { name, value, reason });
            }
        }
        let made = self.client(&[]).create_native_config();
        made.map(|_| ()).map_err(|error| ConnectionError::Setting(setting_error(&error)))
    }

    /// What a client is made of: `defaults`, and over them the user's settings.
    pub(crate) fn client(&self, defaults: &[(&str, &str)]) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.brokers.trim());
        config.set("client.id", "plimsoll");
        for (name, value) in defaults {
            config.set(*name, *value);
        }
        for (name, value) in &self.properties {
            config.set(name, value);
        }
        config
    }
}

impl fmt::Debug for KafkaConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, value)| if is_secret(name) { (name, "***") } else { (name, value) };
        let properties: BTreeMap<&str, &str> =
            self.properties.iter().map(|(name, value)| shown((name.as_str(), value.as_str()))).collect();
        f.debug_struct("KafkaConnection")
            .field("brokers", &self.brokers)
            .field("properties", &properties)
            .finish()
    }
}

fn is_secret(name: &str) -> bool {
    ["password", "secret", ".pem", "jaas", "oauthbearer.config", "assertion.private"]
        .iter()
        .any(|part| name.contains(part))
}

/// What librdkafka has against a setting, without the value.
fn setting_error(error: &rdkafka::error::KafkaError) -> String {
    match error {
        rdkafka::error::KafkaError::ClientConfig(_, about, name, value) => {
            let about = if is_secret(name) { about.replace(value.as_str(), "***") } else { about.clone() };
            format!("`{name}` is not taken by librdkafka: {about}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> KafkaConnection {
        let properties = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        KafkaConnection { properties, ..KafkaConnection::new("localhost:9092") }
    }

    /// A setting that would lose messages is refused, in words; one that says the same is taken.
    #[test]
    fn what_correctness_rests_on_is_not_for_setting() {
        for (name, value) in [
            ("auto.offset.reset", "latest"),
            ("enable.auto.commit", "true"),
            ("group.id", "mine"),
            ("bootstrap.servers", "elsewhere:9092"),
        ] {
            let refused = with(name, value).check();
            assert!(matches!(refused, Err(ConnectionError::Refused { .. })), "{name}: {refused:?}");
        }
        for (name, value) in [("auto.offset.reset", "earliest"), ("fetch.min.bytes", "100")] {
            assert_eq!(with(name, value).check(), Ok(()), "{name}");
        }
        assert_eq!(KafkaConnection::new(" ").check(), Err(ConnectionError::NoBrokers));
        assert!(matches!(with("no.such.setting", "1").check(), Err(ConnectionError::Setting(_))));
    }

    /// A password gets into no log.
    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", with("sasl.password", "hunter2"));
        assert!(shown.contains("sasl.password") && !shown.contains("hunter2"), "{shown}");
    }
}
