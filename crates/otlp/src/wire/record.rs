//! `LogRecord`, borrowed from the body.
//!
//! Field numbers are those of opentelemetry-proto's `logs.proto`. What stands around records is shaped as
//! what stands around spans, and read by the same functions.

use super::{Attribute, Cursor, Malformed, Value};

/// A log record; its vectors keep their room from one record to the next.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) trace_id: &'a [u8],
    pub(crate) span_id: &'a [u8],
    /// When it happened; 0 where the sender doesn't say.
    pub(crate) time: u64,
    /// When it was collected.
    pub(crate) observed: u64,
    pub(crate) event_name: &'a [u8],
    pub(crate) body: Value<'a>,
    pub(crate) attributes: Vec<Attribute<'a>>,
    /// The same attributes, each as the bytes that it was sent as.
    pub(crate) attribute_bytes: Vec<&'a [u8]>,
    pub(crate) dropped_attributes: u64,
}

impl Default for Record<'_> {
    fn default() -> Self {
        Self {
            trace_id: &[],
            span_id: &[],
            time: 0,
            observed: 0,
            event_name: &[],
            body: Value::Empty,
            attributes: Vec::new(),
            attribute_bytes: Vec::new(),
            dropped_attributes: 0,
        }
    }
}

impl<'a> Record<'a> {
    /// When it happened, or was collected where the sender doesn't say.
    pub(crate) fn happened(&self) -> u64 {
        if self.time == 0 { self.observed } else { self.time }
    }

    /// Reads a record in place of the one that stood here.
    pub(crate) fn read(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        let mut attributes = std::mem::take(&mut self.attributes);
        let mut attribute_bytes = std::mem::take(&mut self.attribute_bytes);
        attributes.clear();
        attribute_bytes.clear();
        *self = Self { attributes, attribute_bytes, ..Self::default() };
        let mut cursor = Cursor::new(bytes);
        while let Some((tag, field)) = cursor.next()? {
            match tag {
                1 => self.time = field.fixed64(tag)?,
                5 => self.body.read(field.bytes(tag)?)?,
                6 => {
                    let bytes = field.bytes(tag)?;
                    self.attributes.push(Attribute::read(bytes)?);
                    self.attribute_bytes.push(bytes);
                }
                7 => self.dropped_attributes = field.varint(tag)?,
                9 => self.trace_id = field.bytes(tag)?,
                10 => self.span_id = field.bytes(tag)?,
                11 => self.observed = field.fixed64(tag)?,
                12 => self.event_name = field.bytes(tag)?,
                _ => {}
            }
        }
        Ok(())
    }
}
