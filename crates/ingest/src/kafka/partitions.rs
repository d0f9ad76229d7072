//! The partitions that are read here, and how far.
//!
//! Invariant: a message counts only while its partition is placed, and only from the offset that comes
//! next, so each is handed on once an epoch.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::place::{Place, Placed, TopicPartition};

/// Partitions by topic and number.
#[derive(Debug, Default)]
pub(super) struct Partitions(BTreeMap<String, BTreeMap<i32, Option<Reading>>>);

/// A partition that is read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) place: Arc<Place>,
    /// The next offset.
    pub(super) next: u64,
}

impl Partitions {
    /// Takes a partition, or places it anew.
    pub(super) fn place(&mut self, placed: &Placed) {
        let Placed { place, held } = placed;
        let reading = Reading { place: Arc::clone(place), next: held.spans };
        self.0.entry(place.topic.clone()).or_default().insert(place.partition, Some(reading));
    }

    /// Takes no messages of a partition until it is placed again.
    pub(super) fn suspend(&mut self, at: &TopicPartition) {
        if let Some(reading) = self.0.get_mut(&at.topic).and_then(|topic| topic.get_mut(&at.partition)) {
            *reading = None;
        }
    }

    pub(super) fn remove(&mut self, at: &TopicPartition) {
        if let Some(topic) = self.0.get_mut(&at.topic) {
            topic.remove(&at.partition);
            if topic.is_empty() {
                self.0.remove(&at.topic);
            }
        }
    }

    pub(super) fn contains(&self, at: &TopicPartition) -> bool {
        self.0.get(&at.topic).is_some_and(|topic| topic.contains_key(&at.partition))
    }

    /// The partition of a message, where its messages count.
    pub(super) fn reading(&mut self, topic: &str, partition: i32) -> Option<&mut Reading> {
        self.0.get_mut(topic)?.get_mut(&partition)?.as_mut()
    }

    /// All partitions.
    pub(super) fn all(&self) -> Vec<TopicPartition> {
        self.of(|_| true)
    }

    /// All partitions of some topics.
    pub(super) fn of(&self, wanted: impl Fn(&str) -> bool) -> Vec<TopicPartition> {
        let topics = self.0.iter().filter(|(topic, _)| wanted(topic));
        topics
            .flat_map(|(topic, partitions)| {
                partitions
                    .keys()
                    .map(|partition| TopicPartition { topic: topic.clone(), partition: *partition })
            })
            .collect()
    }

    /// The partition that is read under a source's name.
    pub(super) fn by_source(&self, source: &str) -> Option<&Arc<Place>> {
        self.placed().find(|place| &*place.source == source)
    }

    /// Topics that are read, with their ids.
    pub(super) fn topic_ids(&self) -> BTreeMap<String, String> {
        self.placed().map(|place| (place.topic.clone(), place.topic_id.clone())).collect()
    }

    fn placed(&self) -> impl Iterator<Item = &Arc<Place>> {
        self.0.values().flat_map(BTreeMap::values).flatten().map(|reading| &reading.place)
    }
}
