//! Reads dialect files and merges them.
//!
//! Where two files say how one dialect names one column, the later file's word replaces the earlier's;
//! of rules of equal rank the later file's goes first; lists add up. So a user's file, handed in last,
//! amends what it names and leaves the rest.

use toml::Spanned;

use super::Pattern;
use super::file::{Correction, Field, File, Fold, Input, KindRule, Place};
use crate::DialectError;
use crate::explain::Rule;

/// The dialect tables, merged.
#[derive(Debug, Clone, Default)]
pub struct Dialects {
    /// Names of the dialects, in the order in which they were first met.
    pub(crate) names: Vec<String>,
    pub(crate) scopes: Vec<(Pattern, usize)>,
    pub(crate) content: Vec<Sourced<Pattern>>,
    pub(crate) resource_noise: Vec<Sourced<Pattern>>,
    pub(crate) reasoning_apart: Vec<Sourced<String>>,
    pub(crate) fields: Vec<Sourced<Field>>,
    pub(crate) kinds: Vec<Sourced<KindRule>>,
    pub(crate) folds: Vec<Sourced<Fold>>,
    pub(crate) places: Vec<Sourced<Place>>,
    pub(crate) inputs: Vec<Sourced<Input>>,
    pub(crate) zeros: Vec<Sourced<Correction>>,
    pub(crate) doubts: Vec<Sourced<Correction>>,
    pub(crate) marks: Vec<Sourced<Correction>>,
}

/// A rule, the dialect that it belongs to, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Sourced<T> {
    pub(crate) rule: T,
    /// Index into [`Dialects::names`].
    pub(crate) dialect: usize,
    file: String,
    line: usize,
}

impl<T> Sourced<T> {
    /// Where the rule stands, in a table of that name.
    pub(crate) fn at(&self, table: &'static str, dialects: &[String]) -> Rule {
        let dialect = dialects.get(self.dialect).cloned().unwrap_or_default();
        Rule { table, dialect, file: self.file.clone(), line: self.line }
    }

    /// An error at this rule.
    pub(crate) fn error(&self, reason: String) -> DialectError {
        DialectError { file: self.file.clone(), line: self.line, reason }
    }
}

impl Dialects {
    /// Reads dialect files, each a name (for error messages) and its text; later files, such as a
    /// user's, merge over earlier ones.
    ///
    /// # Errors
    /// The first fault found, with its file and line.
    pub fn load(files: impl IntoIterator<Item = (String, String)>) -> Result<Self, DialectError> {
        let mut dialects = Self::default();
        for (name, text) in files {
            dialects.add(&name, &text)?;
        }
        dialects.fields.sort_by_key(|field| field.rule.rank);
        dialects.kinds.sort_by_key(|kind| kind.rule.rank);
        Ok(dialects)
    }

    fn add(&mut self, name: &str, text: &str) -> Result<(), DialectError> {
        let line = |offset: usize| 1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        let file: File = toml::from_str(text).map_err(|error| DialectError {
            file: name.to_owned(),
            line: line(error.span().map_or(0, |span| span.start)),
            reason: error.message().to_owned(),
        })?;
        let dialect = self.names.iter().position(|known| *known == file.dialect).unwrap_or_else(|| {
            self.names.push(file.dialect);
            self.names.len() - 1
        });
        let place = Placing { file: name, line: &line, dialect };
        self.scopes.splice(0..0, file.scopes.into_iter().map(|scope| (scope, dialect)));
        self.content.extend(place.all(file.content));
        self.resource_noise.extend(place.all(file.resource_noise));
        self.reasoning_apart.extend(place.all(file.reasoning_apart));
        let mut fields: Vec<_> = place.all(file.fields).collect();
        for field in fields.iter_mut().filter(|field| field.rule.log.is_empty()) {
            field.rule.log.clone_from(&file.logs);
        }
        self.fields.retain(|old| {
            !fields.iter().any(|new| (new.dialect, &new.rule.column) == (old.dialect, &old.rule.column))
        });
        // What comes later goes first.
        self.fields.splice(0..0, fields);
        self.kinds.splice(0..0, place.all(file.kinds));
        self.places.splice(0..0, place.all(file.places));
        self.inputs.splice(0..0, place.all(file.inputs));
        self.zeros.splice(0..0, place.all(file.zeros));
        self.doubts.splice(0..0, place.all(file.doubts));
        self.marks.splice(0..0, place.all(file.marks));
        self.folds.extend(place.all(file.folds));
        Ok(())
    }
}

/// Where the rules of one file stand.
struct Placing<'f> {
    file: &'f str,
    line: &'f dyn Fn(usize) -> usize,
    dialect: usize,
}

impl Placing<'_> {
    fn all<T>(&self, rules: Vec<Spanned<T>>) -> impl Iterator<Item = Sourced<T>> {
        rules.into_iter().map(|rule| Sourced {
            dialect: self.dialect,
            file: self.file.to_owned(),
            line: (self.line)(rule.span().start),
            rule: rule.into_inner(),
        })
    }
}
