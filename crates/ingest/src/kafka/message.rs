//! A message as it came, in memory of our own: librdkafka's buffers are bounded and its.

use std::sync::Arc;

use bytes::Bytes;
use rdkafka::message::{BorrowedMessage, Headers, Message as _};

use super::place::Place;
use crate::accept::now_unix_micros;

/// A message.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) place: Arc<Place>,
    pub(crate) offset: u64,
    /// The offset that was to come: the two differ where offsets hold no message, or none any more.
    pub(crate) after: u64,
    /// When it was read, microseconds since 1970, UTC.
    pub(crate) received_unix_micros: i64,
    pub(crate) key: Option<Bytes>,
    pub(crate) headers: Vec<(String, Option<Bytes>)>,
    /// The value; empty where there is none.
    pub(crate) body: Bytes,
}

impl Message {
    /// Copies a message; `after` is the offset that was to come.
    pub(crate) fn copy(place: Arc<Place>, after: u64, offset: u64, message: &BorrowedMessage<'_>) -> Self {
        let headers = message.headers().into_iter().flat_map(Headers::iter);
        Self {
            place,
            offset,
            after,
            received_unix_micros: now_unix_micros(),
            key: message.key().map(Bytes::copy_from_slice),
            headers: headers
                .map(|header| (header.key.to_owned(), header.value.map(Bytes::copy_from_slice)))
                .collect(),
            body: message.payload().map(Bytes::copy_from_slice).unwrap_or_default(),
        }
    }

    /// The last header of a name, compared without case, as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
        std::str::from_utf8(found?.1.as_ref()?).ok().map(str::trim)
    }

    /// Bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        let headers =
            self.headers.iter().map(|(name, value)| name.len() + value.as_ref().map_or(0, Bytes::len));
        size_of::<Self>() + self.body.len() + self.key.as_ref().map_or(0, Bytes::len) + headers.sum::<usize>()
    }
}
