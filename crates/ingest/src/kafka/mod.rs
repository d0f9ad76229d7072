//! Kafka: the connection that source, journal and dead letters share, and the source.

mod connection;
mod options;

pub use connection::{ConnectionError, KafkaConnection};
pub use options::{KafkaSource, KafkaSourceError};
