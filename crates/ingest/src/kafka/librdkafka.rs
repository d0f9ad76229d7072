//! What librdkafka knows and its Rust binding does not tell: the ids of topics, watermarks, and a group of
//! which only some brokers speak. The one place that speaks to the C library itself.
//!
//! A topic that is deleted and made again keeps its name and gets another id (KIP-516).

#![expect(
    unsafe_code,
    reason = "rdkafka has no call for DescribeTopics, cached watermarks and partial lists"
)]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rdkafka::bindings as rd;
use rdkafka::client::{Client, ClientContext};
use rdkafka::types::RDKafkaRespErr;

/// Frees what librdkafka gave.
struct Owned<T>(*mut T, unsafe extern "C" fn(*mut T));

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the pointer came from the library with this function to free it, and is freed once.
            unsafe { (self.1)(self.0) }
        }
    }
}

/// Asks the cluster for the ids of topics, as Kafka's own tools write them. A topic that doesn't exist is
/// left out; one whose broker tells no id has its name.
///
/// # Errors
/// The cluster gave no answer in time, or refused.
pub(super) fn topic_ids<C: ClientContext>(
    client: &Client<C>,
    topics: &[&str],
    timeout: Duration,
) -> Result<BTreeMap<String, String>, String> {
    let names: Vec<CString> = topics
        .iter()
        .map(|topic| CString::new(*topic))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // Any broker knows, and the one that has just answered is there; the library would wait for the
    // controller, which need not be among those that clients see.
    let metadata =
        client.fetch_metadata(topics.first().copied(), timeout).map_err(|error| error.to_string())?;
    let broker = metadata.orig_broker_id();
    // SAFETY: every pointer is checked or may be null where the library says so, lives until its `Owned`
    // is dropped (the reverse of the order here), and what is borrowed from the event is copied before.
    unsafe {
        let rk = client.native_ptr();
        let queue = Owned(rd::rd_kafka_queue_new(rk), rd::rd_kafka_queue_destroy);
        let collection = Owned(
            rd::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len()),
            rd::rd_kafka_TopicCollection_destroy,
        );
        let options = Owned(
            rd::rd_kafka_AdminOptions_new(rk, rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS),
            rd::rd_kafka_AdminOptions_destroy,
        );
        rd::rd_kafka_AdminOptions_set_request_timeout(options.0, millis, ptr::null_mut(), 0);
        rd::rd_kafka_AdminOptions_set_broker(options.0, broker, ptr::null_mut(), 0);
        rd::rd_kafka_DescribeTopics(rk, collection.0, options.0, queue.0);
        // The library answers by itself once the request has timed out.
        let event =
            Owned(rd::rd_kafka_queue_poll(queue.0, millis.saturating_add(1000)), rd::rd_kafka_event_destroy);
        if event.0.is_null() {
            return Err("no broker has answered in time".to_owned());
        }
        let error = rd::rd_kafka_event_error(event.0);
        if error != RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Err(text(rd::rd_kafka_event_error_string(event.0)));
        }
        let result = rd::rd_kafka_event_DescribeTopics_result(event.0);
        if result.is_null() {
            return Err("the answer of the broker is not about topics".to_owned());
        }
        let mut count = 0;
        let found = rd::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
        let mut ids = BTreeMap::new();
        for at in 0..count {
            let topic = *found.add(at);
            let error = rd::rd_kafka_error_code(rd::rd_kafka_TopicDescription_error(topic));
            let name = text(rd::rd_kafka_TopicDescription_name(topic));
            if error == RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR {
                let id = id(rd::rd_kafka_TopicDescription_topic_id(topic));
                ids.insert(name.clone(), id.unwrap_or(name));
            } else if error != RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART {
                return Err(format!("topic {name}: {}", text(rd::rd_kafka_err2str(error))));
            }
        }
        Ok(ids)
    }
}

