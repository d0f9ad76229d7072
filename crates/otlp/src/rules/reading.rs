//! One span read by the rules: its attributes sorted into slots, its kind, the values of its columns.
//!
//! A `Reading` is used for span after span and keeps its room. Invariant: between spans only what the
//! resource said remains.

use std::borrow::Cow;

use super::compile::{AliasRule, FastMap, NO_SLOT, Rules, Slot};
use super::literal::Glance;
use super::log::Names;
use super::notes::{Note, Notes, ignored};
use super::place::Locator;
use super::scalar::Scalar;
use super::scopes::ScopeFacts;
use crate::dialect::Kind;
use crate::explain::Reasons;
use crate::quality::Quality;
use crate::wire::{Event, Malformed, Resource, Span, Value};

/// Keys of one body whose slots are remembered; senders can make up any number.
const MAX_SEEN: usize = 4096;

/// A value at a column of the schema.
pub(crate) type Placed<'p, 'a> = (usize, &'p Scalar<'a>);

/// The state of reading one span.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    pub(super) rules: &'a Rules,
    scope: ScopeFacts,
    /// The slots of the keys that this body was seen to use: one look at each key but the first time.
    seen: FastMap<&'a [u8], Slot>,
    /// What stands in each slot.
    pub(super) values: Vec<Value<'a>>,
    /// Slots of the span to empty afterwards, and those of the resource.
    span_slots: Vec<u16>,
    resource_slots: Vec<u16>,
    /// The slot of each attribute of the span, in their order.
    attribute_slots: Vec<Slot>,
    /// Slots whose value a column holds, so that the map of attributes need not.
    pub(super) consumed: Vec<bool>,
    /// Aliases that have a value, to be tried in their order.
    pub(super) candidates: Vec<u16>,
    /// The values of the columns, and which have one.
    pub(super) cells: Vec<Option<Scalar<'a>>>,
    filled: Vec<u16>,
    /// Targets that were said in a way that can't be read: no zero stands in for them.
    pub(super) spoilt: Vec<u16>,
    /// The slots that the input and the reasoning count came from.
    pub(super) input_slot: u16,
    pub(super) reasoning_slot: u16,
    /// What the log record is called that is being read; nothing while it is a span.
    pub(super) names: Names<'a>,
    pub(super) locator: Locator<'a>,
    /// What one look over a text told that several paths go into, by its slot.
    pub(super) glances: Vec<(u16, Glance)>,
    pub(super) notes: Notes,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(rules: &'a Rules) -> Self {
        Self {
            rules,
            scope: ScopeFacts::default(),
            seen: FastMap::default(),
            values: vec![Value::Empty; rules.readers.len()],
            span_slots: Vec::new(),
            resource_slots: Vec::new(),
            attribute_slots: Vec::new(),
            consumed: vec![false; rules.readers.len()],
            candidates: Vec::new(),
            cells: vec![None; rules.targets.len()],
            filled: Vec::new(),
            spoilt: Vec::new(),
            input_slot: NO_SLOT,
            reasoning_slot: NO_SLOT,
            names: Names::default(),
            locator: Locator::new(&rules.places),
            glances: Vec::new(),
            notes: Notes::default(),
        }
    }

    /// Takes notes from now on, for [`Self::reasons`].
    pub(crate) fn take_notes(&mut self) {
        self.notes.start();
    }

    /// Why the span that was read last is what it is.
    pub(crate) fn reasons(&self, span: &Span<'_>) -> Reasons {
        let mut reasons = self.notes.told(self.rules);
        reasons.ignored = ignored(self.rules, span, &self.attribute_slots, &self.notes);
        reasons
    }

    /// Goes on to the spans of another resource.
    pub(crate) fn enter_resource(&mut self, resource: &Resource<'a>) {
        for slot in self.resource_slots.drain(..) {
            self.values[usize::from(slot)] = Value::Empty;
        }
        for attribute in &resource.attributes {
            if let Some(slot) = self.rules.resources.get(attribute.key).filter(|slot| !self.has(slot.index)) {
                self.values[usize::from(slot.index)] = attribute.value;
                self.resource_slots.push(slot.index);
            }
        }
    }

    /// Whether a resource attribute goes into a column and need not join the attributes of spans.
    pub(crate) fn takes_resource(&self, key: &[u8]) -> bool {
        let slot = self.rules.resources.get(key);
        slot.is_some_and(|slot| {
            !self.rules.readers[usize::from(slot.index)].iter().any(|alias| self.rule(*alias).alias.keep)
        })
    }

    /// Goes on to the spans of another scope.
    pub(crate) fn enter_scope(&mut self, name: &str, version: &str) {
        self.scope = self.rules.scopes.facts(name, version);
    }

    /// Reads a span; gives its kind and the dialect that told.
    pub(crate) fn read(
        &mut self,
        span: &Span<'a>,
        quality: &mut Quality,
    ) -> Result<(Kind, Option<&'a str>), Malformed> {
        self.gather(span, Names::default())?;
        let judged = self.rules.kinds.iter().find_map(|test| Some((test.judge(span, self)?, test)));
        let (kind, dialect) = judged.map_or((Kind::Other, None), |(kind, test)| (kind, Some(test.dialect)));
        if let Some((_, test)) = judged {
            self.notes.add(|| Note::Kind { at: test.at, slot: test.slot.unwrap_or(NO_SLOT) });
        }
        self.resolve(span, kind, quality);
        self.correct(span, kind, quality);
        let dialect = self.scope.dialect.or(dialect);
        Ok((kind, dialect.map(|dialect| self.rules.dialect_names[dialect].as_str())))
    }

    /// Sorts what the span carries into slots, and notes which aliases have a value.
    pub(super) fn gather(&mut self, span: &Span<'a>, names: Names<'a>) -> Result<(), Malformed> {
        self.clear();
        self.names = names;
        self.fill_slots(span)?;
        for slot in self.span_slots.iter().chain(&self.resource_slots) {
            self.candidates.extend_from_slice(&self.rules.readers[usize::from(*slot)]);
        }
        Ok(())
    }

    /// The values of columns, those without left out.
    pub(crate) fn columns(&self) -> impl Iterator<Item = Placed<'_, 'a>> {
        let stored = self.filled.iter().filter(|target| **target < self.rules.known.total_tokens);
        stored.filter_map(|target| Some((usize::from(*target), self.cell(*target)?)))
    }

    /// The text in a column.
    pub(crate) fn text_in(&self, column: usize) -> Option<&str> {
        self.text(u16::try_from(column).ok()?)
    }

    /// What the dialect says of the span's status.
    pub(crate) fn status(&self) -> Option<&str> {
        self.text(self.rules.known.status)
    }

    /// Whether the map of attributes keeps the span's attribute at `index`: it is not content, and no
    /// column holds it.
    pub(crate) fn keeps(&self, index: usize) -> bool {
        let Slot { index, content } = self.attribute_slots[index];
        !content && !self.consumed.get(usize::from(index)).is_some_and(|consumed| *consumed)
    }

    pub(super) fn has(&self, slot: u16) -> bool {
        !matches!(self.values[usize::from(slot)], Value::Empty)
    }

    pub(super) fn holds(&self, when: u16) -> bool {
        self.scope.hold(when)
    }

    /// The text of an attribute, without the quotes of one that is sent as JSON.
    pub(super) fn text_at(&self, slot: u16) -> Option<Cow<'a, str>> {
        let Value::Text(bytes) = self.values[usize::from(slot)] else { return None };
        Some(String::from_utf8_lossy(
            bytes.strip_prefix(b"\"").and_then(|bytes| bytes.strip_suffix(b"\"")).unwrap_or(bytes),
        ))
    }

    /// A value as text, that of a number and a flag too; nothing is the empty text.
    pub(super) fn shown(&self, slot: u16) -> Cow<'a, str> {
        match self.values[usize::from(slot)] {
            Value::Text(bytes) => String::from_utf8_lossy(bytes),
            Value::Int(value) => value.to_string().into(),
            Value::Flag(value) => value.to_string().into(),
            _ => Cow::Borrowed(""),
        }
    }

    /// Whether any alias of the target has a value.
    pub(super) fn is_candidate(&self, target: u16) -> bool {
        self.candidates.iter().any(|alias| {
            let rule = self.rule(*alias);
            rule.target == target && self.is_for_record(rule)
        })
    }

    pub(super) fn rule(&self, alias: u16) -> &'a AliasRule {
        &self.rules.aliases[usize::from(alias)]
    }

    fn clear(&mut self) {
        for slot in self.span_slots.drain(..) {
            self.values[usize::from(slot)] = Value::Empty;
            self.consumed[usize::from(slot)] = false;
        }
        for target in self.filled.drain(..) {
            self.cells[usize::from(target)] = None;
        }
        self.candidates.clear();
        self.spoilt.clear();
        self.glances.clear();
        self.notes.clear();
        self.attribute_slots.clear();
        self.input_slot = NO_SLOT;
        self.reasoning_slot = NO_SLOT;
    }

    fn fill_slots(&mut self, span: &Span<'a>) -> Result<(), Malformed> {
        for attribute in &span.attributes {
            let slot = self.slot(attribute.key);
            self.attribute_slots.push(slot);
            if slot.index != NO_SLOT {
                self.put(slot.index, attribute.value);
            }
        }
        if self.rules.events.is_empty() {
            return Ok(());
        }
        for event in &span.events {
            let event = Event::read(event)?;
            let Some(slots) = self.rules.events.get(event.name) else { continue };
            if let Some(slot) = slots.time.filter(|slot| !self.has(*slot)) {
                let since = i128::from(event.time) - i128::from(span.start);
                self.put(slot, i64::try_from(since).map_or(Value::Empty, Value::Int));
            }
            event.attributes(|attribute| {
                let slot = slots.attributes.iter().find(|(key, _)| **key == *attribute.key);
                if let Some((_, slot)) = slot {
                    self.put(*slot, attribute.value);
                }
            })?;
        }
        Ok(())
    }

    /// The slot of a span attribute.
    #[inline]
    fn slot(&mut self, key: &'a [u8]) -> Slot {
        if let Some(slot) = self.seen.get(key) {
            return *slot;
        }
        let slot = match self.rules.attributes.get(key) {
            Some(slot) => *slot,
            None => Slot { index: NO_SLOT, content: self.rules.content.contains(key) },
        };
        if self.seen.len() < MAX_SEEN {
            self.seen.insert(key, slot);
        }
        slot
    }

    /// Fills a slot; of several values the first stands.
    #[inline]
    fn put(&mut self, slot: u16, value: Value<'a>) {
        let place = &mut self.values[usize::from(slot)];
        if matches!(place, Value::Empty) {
            *place = value;
            self.span_slots.push(slot);
        }
    }

    pub(super) fn cell(&self, target: u16) -> Option<&Scalar<'a>> {
        self.cells[usize::from(target)].as_ref()
    }

    pub(super) fn set(&mut self, target: u16, value: Option<Scalar<'a>>) {
        let cell = &mut self.cells[usize::from(target)];
        if cell.is_none() && value.is_some() {
            self.filled.push(target);
        }
        *cell = value;
    }

    pub(super) fn text(&self, target: u16) -> Option<&str> {
        match self.cell(target) {
            Some(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn count(&self, target: u16) -> Option<i64> {
        match self.cell(target) {
            Some(Scalar::Int(count)) => Some(*count),
            _ => None,
        }
    }
}

/// A span's duration; none where it has no end or one before its start.
#[expect(clippy::cast_precision_loss, reason = "a double has nanoseconds up to a hundred days exactly")]
pub(crate) fn duration_ms(span: &Span<'_>) -> Option<f64> {
    let end = (span.end != 0).then_some(span.end)?;
    Some(end.checked_sub(span.start)? as f64 / 1e6)
}
