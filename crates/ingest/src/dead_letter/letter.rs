//! A dead letter, and the line of JSON that it is in a file.
//!
//! Invariant: what was written is read back the same, so that a replay decodes the very bytes that came.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use plimsoll_otlp::Encoding;
use serde::{Deserialize, Serialize};

use crate::signal::Kept;

/// How a line starts, by which it is known among others.
pub(crate) const START: &[u8] = b"{\"plimsoll_dead_letter\":";

/// The layout of a line; readers refuse newer ones.
const VERSION: u32 = 1;

/// A message or record that gave no rows, whole, with where it came from and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Letter {
    /// When it was received.
    pub(crate) received: Timestamp,
    pub(crate) from: Origin,
    /// Why it gave no rows, or not all.
    pub(crate) reason: String,
    /// What it was taken to carry; none where that isn't known.
    pub(crate) signal: Option<Kept>,
    /// How it was taken to be written, once decompressed.
    pub(crate) encoding: Option<Encoding>,
    /// How it is compressed, by the name that it came with.
    pub(crate) content_encoding: Option<String>,
    /// The headers as they came.
    pub(crate) headers: Vec<(String, Option<Bytes>)>,
    pub(crate) key: Option<Bytes>,
    pub(crate) body: Bytes,
}

/// Where a letter came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Origin {
    /// A message of Kafka.
    Kafka { cluster: String, topic: String, topic_id: String, partition: i32, offset: u64 },
    /// A record of a journal.
    Journal { node: String, seq: u64 },
}

/// A line that is no dead letter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LetterError {
    /// It is not what the layout says.
    #[error("the line is no dead letter: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Some of it is not base64.
    #[error("the line is a damaged dead letter: {0}")]
    Damaged(#[from] base64::DecodeError),
    /// A later program wrote it.
    #[error("the dead letter is of layout {0}, which this program does not know: use the newer one")]
    Newer(u32),
}

/// A letter as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    plimsoll_dead_letter: u32,
    received: Timestamp,
    from: Origin,
    reason: String,
    signal: Option<String>,
    encoding: Option<String>,
    content_encoding: Option<String>,
    headers: BTreeMap<String, Option<String>>,
    key: Option<String>,
    body: String,
}

impl Letter {
    /// The line, with its end.
    pub(crate) fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let base64 = |bytes: &Bytes| STANDARD.encode(bytes);
        let line = Line {
            plimsoll_dead_letter: VERSION,
            received: self.received,
            from: self.from.clone(),
            reason: self.reason.clone(),
            signal: self.signal.map(|signal| signal.name().to_owned()),
            encoding: self.encoding.map(|encoding| encoding_name(encoding).to_owned()),
            content_encoding: self.content_encoding.clone(),
            headers: self
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), value.as_ref().map(base64)))
                .collect(),
            key: self.key.as_ref().map(base64),
            body: base64(&self.body),
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads a line.
    ///
    /// # Errors
    /// It is no letter, is damaged, or a later program wrote it.
    pub(crate) fn from_line(line: &[u8]) -> Result<Self, LetterError> {
        let line: Line = serde_json::from_slice(line)?;
        if line.plimsoll_dead_letter > VERSION {
            return Err(LetterError::Newer(line.plimsoll_dead_letter));
        }
        let bytes = |text: &String| STANDARD.decode(text).map(Bytes::from);
        let headers = line
            .headers
            .iter()
            .map(|(name, value)| Ok((name.clone(), value.as_ref().map(bytes).transpose()?)));
        Ok(Self {
            received: line.received,
            from: line.from,
            reason: line.reason,
            signal: line.signal.as_deref().and_then(Kept::from_name),
            encoding: line.encoding.as_deref().and_then(encoding_from_name),
            content_encoding: line.content_encoding,
            headers: headers.collect::<Result<_, base64::DecodeError>>()?,
            key: line.key.as_ref().map(bytes).transpose()?,
            body: bytes(&line.body)?,
        })
    }

    /// The name of its file: the same however often it is written.
    pub(crate) fn file_name(&self) -> String {
        match &self.from {
            Origin::Kafka { topic, topic_id, partition, offset, .. } => {
                // A file's name has 255 bytes, a topic's up to 249.
                let [topic, id] = [(topic, 150), (topic_id, 8)]
                    .map(|(name, most)| name.chars().take(most).collect::<String>());
                format!("kafka-{topic}-{id}-{partition}-{offset}.json")
            }
            Origin::Journal { node, seq } => format!("journal-{node}-{seq}.json"),
        }
    }
}

/// The name that settings and letters use for an encoding.
fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Protobuf => "otlp_proto",
        Encoding::Json => "otlp_json",
    }
}

fn encoding_from_name(name: &str) -> Option<Encoding> {
    [Encoding::Protobuf, Encoding::Json].into_iter().find(|encoding| encoding_name(*encoding) == name)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;

    fn letter() -> Letter {
        Letter {
            received: "2026-01-05T10:00:00.123456Z".parse().unwrap(),
            from: Origin::Kafka {
                cluster: "c".to_owned(),
                topic: "spans".to_owned(),
                topic_id: "abcdefghijkl".to_owned(),
                partition: 3,
                offset: 7,
            },
            reason: "the body is not an OTLP trace request: \"x\"".to_owned(),
            signal: Some(Kept::Logs),
            encoding: Some(Encoding::Json),
            content_encoding: Some("zstd".to_owned()),
            headers: vec![
                ("content-type".to_owned(), Some(Bytes::from_static(b"\xff\x00"))),
                ("n".to_owned(), None),
            ],
            key: Some(Bytes::from_static(b"k")),
            body: Bytes::from_static(&[0, 255, 10, 13, 34]),
        }
    }

    /// A replay sees the bytes that came, whatever they are, and a letter is one line that says what it is.
    #[test]
    fn a_letter_is_read_back_as_it_was() {
        let line = letter().to_line().unwrap();
        assert!(line.starts_with(START));
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(Letter::from_line(&line).unwrap(), letter());
        assert_eq!(letter().file_name(), "kafka-spans-abcdefgh-3-7.json");
    }

    /// A letter of a later program is refused in words, not read by halves.
    #[test]
    fn a_newer_letter_is_refused() {
        let line = String::from_utf8(letter().to_line().unwrap()).unwrap();
        let newer = line.replace("\"plimsoll_dead_letter\":1", "\"plimsoll_dead_letter\":2");
        assert!(matches!(Letter::from_line(newer.as_bytes()), Err(LetterError::Newer(2))));
        assert!(matches!(Letter::from_line(b"{}"), Err(LetterError::Malformed(_))));
    }
}
