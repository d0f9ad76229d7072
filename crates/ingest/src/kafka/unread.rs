//! Partitions that nobody in the group reads, and what is done about them.
//!
//! When a member is to hand partitions to another one, a cooperative group finds together twice: the first time the
//! member lets them go, and asks for the second, in which they are given away. A static member that is
//! killed in between comes back to what it had after the first, and asks for nothing: the partitions that
//! it let go are then read by nobody, for as long as the group stays as it is, and no client ever tells.
//!
//! So members look at the group from time to time. Where partitions stay unread, one of them stays away
//! until the group gives it up, which makes the group find together anew; the others wait their turn.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;
use rdkafka::consumer::Consumer as _;

use super::consumer::Consumer;
use super::librdkafka::{RawMember, members};
use super::place::TopicPartition;

/// How long brokers may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Partitions that nobody read at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unread {
    partitions: BTreeSet<TopicPartition>,
    /// How many members are to stay away before this one.
    before: usize,
}

/// How often the same partitions were found to be read by nobody.
#[derive(Debug, Default)]
pub(super) struct Watch {
    partitions: BTreeSet<TopicPartition>,
    times: usize,
}

impl Watch {
    /// Notes a look at the group; whether this member is to stay away from it for a while.
    pub(super) fn saw(&mut self, unread: Option<Unread>) -> bool {
        let Some(Unread { partitions, before }) = unread else {
            *self = Self::default();
            return false;
        };
        if partitions != self.partitions {
            *self = Self { partitions, times: 0 };
        }
        self.times += 1;
        // The first time the group may be about to give them away.
        self.times > before + 1
    }

    /// Why this member stays away.
    pub(super) fn reason(&self) -> String {
        let first = self.partitions.first().map(|at| format!("{}/{}", at.topic, at.partition));
        format!(
            "nobody in the group reads {} of its partitions ({}, …): it is left for a while, so that it divides them anew",
            self.partitions.len(),
            first.unwrap_or_default()
        )
    }
}

/// Asks which partitions of the group's topics none of its members reads; none where all are read, or where
/// it is not known.
pub(super) async fn unread(consumer: Arc<Consumer>, group: String, instance: String) -> Option<Unread> {
    let asked = tokio::task::spawn_blocking(move || {
        let client = consumer.client();
        let members: Vec<Member> =
            members(client, &group, TIMEOUT)?.iter().map(Member::read).collect::<Option<_>>()?;
        let topics: BTreeSet<&String> = members.iter().flat_map(|member| &member.topics).collect();
        let mut all = BTreeSet::new();
        for topic in topics {
            let told = client.fetch_metadata(Some(topic), TIMEOUT).ok()?;
            for known in told.topics() {
                let partitions = known.partitions().iter().map(rdkafka::metadata::MetadataPartition::id);
                all.extend(partitions.map(|partition| TopicPartition { topic: topic.clone(), partition }));
            }
        }
        of(members, all, &instance)
    });
    asked.await.ok()?
}

/// Which of all partitions no member reads, and who stays away before the one of this name: those that
/// read less.
fn of(mut members: Vec<Member>, all: BTreeSet<TopicPartition>, instance: &str) -> Option<Unread> {
    members.sort_by(|a, b| (a.reads.len(), &a.id).cmp(&(b.reads.len(), &b.id)));
    let own = format!("{instance}-");
    let before = members.iter().position(|member| member.id.starts_with(&own))?;
    let mut partitions = all;
    for member in &members {
        partitions.retain(|at| !member.reads.contains(at));
    }
    (!partitions.is_empty()).then_some(Unread { partitions, before })
}

/// A member, what it wants to read and what it is to read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    id: String,
    topics: Vec<String>,
    reads: BTreeSet<TopicPartition>,
}

