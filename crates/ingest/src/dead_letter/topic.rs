//! A topic of dead letters: the message as it came, and headers that say from where and why.

use std::time::Duration;

use futures::future::join_all;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};

use super::letter::{Letter, Origin};
use crate::kafka::KafkaConnection;

/// What a dead letter's headers start with.
const PREFIX: &str = "plimsoll.dead_letter";

/// The topic.
pub(super) struct Topic {
    producer: FutureProducer,
    name: String,
}

impl std::fmt::Debug for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Topic").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Topic {
    pub(super) fn new(connection: &KafkaConnection, name: String) -> Result<Self, KafkaError> {
        let producer = connection
            .client(&[
                ("acks", "all"),
                ("enable.idempotence", "true"),
                // The broker has the last word on what is too large.
                ("message.max.bytes", "1000000000"),
                ("message.timeout.ms", "30000"),
                ("queue.buffering.max.kbytes", "131072"),
            ])
            .create()?;
        Ok(Self { producer, name })
    }

    /// Puts letters onto the topic; gives those that it will never take. They are durable when this
    /// returns.
    ///
    /// # Errors
    /// The topic took not all; some may be there twice once they are given again.
    pub(super) async fn keep<'a>(&self, letters: &'a [Letter]) -> Result<Vec<&'a Letter>, KafkaError> {
        let sent = letters.iter().map(|letter| async move {
            let mut record =
                FutureRecord::<[u8], [u8]>::to(&self.name).payload(&letter.body).headers(headers(letter));
            if let Some(key) = &letter.key {
                record = record.key(key.as_ref());
            }
            match self.producer.send(record, Duration::from_secs(30)).await {
                Ok(_) => Ok(None),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::MessageSizeTooLarge), _)) => {
                    Ok(Some(letter))
                }
                Err((error, _)) => Err(error),
            }
        });
        let sent: Vec<Option<&Letter>> = join_all(sent).await.into_iter().collect::<Result<_, _>>()?;
        Ok(sent.into_iter().flatten().collect())
    }
}

fn headers(letter: &Letter) -> OwnedHeaders {
    let mut about = vec![("reason", letter.reason.clone()), ("received", letter.received.to_string())];
    match &letter.from {
        Origin::Kafka { topic, partition, offset, .. } => about.extend([
            ("topic", topic.clone()),
            ("partition", partition.to_string()),
            ("offset", offset.to_string()),
        ]),
        Origin::Journal { node, seq } => about.extend([("node", node.clone()), ("seq", seq.to_string())]),
    }
    let came = letter.headers.iter().map(|(key, value)| (key.clone(), value.as_deref().map(<[u8]>::to_vec)));
    let about = about.into_iter().map(|(name, value)| (format!("{PREFIX}.{name}"), Some(value.into_bytes())));
    came.chain(about).fold(OwnedHeaders::new(), |headers, (key, value)| {
        headers.insert(Header { key: &key, value: value.as_deref() })
    })
}
