//! `ExportTraceServiceRequest` down to its spans, events and scopes, borrowed from the body.
//!
//! Field numbers are those of opentelemetry-proto's `trace.proto` and `resource.proto`. Messages may
//! stand in any order and more than once, so a resource and a scope are read before their spans
//! wherever they stand. Leaves to `rules` what any of it means.

use super::{Attribute, Cursor, Malformed};

/// Where spans come from.
#[derive(Debug, Default)]
pub(crate) struct Resource<'a> {
    pub(crate) attributes: Vec<Attribute<'a>>,
}

/// What recorded them.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) version: &'a [u8],
}

/// A span; its vectors keep their room from one span to the next.
#[derive(Debug, Default)]
pub(crate) struct Span<'a> {
    pub(crate) trace_id: &'a [u8],
    pub(crate) span_id: &'a [u8],
    pub(crate) parent_span_id: &'a [u8],
    pub(crate) trace_state: &'a [u8],
    pub(crate) name: &'a [u8],
    pub(crate) kind: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) attributes: Vec<Attribute<'a>>,
    pub(crate) dropped_attributes: u64,
    pub(crate) events: Vec<&'a [u8]>,
    /// The first link.
    pub(crate) link: &'a [u8],
    pub(crate) status: u64,
}

/// A moment within a span; its attributes are read only where its name is one that a dialect knows.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Event<'a> {
    pub(crate) time: u64,
    pub(crate) name: &'a [u8],
    bytes: &'a [u8],
}

/// Calls `each` with every resource of the request and the bytes of each of its `ScopeSpans`.
pub(crate) fn for_each_resource<'a, E: From<Malformed>>(
    request: &'a [u8],
    mut each: impl FnMut(&Resource<'a>, &[&'a [u8]]) -> Result<(), E>,
) -> Result<(), E> {
    let (mut resource, mut scopes) = (Resource::default(), Vec::new());
    let mut cursor = Cursor::new(request);
    while let Some((tag, field)) = cursor.next()? {
        if tag != 1 {
            continue;
        }
        resource.attributes.clear();
        scopes.clear();
        let mut inner = Cursor::new(field.bytes(tag)?);
        while let Some((tag, field)) = inner.next()? {
            match tag {
                1 => resource.read(field.bytes(tag)?)?,
                2 => scopes.push(field.bytes(tag)?),
                _ => {}
            }
        }
        each(&resource, &scopes)?;
    }
    Ok(())
}

/// Reads one `ScopeSpans`: its scope, and the bytes of its spans into `spans`.
pub(crate) fn read_scope_spans<'a>(
    bytes: &'a [u8],
    spans: &mut Vec<&'a [u8]>,
) -> Result<Scope<'a>, Malformed> {
    let mut scope = Scope::default();
    spans.clear();
    let mut cursor = Cursor::new(bytes);
    while let Some((tag, field)) = cursor.next()? {
        match tag {
            1 => scope.read(field.bytes(tag)?)?,
            2 => spans.push(field.bytes(tag)?),
            _ => {}
        }
    }
    Ok(scope)
}

impl<'a> Resource<'a> {
    fn read(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        while let Some((tag, field)) = cursor.next()? {
            if tag == 1 {
                self.attributes.push(Attribute::read(field.bytes(tag)?)?);
            }
        }
        Ok(())
    }
}

impl<'a> Scope<'a> {
    fn read(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        while let Some((tag, field)) = cursor.next()? {
            match tag {
                1 => self.name = field.bytes(tag)?,
                2 => self.version = field.bytes(tag)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> Span<'a> {
    /// Reads a span in place of the one that stood here.
    pub(crate) fn read(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        let mut attributes = std::mem::take(&mut self.attributes);
        let mut events = std::mem::take(&mut self.events);
        attributes.clear();
        events.clear();
        *self = Self { attributes, events, ..Self::default() };
        let mut cursor = Cursor::new(bytes);
        while let Some((tag, field)) = cursor.next()? {
            match tag {
                1 => self.trace_id = field.bytes(tag)?,
                2 => self.span_id = field.bytes(tag)?,
                3 => self.trace_state = field.bytes(tag)?,
                4 => self.parent_span_id = field.bytes(tag)?,
                5 => self.name = field.bytes(tag)?,
                6 => self.kind = field.varint(tag)?,
                7 => self.start = field.fixed64(tag)?,
                8 => self.end = field.fixed64(tag)?,
                9 => self.attributes.push(Attribute::read(field.bytes(tag)?)?),
                10 => self.dropped_attributes = field.varint(tag)?,
                11 => self.events.push(field.bytes(tag)?),
                13 if self.link.is_empty() => self.link = field.bytes(tag)?,
                15 => self.read_status(field.bytes(tag)?)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the span has no parent.
    pub(crate) fn is_root(&self) -> bool {
        self.parent_span_id.iter().all(|byte| *byte == 0)
    }

    /// The trace that the span's first link points to; none without a link.
    pub(crate) fn link_trace_id(&self) -> Result<Option<&'a [u8]>, Malformed> {
        let mut cursor = Cursor::new(self.link);
        while let Some((tag, field)) = cursor.next()? {
            if tag == 1 {
                return field.bytes(tag).map(Some);
            }
        }
        Ok(None)
    }

    fn read_status(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        while let Some((tag, field)) = cursor.next()? {
            if tag == 3 {
                self.status = field.varint(tag)?;
            }
        }
        Ok(())
    }
}

impl<'a> Event<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut event = Self { bytes, ..Self::default() };
        let mut cursor = Cursor::new(bytes);
        while let Some((tag, field)) = cursor.next()? {
            match tag {
                1 => event.time = field.fixed64(tag)?,
                2 => event.name = field.bytes(tag)?,
                _ => {}
            }
        }
        Ok(event)
    }

    /// Calls `each` with the event's attributes.
    pub(crate) fn attributes(&self, mut each: impl FnMut(Attribute<'a>)) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(self.bytes);
        while let Some((tag, field)) = cursor.next()? {
            if tag == 3 {
                each(Attribute::read(field.bytes(tag)?)?);
            }
        }
        Ok(())
    }
}
