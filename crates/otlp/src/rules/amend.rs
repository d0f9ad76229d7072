//! Rules that amend what was read, compiled: what the input holds, zeros, doubts and marks.

use super::compile::Builder;
use crate::DialectError;
use crate::dialect::{Basis, Correction, Dialects, Kind, Lookup, Pattern, Sourced};
use crate::quality::{self, MISREPORTED};

/// A rule on what the input count holds.
#[derive(Debug)]
pub(super) struct InputRule {
    pub(super) basis: Basis,
    /// Basis and rule, as the column `input_basis` has them.
    pub(super) label: String,
    pub(super) attributes: Vec<u16>,
    pub(super) providers: Vec<String>,
    pub(super) models: Vec<Pattern>,
    pub(super) when: u16,
    pub(super) at: u16,
}

/// Columns to correct, or a code to add.
#[derive(Debug)]
pub(super) struct CorrectionRule {
    pub(super) columns: Vec<u16>,
    pub(super) code: &'static str,
    pub(super) void: bool,
    /// An attribute that must be there, and what it must be.
    pub(super) attribute: Option<(u16, Option<Lookup<()>>)>,
    pub(super) without: Option<u16>,
    pub(super) filled: Vec<u16>,
    pub(super) missing: Vec<u16>,
    pub(super) kinds: Vec<Kind>,
    pub(super) providers: Vec<String>,
    pub(super) models: Vec<Pattern>,
    pub(super) streaming: Option<bool>,
    pub(super) names: Vec<Pattern>,
    pub(super) when: u16,
    pub(super) at: u16,
}

impl Builder<'_> {
    pub(super) fn add_usage_rules(&mut self, dialects: &Dialects) -> Result<(), DialectError> {
        for input in &dialects.inputs {
            let rule = &input.rule;
            let at = self.at(input, "input");
            let basis = match rule.basis {
                Basis::Inclusive => "inclusive",
                Basis::Exclusive => "exclusive",
            };
            let input = InputRule {
                basis: rule.basis,
                label: format!("{basis}: {}", rule.rule),
                attributes: rule.attribute.iter().map(|key| self.attribute(key)).collect(),
                providers: rule.provider.clone(),
                models: rule.model.clone(),
                when: self.when(&rule.scope, rule.version.as_ref()),
                at,
            };
            self.rules.inputs.push(input);
        }
        self.rules.zeros = self.corrections("zero", &dialects.zeros, "")?;
        self.rules.doubts = self.corrections("doubt", &dialects.doubts, MISREPORTED)?;
        self.rules.marks = self.corrections("mark", &dialects.marks, "")?;
        for (rules, sourced) in [(&self.rules.zeros, &dialects.zeros), (&self.rules.doubts, &dialects.doubts)]
        {
            if let Some((_, sourced)) = rules.iter().zip(sourced).find(|(rule, _)| rule.columns.is_empty()) {
                return Err(sourced.error("it corrects nothing: name its `columns`".to_owned()));
            }
        }
        match self.rules.marks.iter().zip(&dialects.marks).find(|(rule, _)| rule.code.is_empty()) {
            Some((_, sourced)) => Err(sourced.error("a mark gives a code: name it by `code`".to_owned())),
            None => Ok(()),
        }
    }

    /// Rules that add `code` where they name none themselves.
    fn corrections(
        &mut self,
        table: &'static str,
        corrections: &[Sourced<Correction>],
        code: &'static str,
    ) -> Result<Vec<CorrectionRule>, DialectError> {
        let mut rules = Vec::new();
        for correction in corrections {
            let rule = &correction.rule;
            if rule.attribute.is_none() && !rule.values.is_empty() {
                return Err(correction.error("`values` are those of an `attribute`: name it".to_owned()));
            }
            let mut values = Lookup::default();
            for value in &rule.values {
                values.insert(value, ());
            }
            let values = (!rule.values.is_empty()).then_some(values);
            let named = rule.code.as_deref().map(quality::mark).transpose();
            rules.push(CorrectionRule {
                columns: self.targets(&rule.columns, correction)?,
                code: named.map_err(|reason| correction.error(reason))?.unwrap_or(code),
                void: rule.void,
                attribute: rule.attribute.as_deref().map(|key| (self.attribute(key), values)),
                without: rule.without.as_deref().map(|key| self.attribute(key)),
                filled: self.targets(&rule.filled, correction)?,
                missing: self.targets(&rule.missing, correction)?,
                kinds: rule.kind.clone(),
                providers: rule.provider.clone(),
                models: rule.model.clone(),
                streaming: rule.streaming,
                names: rule.name.clone(),
                when: self.when(&rule.scope, rule.version.as_ref()),
                at: self.at(correction, table),
            });
        }
        Ok(rules)
    }
}
