//! What is looked at from time to time, and what the group's monitors are told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{CommitMode, Consumer as _};
use rdkafka::{Offset, TopicPartitionList};

use super::Reader;
use crate::kafka::consumer::Consumer;
use crate::kafka::librdkafka::watermarks;
use crate::kafka::locate;
use crate::kafka::order::Order;
use crate::kafka::place::TopicPartition;
use crate::kafka::status::At;
use crate::kafka::unread::{self, Unread, Watch};

/// From one look at topics and watermarks to the next.
const TOPICS: Duration = Duration::from_secs(5);
/// From one look at the group to the next: longer than a partition that leaves may take
/// ([`super::LAST_COMMIT`]), during which nobody reads it either.
const GROUP: Duration = Duration::from_secs(20);

/// When to look again, and what was seen of the group.
pub(super) struct Looks {
    topics: Instant,
    group: Instant,
    unread: Watch,
}

impl Default for Looks {
    fn default() -> Self {
        let now = Instant::now();
        Self { topics: now + TOPICS, group: now + GROUP, unread: Watch::default() }
    }
}

impl Looks {
    /// Has the topics looked at within so long.
    pub(super) fn soon(&mut self, within: Duration) {
        self.topics = self.topics.min(Instant::now() + within);
    }

    /// Notes what nobody in the group reads; why the group is to be left, where that helps.
    pub(super) fn lost(&mut self, unread: Option<Unread>) -> Option<String> {
        self.unread.saw(unread).then(|| self.unread.reason())
    }
}

impl Reader {
    /// Looks at what it is time for.
    pub(super) fn look(&mut self, consumer: &Arc<Consumer>) {
        let now = Instant::now();
        if self.state.looks.topics <= now {
            self.state.looks.topics = now + TOPICS;
            self.tell_all(consumer);
            self.look_at_topics(consumer);
        }
        if self.state.looks.group <= now {
            self.state.looks.group = now + GROUP;
            self.look_at_group(consumer);
        }
    }

    /// How far the topics are, and whether they are still the same.
    fn look_at_topics(&mut self, consumer: &Arc<Consumer>) {
        for at in self.state.partitions.all() {
            let watermarks = watermarks(consumer.client(), &at.topic, at.partition);
            self.status.change(|status| {
                if let Some(known) = status.partitions.get_mut(&at) {
                    known.watermarks = watermarks;
                }
            });
        }
        let asked = locate::recreated(Arc::clone(consumer), self.state.partitions.topic_ids());
        self.have_answered(async move {
            let recreated = asked.await?;
            Some(if recreated.is_empty() { Order::Well } else { Order::Recreated(recreated) })
        });
    }

    /// Whether the group has lost sight of partitions.
    fn look_at_group(&mut self, consumer: &Arc<Consumer>) {
        let group = self.source.group.trim().to_owned();
        let asked = unread::unread(Arc::clone(consumer), group, self.instance.clone());
        self.have_answered(async move { Some(Order::Unread(asked.await)) });
    }

    /// Notes what the lake holds, and tells the group's monitors.
    pub(super) fn stored(&self, numbers: &[(Arc<str>, u64)], consumer: &Arc<Consumer>) {
        let mut list = TopicPartitionList::new();
        for (source, number) in numbers {
            // A partition that has left is no longer ours to speak of.
            let Some(place) = self.state.partitions.by_source(source) else { continue };
            add(&mut list, &place.topic, place.partition, *number);
            let key = TopicPartition { topic: place.topic.clone(), partition: place.partition };
            let watermarks = watermarks(consumer.client(), &place.topic, place.partition);
            let at = At { stored: *number, watermarks };
            self.status.change(|status| {
                status.partitions.insert(key, at);
            });
        }
        tell_group(&list, consumer);
    }

    /// Tells the group's monitors again how far the lake is: a commit fails while the group finds together or
    /// its coordinator is away, nobody is told so (rust-rdkafka#856), and a quiet topic brings no other.
    fn tell_all(&self, consumer: &Consumer) {
        let mut list = TopicPartitionList::new();
        self.status.change(|status| {
            for (at, known) in &status.partitions {
                add(&mut list, &at.topic, at.partition, known.stored);
            }
        });
        tell_group(&list, consumer);
    }
}

/// Adds where a partition is read on; one of which nothing is stored has nothing to tell.
fn add(list: &mut TopicPartitionList, topic: &str, partition: i32, stored: u64) {
    let offset = Offset::Offset(i64::try_from(stored).unwrap_or(i64::MAX));
    if stored > 0
        && let Err(error) = list.add_partition_offset(topic, partition, offset)
    {
        tracing::debug!(%error, "an offset is not committed");
    }
}

/// Commits the group's offsets, for its monitors.
fn tell_group(list: &TopicPartitionList, consumer: &Consumer) {
    if list.count() > 0
        && let Err(error) = consumer.commit(list, CommitMode::Async)
    {
        tracing::debug!(%error, "the group's offsets were not committed");
    }
}
