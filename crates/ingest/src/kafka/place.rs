//! A partition: what it is called in the tables, and from which offset it is read.

use std::sync::Arc;

use crate::tables::Held;

/// A topic's partition by the broker's names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TopicPartition {
    pub(crate) topic: String,
    pub(crate) partition: i32,
}

/// A partition of a topic that won't be another one when it is deleted and made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Under which the tables number its messages: `kafka/<cluster>/<topic id>/<partition>`. Where a broker
    /// tells no topic ids, the name stands in.
    pub(crate) source: Arc<str>,
    /// What its rows say about where they came from: `kafka/<topic>/<partition>`.
    pub(crate) label: String,
    pub(crate) cluster: String,
    pub(crate) topic: String,
    pub(crate) topic_id: String,
    pub(crate) partition: i32,
}

/// A place and how far the tables hold it: the offset of the next message, 0 for the earliest that
/// there is.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) place: Arc<Place>,
    pub(crate) held: Held,
}

impl Place {
    pub(crate) fn new(cluster: &str, topic_id: &str, at: &TopicPartition) -> Self {
        let TopicPartition { topic, partition } = at;
        Self {
            source: format!("kafka/{cluster}/{topic_id}/{partition}").into(),
            label: format!("kafka/{topic}/{partition}"),
            cluster: cluster.to_owned(),
            topic: topic.clone(),
            topic_id: topic_id.to_owned(),
            partition: *partition,
        }
    }
}
