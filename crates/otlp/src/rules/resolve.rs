//! From what stands in the slots to the values of columns: the places are tried in their order, and the
//! first with a value fills its column.
//!
//! Invariant: what is said in a way that can't be read is null and noted, never a zero.

use super::compile::{AliasRule, Folded, NO_SLOT, Shape};
use super::kind::is_named;
use super::literal::{self, Found, Glance};
use super::notes::Note;
use super::reading::Reading;
use super::scalar::{BadNumber, Scalar};
use crate::dialect::{Kind, Origin, Unit};
use crate::explain::Outcome;
use crate::quality::{BAD_NUMBER, JSON_CUT, Quality};
use crate::wire::{Span, Value};

impl<'a> Reading<'a> {
    /// Whether an alias is for spans and all log records, or for this one.
    pub(super) fn is_for_record(&self, rule: &AliasRule) -> bool {
        rule.log.is_empty() || self.names.matching(&rule.log).is_some()
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

    /// What a look over the text in a slot tells; none where the value is no text.
    fn glance(&mut self, slot: u16) -> Option<Glance> {
        if let Some((_, glance)) = self.glances.iter().find(|(known, _)| *known == slot) {
            return Some(*glance);
        }
        let Value::Text(text) = self.values[usize::from(slot)] else { return None };
        let glance = Glance::over(text);
        self.glances.push((slot, glance));
        Some(glance)
    }

    fn raw(&mut self, rule: &'a AliasRule, span: &Span<'a>, quality: &mut Quality) -> Found<'a> {
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
            Some(path) if self.glance(rule.slot).is_some_and(|glance| glance.lacks(path)) => Found::Nothing,
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
            // No cap is how Langfuse's Python SDK writes one that nobody set.
            (Shape::Count, _) if value.is_unlimited() => None,
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
}
