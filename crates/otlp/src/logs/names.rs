//! What the event of a log record may be called.
//!
//! Clients write the event's name as the attribute `event.name`, as the field of that name, or as the
//! body, with or without their prefix, and use the other places for other things: a file and line, a
//! sentence (facts/dialects.md par. 7.1). All are handed on; the dialect files know which one counts.

use crate::rules::Names;
use crate::wire::{Record, Value};

const ATTRIBUTE: &[u8] = b"event.name";
/// Names of events are short; what is longer is a sentence.
const MAX_NAME: usize = 128;

/// The names of a record.
pub(super) fn names<'a>(record: &Record<'a>) -> Names<'a> {
    let attribute = record.attributes.iter().find(|attribute| attribute.key == ATTRIBUTE);
    let attribute = attribute.map_or(Value::Empty, |attribute| attribute.value);
    Names([name(attribute), name(Value::Text(record.event_name)), name(record.body)])
}

fn name(value: Value<'_>) -> &str {
    match value {
        Value::Text(bytes) if bytes.len() <= MAX_NAME => std::str::from_utf8(bytes).unwrap_or_default(),
        _ => "",
    }
}
