//! What the values of single columns don't tell: provider and region, the split of the input, zeros for
//! what is left out, counts and times that can't be, marks.
//!
//! Invariant: rules are judged by what was sent, so that no correction begets another.

use std::borrow::Cow;

use super::amend::{CorrectionRule, InputRule};
use super::kind::is_named;
use super::reading::{Reading, duration_ms};
use super::scalar::Scalar;
use super::usage::{Sent, output as all_output, split};
use crate::dialect::{Kind, Lookup, Pattern};
use crate::quality::{BAD_TTFT, DIALECT_MISMATCH, Quality, ZERO_USAGE};
use crate::wire::Span;

impl<'a> Reading<'a> {
    /// Puts right what the values of single columns don't tell.
    pub(super) fn correct(&mut self, span: &Span<'a>, kind: Kind, quality: &mut Quality) {
        self.correct_place(kind);
        self.mark(span, kind, quality);
        self.correct_usage(span, kind, quality);
        self.correct_first_token(span, quality);
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
