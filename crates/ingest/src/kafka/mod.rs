//! Kafka: the connection that source, journal and dead letters share, the source, and the topic that is a
//! journal.
//!
//! Messages are OTLP request bodies. A thread polls and hands them on in order (`reader`), they are
//! decoded on several processors (`pipeline`), and the flusher commits them with the offset that comes
//! next as a transaction of the very commit (`lane`). On taking a partition reading starts where the
//! tables are, whatever the group's offsets say: those are committed afterwards, for monitors alone.
//! Partitions that the group has lost sight of are found and given out again (`unread`).
//! Receivers that keep requests on a topic put them there as they came (`produce`).
//!
//! Invariant: a message's rows are in the lake once, however often it is read and by whomever.

mod connection;
mod consumer;
mod decode;
mod handle;
mod lane;
mod librdkafka;
mod locate;
mod message;
mod options;
mod order;
mod partitions;
mod pipeline;
mod place;
mod produce;
mod reader;
mod status;
mod unread;

pub use connection::{ConnectionError, KafkaConnection};
pub(crate) use handle::{Kafka, Parts};
pub(crate) use lane::{Arrival, Lane};
pub use options::{KafkaSource, KafkaSourceError};
pub(crate) use produce::{Headers, Producer, PutError};
pub use produce::{KafkaLog, KafkaLogError};
pub use status::{KafkaStatus, PartitionStatus};
