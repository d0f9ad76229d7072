//! What a span is: the first test that it passes tells (facts/dialects.md par. 2).

use super::compile::Builder;
use super::reading::Reading;
use crate::DialectError;
use crate::dialect::{Kind, KindRule, Lookup, Pattern, Sourced, SpanKind};
use crate::wire::Span;

/// One test; all its parts must hold.
#[derive(Debug)]
pub(super) struct KindTest {
    pub(super) dialect: usize,
    kind: Option<Kind>,
    pub(super) slot: Option<u16>,
    values: Option<Lookup<Kind>>,
    filled: Vec<u16>,
    span_kinds: Vec<SpanKind>,
    names: Vec<Pattern>,
    when: u16,
    pub(super) at: u16,
}

impl KindTest {
    pub(super) fn new(sourced: &Sourced<KindRule>, builder: &mut Builder<'_>) -> Result<Self, DialectError> {
        let rule = &sourced.rule;
        if rule.kind.is_none() == rule.values.is_empty() {
            return Err(sourced.error("a kind rule has either `kind` or `values`".to_owned()));
        }
        if rule.attribute.is_none() && !rule.values.is_empty() {
            return Err(sourced.error("`values` are those of an `attribute`: name it".to_owned()));
        }
        let mut values = Lookup::default();
        for (kind, patterns) in &rule.values {
            for pattern in patterns {
                values.insert(pattern, *kind);
            }
        }
        Ok(Self {
            dialect: sourced.dialect,
            kind: rule.kind,
            slot: rule.attribute.as_deref().map(|key| builder.attribute(key)),
            values: (!rule.values.is_empty()).then_some(values),
            filled: builder.targets(&rule.filled, sourced)?,
            span_kinds: rule.span_kind.clone(),
            names: rule.name.clone(),
            when: builder.when(&rule.scope, rule.version.as_ref()),
            at: builder.at(sourced, "kind"),
        })
    }

    /// What the span is, if the test tells.
    pub(super) fn judge(&self, span: &Span<'_>, reading: &Reading<'_>) -> Option<Kind> {
        // The attribute first: most spans lack the one that most tests ask for.
        let kind = match (self.slot, &self.values) {
            (None, _) => self.kind,
            (Some(slot), None) => self.kind.filter(|_| reading.has(slot)),
            (Some(slot), Some(values)) => reading.text_at(slot).and_then(|text| values.get(&text).copied()),
        }?;
        let holds = reading.holds(self.when)
            && (self.span_kinds.is_empty() || self.span_kinds.iter().any(|kind| *kind as u64 == span.kind))
            && self.filled.iter().all(|target| reading.is_candidate(*target))
            && (self.names.is_empty() || is_named(span, &self.names));
        holds.then_some(kind)
    }
}

/// Whether the span's name matches one of the patterns.
pub(super) fn is_named(span: &Span<'_>, patterns: &[Pattern]) -> bool {
    std::str::from_utf8(span.name).is_ok_and(|name| patterns.iter().any(|pattern| pattern.matches(name)))
}
