//! One span read by the rules: its attributes sorted into slots, its kind, the values of its columns.
//!
//! A `Reading` is used for span after span and keeps its room. Invariant: between spans only what the
//! resource said remains.

use std::borrow::Cow;

use super::compile::{
    AliasRule, CorrectionRule, FastMap, Folded, InputRule, NO_SLOT, Rules, ScopeFacts, Shape, Slot,
};
use super::kind::is_named;
use super::literal::{self, Found};
use super::log::Names;
use super::notes::{Note, Notes, ignored};
use super::place::Locator;
use super::scalar::{BadNumber, Scalar};
use super::usage::{Sent, output as all_output, split};
use crate::dialect::{Kind, Lookup, Origin, Pattern, Unit};
use crate::explain::{Outcome, Reasons};
use crate::quality::{BAD_NUMBER, BAD_TTFT, DIALECT_MISMATCH, JSON_CUT, Quality, ZERO_USAGE};
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
    values: Vec<Value<'a>>,
    /// Slots of the span to empty afterwards, and those of the resource.
    span_slots: Vec<u16>,
    resource_slots: Vec<u16>,
    /// The slot of each attribute of the span, in their order.
    attribute_slots: Vec<Slot>,
    /// Slots whose value a column holds, so that the map of attributes need not.
    consumed: Vec<bool>,
    /// Aliases that have a value, to be tried in their order.
    candidates: Vec<u16>,
    /// The values of the columns, and which have one.
    cells: Vec<Option<Scalar<'a>>>,
    filled: Vec<u16>,
    /// Targets that were said in a way that can't be read: no zero stands in for them.
    spoilt: Vec<u16>,
    /// The slots that the input and the reasoning count came from.
    input_slot: u16,
    reasoning_slot: u16,
    /// What the log record is called that is being read; nothing while it is a span.
    names: Names<'a>,
    locator: Locator<'a>,
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

    /// Puts right what the values of single columns don't tell.
    pub(super) fn correct(&mut self, span: &Span<'a>, kind: Kind, quality: &mut Quality) {
        self.correct_place(kind);
        self.mark(span, kind, quality);
        self.correct_usage(span, kind, quality);
        self.correct_first_token(span, quality);
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

    /// Whether an alias is for spans and all log records, or for this one.
    fn is_for_record(&self, rule: &AliasRule) -> bool {
        rule.log.is_empty() || self.names.matching(&rule.log).is_some()
    }

    fn rule(&self, alias: u16) -> &'a AliasRule {
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

    /// Tries the aliases in their order; the first with a value fills its column.
    pub(super) fn resolve(&mut self, span: &Span<'a>, kind: Kind, quality: &mut Quality) {
        self.candidates.extend_from_slice(&self.rules.slotless);
        self.candidates.sort_unstable();
        let candidates = std::mem::take(&mut self.candidates);
        let mut cut = Vec::new();
        for alias in &candidates {
            let outcome = self.try_place(self.rule(*alias), span, kind, quality);
            match outcome {
                Outcome::Cut => cut.push(self.rule(*alias).target),
                Outcome::BadNumber => self.spoilt.push(self.rule(*alias).target),
                _ => {}
            }
            if self.notes.are_taken() {
                self.note(*alias, outcome, span, kind);
            }
        }
        self.candidates = candidates;
        if cut.iter().any(|target| self.cell(*target).is_none()) {
            quality.flag(JSON_CUT);
        }
        self.spoilt.append(&mut cut);
    }

    /// Fills the column of an alias from its place, where it has a value and no other place had.
    fn try_place(
        &mut self,
        rule: &'a AliasRule,
        span: &Span<'a>,
        kind: Kind,
        quality: &mut Quality,
    ) -> Outcome {
        if self.cell(rule.target).is_some() {
            return Outcome::Late;
        }
        if !self.is_for(rule, span, kind) {
            return Outcome::NotMeant;
        }
        let value = match self.raw(rule, span, quality) {
            Found::Value(value) => value,
            Found::Nothing => return Outcome::Empty,
            Found::Cut => {
                return Outcome::Cut;
            }
        };
        match self.shaped(rule, value, span, quality) {
            Ok(Some(value)) => {
                self.set(rule.target, Some(value));
                if rule.slot != NO_SLOT {
                    self.consumed[usize::from(rule.slot)] |= !rule.alias.keep;
                }
                if rule.target == self.rules.known.input_tokens {
                    self.input_slot = rule.slot;
                } else if rule.target == self.rules.known.reasoning_tokens {
                    self.reasoning_slot = rule.slot;
                }
                Outcome::Won
            }
            Ok(None) => Outcome::Empty,
            Err(BadNumber) => {
                quality.flag(BAD_NUMBER);
                Outcome::BadNumber
            }
        }
    }

    fn note(&mut self, alias: u16, outcome: Outcome, span: &Span<'_>, kind: Kind) {
        let rule = self.rule(alias);
        let outcome = match outcome {
            Outcome::Late if !self.is_for(rule, span, kind) => Outcome::NotMeant,
            outcome => outcome,
        };
        let value = self.cell(rule.target).filter(|_| outcome == Outcome::Won).map(Scalar::shown);
        self.notes.add(|| Note::Place { alias, slot: rule.slot, outcome, value });
    }

    /// Whether the alias is meant for such a span.
    fn is_for(&self, rule: &AliasRule, span: &Span<'_>, kind: Kind) -> bool {
        let alias = &rule.alias;
        (alias.kinds.is_empty() || alias.kinds.contains(&kind))
            && self.holds(rule.when)
            && self.is_for_record(rule)
            && (!alias.root || span.is_root())
            && (alias.name.is_none() || is_named(span, alias.name.as_slice()))
    }

    fn raw(&self, rule: &'a AliasRule, span: &Span<'a>, quality: &mut Quality) -> Found<'a> {
        let alias = &rule.alias;
        match &alias.origin {
            Origin::Constant(value) => return Found::Value(Scalar::Text(value.as_str().into())),
            Origin::Name(pattern) => {
                let name = std::str::from_utf8(span.name).ok().and_then(|name| pattern.find(name));
                return name.filter(|name| !name.is_empty()).map(|name| Scalar::Text(name.into())).into();
            }
            Origin::LinkTrace => {
                let id = span.link_trace_id().ok().flatten().filter(|id| id.len() == 16);
                return id.map(|id| Scalar::Text(hex::encode(id).into())).into();
            }
            _ => {}
        }
        let value = self.values[usize::from(rule.slot)];
        match &alias.json {
            Some(path) => literal::find(value, path, quality),
            None if alias.join => Scalar::joined(value, quality).into(),
            None => Scalar::of(value, quality).into(),
        }
    }

    /// The value as its column's type; none where it says nothing.
    fn shaped(
        &mut self,
        rule: &AliasRule,
        value: Scalar<'a>,
        span: &Span<'a>,
        quality: &mut Quality,
    ) -> Result<Option<Scalar<'a>>, BadNumber> {
        let target = &self.rules.targets[usize::from(rule.target)];
        Ok(match (target.shape, rule.alias.unit) {
            (Shape::Text, _) => {
                let text = value.text(quality);
                match target.fold.as_ref().and_then(|fold| fold.get(&text)) {
                    Some(Folded { value, at }) => {
                        if self.notes.are_taken() && value.as_deref() != Some(&*text) {
                            let to = || {
                                value
                                    .as_deref()
                                    .map_or("says nothing".to_owned(), |value| format!("is {value}"))
                            };
                            self.notes.effect(*at, || {
                                format!("{} {text:?} {}", self.rules.column_name(rule.target), to())
                            });
                        }
                        value.as_deref().map(|text| Scalar::Text(text.into()))
                    }
                    None => (!text.is_empty() && !rule.alias.folded).then_some(Scalar::Text(text)),
                }
            }
            (Shape::Count, _) => Some(Scalar::Int(value.count()? + self.more(rule, quality)?)),
            (Shape::SmallCount, _) => {
                let count = value.count()?;
                Some(Scalar::Int(i32::try_from(count).map_err(|_| BadNumber)?.into()))
            }
            (Shape::Millis, Some(unit)) => {
                let since = if unit == Unit::After { span.end } else { span.start };
                Some(Scalar::Float(value.millis(unit, i64::try_from(since).map_err(|_| BadNumber)?)?))
            }
            (Shape::Flag, _) => value.flag().map(Scalar::Flag),
            (Shape::Millis, None) | (Shape::Reserved, _) => None,
        })
    }

    /// The sum of the counts that the one of the alias leaves out.
    fn more(&self, rule: &AliasRule, quality: &mut Quality) -> Result<i64, BadNumber> {
        let others = rule.plus.iter().filter_map(|slot| Scalar::of(self.values[usize::from(*slot)], quality));
        others.map(|value| value.count()).sum()
    }

    pub(super) fn cell(&self, target: u16) -> Option<&Scalar<'a>> {
        self.cells[usize::from(target)].as_ref()
    }

    fn set(&mut self, target: u16, value: Option<Scalar<'a>>) {
        let cell = &mut self.cells[usize::from(target)];
        if cell.is_none() && value.is_some() {
            self.filled.push(target);
        }
        *cell = value;
    }

    fn text(&self, target: u16) -> Option<&str> {
        match self.cell(target) {
            Some(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn count(&self, target: u16) -> Option<i64> {
        match self.cell(target) {
            Some(Scalar::Int(count)) => Some(*count),
            _ => None,
        }
    }

    /// Splits the input, and takes back counts that can't be.
    fn correct_usage(&mut self, span: &Span<'_>, kind: Kind, quality: &mut Quality) {
        let known = &self.rules.known;
        let input = self.count(known.input_tokens);
        let output = self.count(known.output_tokens);
        if input.is_none() && output.is_none() {
            return;
        }
        if kind.is_served() && input.unwrap_or(0) == 0 && output.unwrap_or(0) == 0 {
            quality.flag(ZERO_USAGE);
            self.notes
                .effect(None, || "all counts are null: a call that used no token was not counted".to_owned());
            for target in [
                known.input_tokens,
                known.input_uncached,
                known.cache_read,
                known.cache_write,
                known.output_tokens,
                known.reasoning_tokens,
            ] {
                self.set(target, None);
            }
            return;
        }
        // All are judged by what was sent, so that no zero begets another, or a doubt.
        let rules = self.rules;
        let zeros: Vec<_> = rules.zeros.iter().filter(|rule| self.applies(rule, span, kind)).collect();
        let doubts: Vec<_> = rules.doubts.iter().filter(|rule| self.applies(rule, span, kind)).collect();
        for (rule, target) in
            zeros.into_iter().flat_map(|rule| rule.columns.iter().map(move |target| (rule, *target)))
        {
            if self.cell(target).is_none() && !self.spoilt.contains(&target) {
                self.set(target, Some(Scalar::Int(0)));
                self.notes
                    .effect(rule.at, || format!("{} is 0, since it is left out", rules.column_name(target)));
            }
        }
        let sent = Sent {
            input,
            uncached: self.count(known.input_uncached),
            cache_read: self.count(known.cache_read),
            cache_write: self.count(known.cache_write),
            output,
            reasoning: self.count(known.reasoning_tokens),
            reasoning_apart: self.rules.reasoning_apart.contains(&self.reasoning_slot),
            total: self.count(known.total_tokens),
        };
        let rule = self.basis();
        let basis = rule.map(|rule| (rule.basis, rule.label.as_str()));
        let (split, all_output) = (split(&sent, basis), all_output(&sent, basis));
        if let Some(basis) = &split.basis {
            let at = rule.filter(|rule| rule.label == **basis).map(|rule| rule.at);
            self.notes.effect(at, || format!("input is {basis}"));
        }
        if all_output != output {
            self.notes.effect(None, || "output_tokens is with reasoning, which was counted apart".to_owned());
        }
        if split.mismatch {
            quality.flag(DIALECT_MISMATCH);
        }
        self.set(known.input_tokens, split.input.map(Scalar::Int));
        self.set(known.input_uncached, split.uncached.map(Scalar::Int));
        self.set(known.input_basis, split.basis.map(Scalar::Text));
        self.set(known.output_tokens, all_output.map(Scalar::Int));
        // What the client is known to get wrong is marked, and taken back where it is too wrong to keep.
        for rule in doubts {
            if rule.columns.iter().any(|target| self.cell(*target).is_some()) {
                quality.flag(rule.code);
                for target in rule.columns.iter().filter(|_| rule.void) {
                    self.set(*target, None);
                }
                self.notes.effect(rule.at, || {
                    let names: Vec<_> =
                        rule.columns.iter().map(|target| rules.column_name(*target)).collect();
                    let what = if rule.void { "null, since the client gets it wrong" } else { "doubtful" };
                    format!("{} is {what}", names.join(", "))
                });
            }
        }
    }

    /// Adds the codes of marks, which are judged by what was sent.
    fn mark(&mut self, span: &Span<'_>, kind: Kind, quality: &mut Quality) {
        for rule in &self.rules.marks {
            if self.applies(rule, span, kind) {
                quality.flag(rule.code);
                self.notes.effect(rule.at, || format!("marked {}", rule.code));
            }
        }
    }

    fn applies(&self, rule: &CorrectionRule, span: &Span<'_>, kind: Kind) -> bool {
        let holds = |(slot, values): &(u16, Option<Lookup<()>>)| match values {
            None => self.has(*slot),
            Some(values) => self.text_of(*slot).is_some_and(|text| values.get(&text).is_some()),
        };
        self.holds(rule.when)
            && rule.attribute.as_ref().is_none_or(holds)
            && rule.without.is_none_or(|slot| !self.has(slot))
            && (rule.kinds.is_empty() || rule.kinds.contains(&kind))
            && rule.filled.iter().all(|target| self.cell(*target).is_some())
            && rule.missing.iter().all(|target| self.cell(*target).is_none())
            && self.is_provider(&rule.providers)
            && self.is_model(&rule.models)
            && rule.streaming.is_none_or(|streaming| {
                self.cell(self.rules.known.streaming) == Some(&Scalar::Flag(streaming))
            })
            && (rule.names.is_empty() || is_named(span, &rule.names))
    }

    /// An attribute as text, whatever its type.
    fn text_of(&self, slot: u16) -> Option<Cow<'a, str>> {
        self.text_at(slot).or_else(|| {
            let mut unread = Quality::default();
            Some(Scalar::of(self.values[usize::from(slot)], &mut unread)?.text(&mut unread))
        })
    }

    /// What the tables know of the input count.
    fn basis(&self) -> Option<&'a InputRule> {
        self.rules.inputs.iter().find(|rule| {
            (rule.attributes.is_empty() || rule.attributes.contains(&self.input_slot))
                && self.is_provider(&rule.providers)
                && self.is_model(&rule.models)
                && self.holds(rule.when)
        })
    }

    fn is_provider(&self, providers: &[String]) -> bool {
        providers.is_empty()
            || self
                .text(self.rules.known.provider)
                .is_some_and(|said| providers.iter().any(|provider| provider == said))
    }

    fn is_model(&self, models: &[Pattern]) -> bool {
        models.is_empty()
            || self
                .text(self.rules.known.model)
                .is_some_and(|said| models.iter().any(|model| model.matches(said)))
    }

    /// Provider and region by host and model name, on spans that a provider serves. Of an endpoint that is
    /// sent as a URL the host stands.
    fn correct_place(&mut self, kind: Kind) {
        let known = &self.rules.known;
        if let Some((_, rest)) = self.text(known.endpoint).and_then(|text| text.split_once("://")) {
            let host = rest.split(['/', ':', '?']).next().unwrap_or(rest).to_owned();
            self.set(known.endpoint, Some(Scalar::Text(host.into())));
        }
        if !kind.is_served() {
            return;
        }
        let of = |target| match &self.cells[usize::from(target)] {
            Some(Scalar::Text(text)) => Some(&**text),
            _ => None,
        };
        let found = self.locator.locate(of(known.endpoint), of(known.model), of(known.provider));
        if let Some(provider) = found.provider {
            self.notes.effect(found.provider_at, || format!("provider is {provider}"));
            self.set(known.provider, Some(Scalar::Text(provider.into())));
        }
        if let Some(region) = found.region.filter(|_| self.cell(known.region).is_none()) {
            self.notes.effect(found.region_at, || format!("region is {region}"));
            self.set(known.region, Some(Scalar::Text(region.into())));
        }
    }

    /// Takes back a time to the first token that isn't one: some clients write the duration of a call
    /// that did not stream under its name (facts/dialects.md par. 1.7).
    fn correct_first_token(&mut self, span: &Span<'_>, quality: &mut Quality) {
        let known = &self.rules.known;
        let Some(&Scalar::Float(ttft)) = self.cell(known.ttft_ms) else { return };
        if self.cell(known.streaming) == Some(&Scalar::Flag(false)) {
            self.set(known.ttft_ms, None);
            return;
        }
        let Some(duration) = duration_ms(span) else { return };
        let whole =
            ttft >= 0.99 * duration && self.count(known.output_tokens).is_none_or(|output| output > 1);
        if ttft <= 0.0 || ttft > duration || whole {
            quality.flag(BAD_TTFT);
            self.notes.effect(None, || {
                format!("ttft_ms is null: {ttft} ms is no time to a first token of this span")
            });
            self.set(known.ttft_ms, None);
        }
    }
}

/// A span's duration; none where it has no end or one before its start.
#[expect(clippy::cast_precision_loss, reason = "a double has nanoseconds up to a hundred days exactly")]
pub(crate) fn duration_ms(span: &Span<'_>) -> Option<f64> {
    let end = (span.end != 0).then_some(span.end)?;
    Some(end.checked_sub(span.start)? as f64 / 1e6)
}
