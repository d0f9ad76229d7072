//! What is read from Kafka, and in whose name.

use plimsoll_otlp::Encoding;

use super::connection::{ConnectionError, KafkaConnection, is_topic_name};

/// Topics whose messages are OTLP request bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaSource {
    /// The cluster.
    pub connection: KafkaConnection,
    /// Topics by name, or by a regular expression that starts with `^`. A topic that does not exist yet
    /// is waited for.
    pub topics: Vec<String>,
    /// The group among whose members the partitions are divided.
    pub group: String,
    /// How the bodies are written; without it the message's `content-type` says, or how it starts.
    pub encoding: Option<Encoding>,
}

/// A Kafka source that can't be used as it is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KafkaSourceError {
    /// The cluster.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// Nothing to read.
    #[error("kafka.topics is empty: name at least one topic, or a pattern that starts with ^")]
    NoTopics,
    /// A name that no topic can have.
    #[error(
        "kafka.topics: `{0}` is no topic's name: use letters, digits, `.`, `_` and `-`, or start a pattern with ^"
    )]
    TopicName(String),
    /// No group.
    #[error("kafka.group is empty: name the group that shares the partitions")]
    NoGroup,
    /// librdkafka refuses to start.
    #[error("the Kafka client cannot start: {0}")]
    Client(String),
}

impl KafkaSource {
    /// Looks for what can be known to be wrong without asking a broker.
    ///
    /// # Errors
    /// Says which setting to change.
    pub fn check(&self) -> Result<(), KafkaSourceError> {
        self.connection.check()?;
        if self.topics.is_empty() {
            return Err(KafkaSourceError::NoTopics);
        }
        if let Some(topic) = self.topics.iter().find(|topic| !topic.starts_with('^') && !is_topic_name(topic))
        {
            return Err(KafkaSourceError::TopicName(topic.clone()));
        }
        if self.group.trim().is_empty() { Err(KafkaSourceError::NoGroup) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A typing error in the settings is a sentence at the start, not a topic that is waited for.
    #[test]
    fn what_is_wrong_is_said() {
        let source = |topics: &[&str], group: &str| KafkaSource {
            connection: KafkaConnection::new("localhost:9092"),
            topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
            group: group.to_owned(),
            encoding: None,
        };
        assert_eq!(source(&["otlp_spans", "^otlp-.*"], "plimsoll").check(), Ok(()));
        assert_eq!(source(&[], "plimsoll").check(), Err(KafkaSourceError::NoTopics));
        assert_eq!(source(&["spans"], "").check(), Err(KafkaSourceError::NoGroup));
        assert_eq!(source(&["a b"], "g").check(), Err(KafkaSourceError::TopicName("a b".to_owned())));
    }
}
