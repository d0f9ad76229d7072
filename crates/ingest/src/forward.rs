//! What happens to a request whose journal is a topic: checked, counted, put there as it came, answered
//! when the brokers have it.
//!
//! The bytes are not made into rows here and not written anew; a body larger than a message is cut between
//! its spans, in protobuf. Whoever reads the topic decodes.
//!
//! Invariant: the answer is a success only if every part of the request is safe in the topic. A request of
//! which only some parts got there is refused, and comes again as a whole.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use plimsoll_otlp::Encoding;
use plimsoll_otlp::forward::{CutError, cut};

use crate::accept::{Accepted, Body, Core, Refusal};
use crate::budget::Reservation;
use crate::content_type;
use crate::kafka::{Headers, Producer, PutError};
use crate::signal::Kept;

/// A request as messages.
struct Messages {
    bodies: Vec<Bytes>,
    headers: Headers,
    items: u64,
    /// Memory, until they are delivered.
    _held: Reservation,
}

impl From<CutError> for Refusal {
    fn from(error: CutError) -> Self {
        match error {
            CutError::ItemTooLarge { .. } => Self::TooLarge(error.to_string()),
            CutError::Invalid(error) => error.into(),
        }
    }
}

impl From<PutError> for Refusal {
    fn from(error: PutError) -> Self {
        match error {
            PutError::Full => Self::Busy(error.to_string()),
            PutError::TooLarge { .. } | PutError::Failed(_) => Self::Unavailable(error.to_string()),
        }
    }
}

impl Core {
    /// Takes a request: when this returns `Ok`, its bytes are safe in the topic.
    pub(crate) async fn forward(
        self: &Arc<Self>,
        producer: &Producer,
        body: Body,
        encoding: Encoding,
        signal: Kept,
    ) -> Result<Accepted, Refusal> {
        let link = producer.link().map_err(Refusal::Unavailable)?;
        let (limit, most) = (self.limits.max_message_bytes, link.body_bytes());
        let made = self.decode(move |body| messages(body, encoding, signal, limit, most), body);
        let messages = made.await?;
        if messages.items > 0 {
            let puts = messages.bodies.iter().map(|body| producer.put(&link, body, messages.headers));
            // All are waited for: their memory is held as long as the client holds it.
            futures::future::join_all(puts).await.into_iter().collect::<Result<(), PutError>>()?;
            self.ledger.change(|counts| {
                counts.received += messages.items;
                counts.forwarded += messages.items;
            });
        }
        Ok(Accepted::default())
    }
}

/// Checks a body of at most `limit` bytes once decompressed, and makes messages of at most `most` bytes.
fn messages(
    mut body: Body,
    encoding: Encoding,
    signal: Kept,
    limit: usize,
    most: usize,
) -> Result<Messages, Refusal> {
    let bytes = body.inflate(limit)?;
    let checked = signal.check(&bytes, encoding)?;
    let items = checked.items;
    let signal = signal.name();
    if body.bytes.len() <= most {
        let headers = Headers {
            content_type: content_type::of(encoding),
            content_encoding: body.coding.name(),
            signal,
        };
        return Ok(Messages { bodies: vec![body.bytes], headers, items, _held: body.held });
    }
    body.held.grow(checked.protobuf.len())?;
    let whole = |part: Cow<'_, [u8]>| Bytes::from(part.into_owned());
    let bodies = cut(&checked.protobuf, most)?.into_iter().map(whole).collect();
    let headers =
        Headers { content_type: content_type::of(Encoding::Protobuf), content_encoding: None, signal };
    Ok(Messages { bodies, headers, items, _held: body.held })
}
