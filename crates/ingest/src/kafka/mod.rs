//! Kafka: the connection that source, journal and dead letters share, the source, and the topic that is a journal.

mod connection;
mod options;
mod produce;

pub use connection::{ConnectionError, KafkaConnection};
pub use options::{KafkaSource, KafkaSourceError};
pub(crate) use produce::{Headers, Producer, PutError};
pub use produce::{KafkaLog, KafkaLogError};
