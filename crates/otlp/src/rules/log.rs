//! What a log record tells of: the first test that it passes tells; a record that passes none tells of
//! no call (facts/dialects.md par. 7.1, 7.2).
//!
//! A record is read as the span of the call that it tells of, by the rules that spans are read by. Here
//! is only what records alone have: names in three places, conditions on attributes, a time that is the
//! call's end.

use super::compile::{Builder, NO_SLOT};
use super::kind::KindTest;
use super::notes::Note;
use super::reading::Reading;
use super::scalar::Scalar;
use crate::DialectError;
use crate::dialect::{CallStatus, Kind, KindRule, Pattern, Sourced};
use crate::quality::Quality;
use crate::wire::{Malformed, Span};

/// What a record may be called: attribute, field and body each have a name, and only some of them are
/// that of the event.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Names<'a>(pub(crate) [&'a str; 3]);

impl<'a> Names<'a> {
    /// The name that the first of the patterns with one matches.
    pub(super) fn matching(&self, patterns: &[Pattern]) -> Option<&'a str> {
        patterns
            .iter()
            .find_map(|pattern| self.0.into_iter().find(|name| !name.is_empty() && pattern.matches(name)))
    }
}

/// One test; all its parts must hold.
#[derive(Debug)]
pub(super) struct LogTest {
    test: KindTest,
    log: Vec<Pattern>,
    conditions: Vec<(u16, Vec<Pattern>)>,
    status: Option<CallStatus>,
    own_span: bool,
}

/// What a record tells of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) kind: Kind,
    pub(crate) dialect: &'a str,
    /// The event's name, of its names the one that the rule goes by.
    pub(crate) name: &'a str,
    /// OTLP's number of how the call went; 0 where the event's name doesn't say.
    pub(crate) status: u64,
    /// Whether the span id of the record is that of the call.
    pub(crate) own_span: bool,
    /// Where the rule stands that tells, and the slot that it asks.
    at: u16,
    slot: u16,
}

impl LogTest {
    pub(super) fn new(sourced: &Sourced<KindRule>, builder: &mut Builder<'_>) -> Result<Self, DialectError> {
        let rule = &sourced.rule;
        if !(rule.span_kind.is_empty() && rule.name.is_empty()) {
            return Err(
                sourced.error("a log record has neither `span_kind` nor `name`: use `log`".to_owned())
            );
        }
        let conditions = rule.conditions.iter();
        Ok(Self {
            test: KindTest::new(sourced, builder)?,
            log: rule.log.clone(),
            conditions: conditions.map(|(key, values)| (builder.attribute(key), values.clone())).collect(),
            status: rule.status,
            own_span: rule.own_span,
        })
    }

    /// What a record with these names tells of, if the test tells.
    fn judge<'a>(&self, names: &Names<'a>, span: &Span<'_>, reading: &Reading<'a>) -> Option<Told<'a>> {
        let name = names.matching(&self.log)?;
        let is = |slot: u16, values: &[Pattern]| {
            let shown = reading.shown(slot);
            values.iter().any(|value| value.matches(&shown))
        };
        self.conditions.iter().all(|(slot, values)| is(*slot, values)).then_some(())?;
        Some(Told {
            kind: self.test.judge(span, reading)?,
            dialect: &reading.rules.dialect_names[self.test.dialect],
            name,
            status: self.status.map_or(0, |status| status as u64),
            own_span: self.own_span,
            at: self.test.at,
            slot: self.test.slot.unwrap_or(NO_SLOT),
        })
    }
}

impl<'a> Reading<'a> {
    /// Reads a log record as the span of the call that it tells of; none where it tells of none. Its
    /// time stands as `span.end`; the start is that less the duration, where the record has one.
    pub(crate) fn read_record(
        &mut self,
        span: &mut Span<'a>,
        names: Names<'a>,
        quality: &mut Quality,
    ) -> Result<Option<Told<'a>>, Malformed> {
        self.gather(span, names)?;
        let Some(told) = self.told(&names, span) else { return Ok(None) };
        self.notes.add(|| Note::Kind { at: told.at, slot: told.slot });
        span.name = told.name.as_bytes();
        span.status = told.status;
        span.start = span.end;
        self.resolve(span, told.kind, quality);
        let elapsed = match self.cell(self.rules.known.elapsed) {
            Some(Scalar::Float(millis)) => nanos(*millis),
            _ => None,
        };
        match elapsed.and_then(|elapsed| span.end.checked_sub(elapsed)) {
            Some(start) => span.start = start,
            None => span.end = 0,
        }
        self.correct(span, told.kind, quality);
        Ok(Some(told))
    }

    /// What a record tells of; none where it tells of no call.
    fn told(&self, names: &Names<'a>, span: &Span<'_>) -> Option<Told<'a>> {
        let told = self.rules.logs.iter().find_map(|test| test.judge(names, span, self));
        told.filter(|told| told.kind != Kind::Other)
    }
}

/// A duration in whole nanoseconds; none beyond what a start can lie before an end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "durations are between zero and thirty years"
)]
fn nanos(millis: f64) -> Option<u64> {
    (0.0..1e12).contains(&millis).then(|| (millis * 1e6).round() as u64)
}
