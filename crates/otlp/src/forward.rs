//! Requests that are passed on as they came, not made into rows: checked, counted, and cut where they are
//! larger than a message may be.
//!
//! A check reads down to each item's attributes and makes no columns, so that a body that can never be
//! stored is refused while its sender listens. A request of traces and one of logs are shaped alike down
//! to their items (spans, log records), so one cut serves both. Whoever passes them on brings the limit.
//!
//! Invariants: a body that decodes passes its check, and one that passes and yet does not decode (a damaged
//! event) is for whoever decodes it to keep; the parts of a body hold each of its items once, in order,
//! each beside the resource, the scope and whatever else stood around it, known or not.

use std::borrow::Cow;

use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use crate::decode::{MAX_BODY, MAX_SPANS, of_logs};
use crate::rejected::Rejected;
use crate::wire::{Cursor, Malformed, Record, Span, for_each_resource, read_scope_spans};
use crate::{DecodeError, Encoding, json};

/// A request that is well formed.
#[derive(Debug, Clone)]
pub struct Checked<'a> {
    /// The request in protobuf: the body itself where it was written so.
    pub protobuf: Cow<'a, [u8]>,
    /// Its spans or log records, those among them that the decoder will reject included.
    pub items: u64,
}

/// A request that can't be cut small enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CutError {
    /// One span or log record, with the resource and scope that it needs, is over the limit by itself.
    #[error("one span or log record takes {bytes} bytes with its resource, and a message at most {limit}")]
    ItemTooLarge {
        /// The bytes that a message with nothing else would have.
        bytes: usize,
        /// The most that a message may have.
        limit: usize,
    },
    /// It is no request.
    #[error(transparent)]
    Invalid(#[from] DecodeError),
}

/// Checks a trace request.
///
/// # Errors
/// It is none, or holds more than the decoder takes at once.
pub fn check_traces(body: &[u8], encoding: Encoding) -> Result<Checked<'_>, DecodeError> {
    let (protobuf, rejected) = in_protobuf(body, encoding, json::to_protobuf)?;
    let mut span = Span::default();
    let items = walk(&protobuf, |bytes| span.read(bytes))?;
    checked(protobuf, rejected + items)
}

/// Checks a logs request.
///
/// # Errors
/// It is none, or holds more than the decoder takes at once.
pub fn check_logs(body: &[u8], encoding: Encoding) -> Result<Checked<'_>, DecodeError> {
    let (protobuf, rejected) = in_protobuf(body, encoding, json::logs_to_protobuf).map_err(of_logs)?;
    let mut record = Record::default();
    let items = walk(&protobuf, |bytes| record.read(bytes)).map_err(of_logs)?;
    checked(protobuf, rejected + items)
}

/// The body in protobuf, and how many of its items can't be written so.
fn in_protobuf(
    body: &[u8],
    encoding: Encoding,
    transcode: fn(&[u8], &mut Rejected) -> Result<Vec<u8>, DecodeError>,
) -> Result<(Cow<'_, [u8]>, u64), DecodeError> {
    if body.len() > MAX_BODY {
        return Err(DecodeError::TooLarge { limit: MAX_BODY });
    }
    let mut rejected = Rejected::default();
    let protobuf = match encoding {
        Encoding::Protobuf => Cow::Borrowed(body),
        Encoding::Json => Cow::Owned(transcode(body, &mut rejected)?),
    };
    Ok((protobuf, rejected.spans()))
}

/// Calls `read` with the bytes of each item, and gives their number.
fn walk<'a>(
    request: &'a [u8],
    mut read: impl FnMut(&'a [u8]) -> Result<(), Malformed>,
) -> Result<u64, DecodeError> {
    let (mut items, mut held) = (0, Vec::new());
    for_each_resource(request, |_, scopes| {
        for scope in scopes {
            read_scope_spans(scope, &mut held)?;
            items += held.len() as u64;
            held.iter().try_for_each(|item| read(item))?;
        }
        Ok::<(), Malformed>(())
    })?;
    Ok(items)
}

