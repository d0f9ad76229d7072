//! Protobuf on the wire: a cursor over bytes, and the OTLP messages read through it without copying.

mod cursor;
#[cfg(test)]
mod oracle;
mod record;
mod span;
mod value;

pub(crate) use cursor::{Cursor, Malformed};
pub(crate) use record::Record;
pub(crate) use span::{Event, Resource, Span, for_each_resource, read_scope_spans};
pub(crate) use value::{Attribute, Value, elements};
