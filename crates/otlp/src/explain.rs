//! Why a row is what it is: the rules that spoke, the places that won or lost, and what nothing reads.
//!
//! Filled while a span is decoded, by the code that decodes it; see [`crate::Decoder::explain`]. Leaves
//! rendering to others. Invariant: no content is in it, only names of attributes that hold content.

use serde::Serialize;

use crate::Decoded;

/// One body as columns, and the reasons for each row.
#[derive(Debug, Clone)]
pub struct Explained {
    /// What [`crate::Decoder::decode`] gives for the same body.
    pub decoded: Decoded,
    /// One for each row of `decoded.spans`, in their order.
    pub reasons: Vec<Reasons>,
}

/// Why one row is what it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Reasons {
    /// What told what the span is, and the rule that read it; none where none did.
    pub kind: Option<Effect>,
    /// The places that columns might be read from, in the order in which they were tried.
    pub places: Vec<Place>,
    /// What rules did besides reading, in the order in which they did.
    pub effects: Vec<Effect>,
    /// Attributes and events that gave nothing to any column, in the order in which they were sent.
    pub ignored: Vec<Ignored>,
}

/// Where a rule stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The table in the dialect file: `field`, `kind`, `fold`, `place`, `input`, `zero`, `doubt`, `mark`.
    pub table: &'static str,
    /// The dialect.
    pub dialect: String,
    /// The file, as it was handed in.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
}

/// A place that a column might be read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The column.
    pub column: String,
    /// An attribute, `resource X`, `event X`, `link` or `name`; with the path into it, where there is one.
    pub origin: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What it gave, where it won; later rules may have changed that.
    pub value: Option<String>,
    /// The rule that names the place.
    pub rule: Rule,
}

/// What became of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It gave the column its value.
    Won,
    /// Another place came first.
    Late,
    /// It is for spans of another kind, scope, version, name or place in the trace.
    NotMeant,
    /// It says nothing: it is empty, has nothing at the path, or a fold drops it.
    Empty,
    /// The text is cut short before the value.
    Cut,
    /// It is no number, or out of all reason.
    BadNumber,
}

/// What a rule did besides reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// What it did, in a few words.
    pub says: String,
    /// The rule; none for what the decoder does by itself.
    pub rule: Option<Rule>,
}

/// An attribute or event that gave nothing to any column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Its name; `event X` for an event.
    pub name: String,
    /// What became of it.
    pub fate: Fate,
    /// Whether its name speaks of tokens or usage, so that one may wonder.
    pub like_usage: bool,
}

/// What became of an attribute that gave nothing to any column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It stands in the column `attributes`.
    Kept,
    /// It holds content or a secret, and is stored nowhere.
    Content,
    /// It is an event, and no dialect reads it.
    Unread,
}