fn checked(protobuf: Cow<'_, [u8]>, items: u64) -> Result<Checked<'_>, DecodeError> {
    if items > MAX_SPANS as u64 {
        return Err(DecodeError::TooManySpans { limit: MAX_SPANS });
    }
    Ok(Checked { protobuf, items })
}

/// Cuts a request in protobuf, of traces or logs, into requests of at most `limit` bytes. One that fits is
/// given back as it is.
///
/// # Errors
/// One item alone is over the limit, or it is no request.
pub fn cut(request: &[u8], limit: usize) -> Result<Vec<Cow<'_, [u8]>>, CutError> {
    if request.len() <= limit {
        return Ok(vec![Cow::Borrowed(request)]);
    }
    let (around, resources) = Level::REQUEST.take_apart(request)?;
    let mut parts = Parts::new(around, limit);
    for resource in resources {
        let (around, scopes) = Level::RESOURCE.take_apart(resource)?;
        parts.enter_resource(around);
        for scope in scopes {
            let (around, items) = Level::SCOPE.take_apart(scope)?;
            parts.enter_scope(around);
            for item in items {
                parts.add(item)?;
            }
        }
    }
    Ok(parts.finish())
}

/// A message that holds others: a request its resources, a resource its scopes, a scope its items.
struct Level(
    /// The number of the field that repeats what it holds; one byte on the wire.
    u32,
);

impl Level {
    const REQUEST: Self = Self(1);
    const RESOURCE: Self = Self(2);
    const SCOPE: Self = Self(2);

    /// The fields around what a message holds, as they stand there, and the messages that it holds.
    fn take_apart<'a>(&self, message: &'a [u8]) -> Result<(Vec<u8>, Vec<&'a [u8]>), DecodeError> {
        let (mut around, mut held) = (Vec::new(), Vec::new());
        let mut cursor = Cursor::new(message);
        while let Some((tag, field, whole)) = cursor.next_whole()? {
            if tag == self.0 {
                held.push(field.bytes(tag)?);
            } else {
                around.extend_from_slice(whole);
            }
        }
        Ok((around, held))
    }

    fn write(&self, message: &[u8], into: &mut Vec<u8>) {
        encode_key(self.0, WireType::LengthDelimited, into);
        encode_varint(message.len() as u64, into);
        into.extend_from_slice(message);
    }
}

/// Bytes of a field with a message of `length` bytes.
fn framed(length: usize) -> usize {
    1 + encoded_len_varint(length as u64) + length
}

/// A message that is being written.
#[derive(Default)]
struct Open {
    /// What stands around what it holds; it is written first, again in each part.
    around: Vec<u8>,
    /// What it holds so far, in this part.
    held: Vec<u8>,
}

impl Open {
    fn new(around: Vec<u8>) -> Self {
        Self { around, held: Vec::new() }
    }

    fn len(&self) -> usize {
        self.around.len() + self.held.len()
    }

    /// What was written, if it holds anything; after that it holds nothing.
    fn take(&mut self) -> Option<Vec<u8>> {
        if self.held.is_empty() {
            return None;
        }
        let mut message = self.around.clone();
        message.append(&mut self.held);
        Some(message)
    }
}

/// The parts of a request as they are filled, one after the other.
struct Parts {
    limit: usize,
    request: Open,
    resource: Open,
    scope: Open,
    done: Vec<Cow<'static, [u8]>>,
}

impl Parts {
    fn new(around: Vec<u8>, limit: usize) -> Self {
        let (request, done) = (Open::new(around), Vec::new());
        Self { limit, request, resource: Open::default(), scope: Open::default(), done }
    }

    fn enter_resource(&mut self, around: Vec<u8>) {
        self.leave_resource();
        self.resource = Open::new(around);
        self.scope = Open::default();
    }

    fn enter_scope(&mut self, around: Vec<u8>) {
        self.leave_scope();
        self.scope = Open::new(around);
    }

    fn leave_scope(&mut self) {
        if let Some(scope) = self.scope.take() {
            Level::RESOURCE.write(&scope, &mut self.resource.held);
        }
    }

    fn leave_resource(&mut self) {
        self.leave_scope();
        if let Some(resource) = self.resource.take() {
            Level::REQUEST.write(&resource, &mut self.request.held);
        }
    }

    /// Bytes that the part would have with one more item.
    fn with(&self, item: &[u8]) -> usize {
        let scope = self.scope.len() + framed(item.len());
        self.request.len() + framed(self.resource.len() + framed(scope))
    }

    fn add(&mut self, item: &[u8]) -> Result<(), CutError> {
        if self.with(item) > self.limit {
            self.end_part();
        }
        let bytes = self.with(item);
        if bytes > self.limit {
            return Err(CutError::ItemTooLarge { bytes, limit: self.limit });
        }
        Level::SCOPE.write(item, &mut self.scope.held);
        Ok(())
    }

    fn end_part(&mut self) {
        self.leave_resource();
        self.done.extend(self.request.take().map(Cow::Owned));
    }

    fn finish(mut self) -> Vec<Cow<'static, [u8]>> {
        self.end_part();
        self.done
    }
}
