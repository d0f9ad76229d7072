//! What is wrong with a text that a person wrote, and where.
//!
//! Invariant: it prints as one line, `file:line: field: message`, without the parts that are unknown.

use std::fmt;
use std::ops::Range;

/// A mistake in a TOML text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// Name of the text, as its reader was told it.
    pub file: String,
    /// Line, from 1, where the mistake has one.
    pub line: Option<usize>,
    /// Dotted path of the field, where the mistake is in one.
    pub field: Option<String>,
    /// What is wrong and what to do, as a lower-case fragment.
    pub message: String,
}

impl Fault {
    /// A mistake in the text as a whole.
    pub fn new(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, field: None, message: message.into() }
    }

    /// The same mistake, placed at the start of `span` (bytes) in `text`.
    #[must_use]
    pub fn at(mut self, text: &str, span: &Range<usize>) -> Self {
        let before = text.as_bytes().iter().take(span.start);
        self.line = Some(1 + before.filter(|byte| **byte == b'\n').count());
        self
    }

    /// The same mistake, in the field of that dotted path.
    #[must_use]
    pub fn field(mut self, path: impl Into<String>) -> Self {
        self.field = Some(path.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        if let Some(field) = &self.field {
            write!(out, ": {field}")?;
        }
        write!(out, ": {}", self.message)
    }
}