/// The first and the next offset of a partition, as the last answers to a fetch told; none before the
/// first.
pub(super) fn watermarks<C: ClientContext>(
    client: &Client<C>,
    topic: &str,
    partition: i32,
) -> Option<(u64, u64)> {
    let topic = CString::new(topic).ok()?;
    let (mut low, mut high) = (-1, -1);
    // SAFETY: the name lives for the call, and the library writes two numbers.
    let error = unsafe {
        rd::rd_kafka_get_watermark_offsets(
            client.native_ptr(),
            topic.as_ptr(),
            partition,
            &raw mut low,
            &raw mut high,
        )
    };
    let known = error == RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;
    known.then_some((u64::try_from(low).ok()?, u64::try_from(high).ok()?))
}

/// A member of a group, in the form in which clients tell their coordinator of themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawMember {
    /// Starts with the name of a static member, and `-`.
    pub(super) id: String,
    /// What it subscribes to (Kafka's `ConsumerProtocolSubscription`).
    pub(super) subscription: Vec<u8>,
    /// What it is to read (Kafka's `ConsumerProtocolAssignment`).
    pub(super) assignment: Vec<u8>,
}

/// The members of a group of consumers that has found together; none where it has not, or where its
/// coordinator gave no answer. Other brokers may be away.
pub(super) fn members<C: ClientContext>(
    client: &Client<C>,
    group: &str,
    timeout: Duration,
) -> Option<Vec<RawMember>> {
    let group = CString::new(group).ok()?;
    let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    let mut list = ptr::null();
    // SAFETY: the name lives for the call; the library writes a list, or leaves null, and what is borrowed
    // from the list is copied before it is freed.
    unsafe {
        let error = rd::rd_kafka_list_groups(client.native_ptr(), group.as_ptr(), &raw mut list, millis);
        let told = matches!(
            error,
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR | RDKafkaRespErr::RD_KAFKA_RESP_ERR__PARTIAL
        );
        if !told || list.is_null() {
            return None;
        }
        let list = Owned(list.cast_mut(), free_groups);
        let groups = slice((*list.0).groups, (*list.0).group_cnt);
        let group = groups.iter().find(|group| {
            group.err == RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR
                && text(group.protocol_type) == "consumer"
                && text(group.state) == "Stable"
        })?;
        let member = |member: &rd::rd_kafka_group_member_info| RawMember {
            id: text(member.member_id),
            subscription: slice(member.member_metadata.cast(), member.member_metadata_size).to_vec(),
            assignment: slice(member.member_assignment.cast(), member.member_assignment_size).to_vec(),
        };
        Some(slice(group.members, group.member_cnt).iter().map(member).collect())
    }
}

/// Frees a list of groups.
unsafe extern "C" fn free_groups(list: *mut rd::rd_kafka_group_list) {
    // SAFETY: the caller hands in a list that the library gave, once.
    unsafe { rd::rd_kafka_group_list_destroy(list) }
}

/// What the library counts.
unsafe fn slice<'a, T>(first: *const T, count: i32) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: the caller hands in what the library gave: so many, one after another.
        Ok(count) if count > 0 && !first.is_null() => unsafe { std::slice::from_raw_parts(first, count) },
        _ => &[],
    }
}

/// An id as text; none where it is all zeros, which is how a broker without ids answers.
unsafe fn id(uuid: *const rd::rd_kafka_Uuid_t) -> Option<String> {
    if uuid.is_null() {
        return None;
    }
    // SAFETY: the caller hands in a pointer that the library gave.
    let (most, least) = unsafe {
        (rd::rd_kafka_Uuid_most_significant_bits(uuid), rd::rd_kafka_Uuid_least_significant_bits(uuid))
    };
    let bytes = [most.to_be_bytes(), least.to_be_bytes()].concat();
    (most != 0 || least != 0).then(|| URL_SAFE_NO_PAD.encode(bytes))
}

/// A copy of the library's text.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller hands in a text that the library ended with a zero.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