impl Member {
    /// Reads what it told; none where that has another form.
    fn read(raw: &RawMember) -> Option<Self> {
        let mut subscription = raw.subscription.as_slice();
        subscription.try_get_i16().ok()?;
        let topics = array(&mut subscription, string)?;
        let mut reads = BTreeSet::new();
        let mut assignment = raw.assignment.as_slice();
        // A member of which the leader knew nothing has none.
        if assignment.has_remaining() {
            assignment.try_get_i16().ok()?;
            let topics = array(&mut assignment, |from| {
                Some((string(from)?, array(from, |from| from.try_get_i32().ok())?))
            });
            for (topic, partitions) in topics? {
                let partitions = partitions.into_iter();
                reads.extend(partitions.map(|partition| TopicPartition { topic: topic.clone(), partition }));
            }
        }
        Some(Self { id: raw.id.clone(), topics, reads })
    }
}

/// Kafka's arrays: how many, then each.
fn array<T>(from: &mut &[u8], each: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    (0..from.try_get_i32().ok()?).map(|_| each(from)).collect()
}

/// Kafka's texts: how many bytes, then these.
fn string(from: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(from.try_get_i16().ok()?).ok()?;
    let (text, rest) = from.split_at_checked(length)?;
    *from = rest;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use bytes::BufMut;

    use super::*;

    fn at(partition: i32) -> TopicPartition {
        TopicPartition { topic: "spans".to_owned(), partition }
    }

    fn raw(id: &str, reads: &[i32]) -> RawMember {
        let topic = |to: &mut Vec<u8>| {
            to.put_i16(5);
            to.put_slice(b"spans");
        };
        let (mut subscription, mut assignment) = (Vec::new(), Vec::new());
        subscription.put_i16(1);
        subscription.put_i32(1);
        topic(&mut subscription);
        subscription.put_i32(-1);
        assignment.put_i16(0);
        assignment.put_i32(1);
        topic(&mut assignment);
        assignment.put_i32(reads.len() as i32);
        reads.iter().for_each(|partition| assignment.put_i32(*partition));
        assignment.put_i32(-1);
        RawMember { id: id.to_owned(), subscription, assignment }
    }

    /// The state in which a member killed between two rounds leaves a group of two: what nobody reads is
    /// found, and who reads least stays away first.
    #[test]
    fn what_nobody_reads_is_found() {
        let members: Vec<Member> =
            [raw("one-1f", &[3, 4, 5]), raw("two-2e", &[])].iter().filter_map(Member::read).collect();
        let all: BTreeSet<_> = (0..6).map(at).collect();
        let partitions: BTreeSet<_> = (0..3).map(at).collect();
        for (name, before) in [("two", 0), ("one", 1)] {
            let found = of(members.clone(), all.clone(), name);
            assert_eq!(found, Some(Unread { partitions: partitions.clone(), before }), "{name}");
        }
        assert_eq!(of(members.clone(), all, "three"), None, "it is no member");
        assert_eq!(of(members, (3..6).map(at).collect(), "two"), None, "all are read");
    }

    /// A group is left only when the same partitions stay unread, and by one member after another.
    #[test]
    fn one_member_stays_away_at_a_time() {
        let unread = |last, before| Some(Unread { partitions: (0..last).map(at).collect(), before });
        let (mut first, mut second) = (Watch::default(), Watch::default());
        assert!(!first.saw(unread(3, 0)) && !second.saw(unread(3, 1)));
        assert!(first.saw(unread(3, 0)) && !second.saw(unread(3, 1)));
        assert!(second.saw(unread(3, 1)), "the first had no effect");
        assert!(!first.saw(unread(2, 0)), "others than before");
        assert!(!first.saw(None) && !first.saw(unread(2, 0)), "not one look after another");
        assert!(first.reason().contains("2 of its partitions (spans/0"), "{}", first.reason());
    }

    /// What is no member's form is not taken for an empty one.
    #[test]
    fn another_form_tells_nothing() {
        let whole = raw("one-1f", &[1, 2]);
        for length in 1..whole.assignment.len() - 4 {
            let torn = RawMember { assignment: whole.assignment[..length].to_vec(), ..whole.clone() };
            assert_eq!(Member::read(&torn), None, "{length} bytes");
        }
    }
}
