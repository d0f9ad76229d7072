//! The shape of a dialect file: the TOML tables and what may stand in them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use toml::Spanned;

use super::{Pattern, VersionRange};

/// Where a rule stands that says nothing: between those that go first and those that fall back.
const RANK: u16 = 50;

fn rank() -> u16 {
    RANK
}

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Name of the dialect, for the column `dialect`.
    pub(super) dialect: String,
    /// What it is and who speaks it, for readers.
    #[serde(default, rename = "about")]
    _about: String,
    /// Instrumentation scopes that speak it, whatever else is on their spans.
    #[serde(default)]
    pub(super) scopes: Vec<Pattern>,
    /// Event names of log records that speak it: the fields here are for these alone.
    #[serde(default)]
    pub(super) logs: Vec<Pattern>,
    /// Attributes that hold content or secrets, and are never stored.
    #[serde(default)]
    pub(super) content: Vec<Spanned<Pattern>>,
    /// Resource attributes that don't join the attributes of spans.
    #[serde(default)]
    pub(super) resource_noise: Vec<Spanned<Pattern>>,
    /// Attributes of reasoning tokens that the client leaves out of its output count.
    #[serde(default)]
    pub(super) reasoning_apart: Vec<Spanned<String>>,
    #[serde(default, rename = "field")]
    pub(super) fields: Vec<Spanned<Field>>,
    #[serde(default, rename = "kind")]
    pub(super) kinds: Vec<Spanned<KindRule>>,
    #[serde(default, rename = "fold")]
    pub(super) folds: Vec<Spanned<Fold>>,
    #[serde(default, rename = "place")]
    pub(super) places: Vec<Spanned<Place>>,
    #[serde(default, rename = "input")]
    pub(super) inputs: Vec<Spanned<Input>>,
    /// Token columns that are zero where a client leaves them out of a count that it did send.
    #[serde(default, rename = "zero")]
    pub(super) zeros: Vec<Spanned<Correction>>,
    /// Columns that a client is known to get wrong: marked, and with `void` null.
    #[serde(default, rename = "doubt")]
    pub(super) doubts: Vec<Spanned<Correction>>,
    /// What a span is known by besides its columns: a code in `quality` that assembly reads.
    #[serde(default, rename = "mark")]
    pub(super) marks: Vec<Spanned<Correction>>,
}

/// A column and where this dialect says it, the first place that has a value first.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Field {
    pub(crate) column: String,
    /// Lower goes first where several dialects fill the column.
    #[serde(default = "rank")]
    pub(crate) rank: u16,
    #[serde(default)]
    pub(crate) from: Vec<Alias>,
    /// The value that the column has where no place in `from` has one.
    pub(crate) value: Option<String>,
    /// Attributes of more counts, which the one read from `from` leaves out.
    #[serde(default)]
    pub(crate) plus: Vec<String>,
    /// Only for log records of these event names; without them for those of the file's `logs`.
    #[serde(default)]
    pub(crate) log: Vec<Pattern>,
}

/// One place that a column may be read from.
#[derive(Debug, Clone)]
pub(crate) struct Alias {
    pub(crate) origin: Origin,
    /// Unit of a time; null where the column isn't one.
    pub(crate) unit: Option<Unit>,
    /// Path into a value that is JSON or Python text, or a map; empty for text that is one scalar.
    pub(crate) json: Option<Vec<String>>,
    /// Only for these scopes.
    pub(crate) scope: Vec<Pattern>,
    /// Only for these versions of the scope.
    pub(crate) version: Option<VersionRange>,
    /// Only for spans of these kinds; empty for all.
    pub(crate) kinds: Vec<Kind>,
    /// Only for spans of this name.
    pub(crate) name: Option<Pattern>,
    /// Only for spans without a parent.
    pub(crate) root: bool,
    /// Whether the attribute also stays among `attributes`.
    pub(crate) keep: bool,
    /// Only values that a fold of the column names.
    pub(crate) folded: bool,
    /// All elements of a list, with commas, where else the first is taken.
    pub(crate) join: bool,
}

/// Where a value stands.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// On the span.
    Attribute(String),
    /// On the resource.
    Resource(String),
    /// On the first span event of a name.
    Event { event: String, attribute: String },
    /// The time of the first span event of a name, since the span's start.
    EventTime(String),
    /// What the pattern's hole holds in the span's name.
    Name(Pattern),
    /// The trace of the span's first link.
    LinkTrace,
    /// Nowhere: the dialect itself says it.
    Constant(String),
}

/// Unit of a time as a dialect sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
    /// A date and time (RFC 3339), of which the span's start is taken.
    Iso,
    /// `retry-after` of HTTP: seconds, or a date (RFC 9110), of which the span's end is taken.
    After,
}

/// What a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Request,
    ModelCall,
    Embedding,
    Rerank,
    ToolCall,
    Retrieval,
    Agent,
    Workflow,
    Step,
    Other,
}

impl Kind {
    /// The kind's name in the column `kind`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::ModelCall => "model_call",
            Self::Embedding => "embedding",
            Self::Rerank => "rerank",
            Self::ToolCall => "tool_call",
            Self::Retrieval => "retrieval",
            Self::Agent => "agent",
            Self::Workflow => "workflow",
            Self::Step => "step",
            Self::Other => "other",
        }
    }

    /// Whether a model provider serves such a span.
    pub(crate) fn is_served(self) -> bool {
        matches!(self, Self::ModelCall | Self::Embedding | Self::Rerank)
    }
}

/// OpenTelemetry's span kinds, in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SpanKind {
    Unspecified,
    Internal,
    Server,
    Client,
    Producer,
    Consumer,
}

/// A test that tells what a span is; all that it names must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KindRule {
    #[serde(default = "rank")]
    pub(crate) rank: u16,
    /// What the span then is, where `values` doesn't say.
    pub(crate) kind: Option<Kind>,
    /// An attribute that must be there; with `values`, one of whose values must match.
    pub(crate) attribute: Option<String>,
    #[serde(default)]
    pub(crate) values: BTreeMap<Kind, Vec<Pattern>>,
    /// Columns that must have a value.
    #[serde(default)]
    pub(crate) filled: Vec<String>,
    #[serde(default)]
    pub(crate) span_kind: Vec<SpanKind>,
    /// Span names, one of which must match.
    #[serde(default)]
    pub(crate) name: Vec<Pattern>,
    #[serde(default)]
    pub(crate) scope: Vec<Pattern>,
    pub(crate) version: Option<VersionRange>,
    /// Only for log records of these event names; without them the rule is for spans alone.
    #[serde(default)]
    pub(crate) log: Vec<Pattern>,
    /// Attributes of the record, and what each must be; one that is missing is the empty text.
    #[serde(default, rename = "where")]
    pub(crate) conditions: BTreeMap<String, Vec<Pattern>>,
    /// How the call went, where the event itself says so.
    pub(crate) status: Option<CallStatus>,
    /// Whether the span id of the record is that of the call and of nothing else.
    #[serde(default)]
    pub(crate) own_span: bool,
}

/// How a call went that a log record tells of; numbered as OTLP has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CallStatus {
    Ok = 1,
    Error = 2,
}

/// One name for the many names of a column's values, and values that say nothing; letter case doesn't
/// count.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fold {
    pub(crate) column: String,
    #[serde(default)]
    pub(crate) values: BTreeMap<String, Vec<Pattern>>,
    /// Values that are as good as none.
    #[serde(default)]
    pub(crate) drop: Vec<Pattern>,
}

/// What a host or a model's name tells of the provider and the region.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) host: Option<Pattern>,
    pub(crate) model: Option<Pattern>,
    pub(crate) provider: Option<String>,
    /// Providers that this one goes before, since clients say them by mistake.
    #[serde(default)]
    pub(crate) over: Vec<String>,
}

/// Whether a client counts cached tokens as part of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Basis {
    Inclusive,
    Exclusive,
}

/// A rule on what the input count holds; all that it names must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    pub(crate) basis: Basis,
    /// The rule's name, for the column `input_basis`.
    pub(crate) rule: String,
    /// The attribute that the input count came from.
    #[serde(default)]
    pub(crate) attribute: Vec<String>,
    #[serde(default)]
    pub(crate) provider: Vec<String>,
    #[serde(default)]
    pub(crate) model: Vec<Pattern>,
    #[serde(default)]
    pub(crate) scope: Vec<Pattern>,
    pub(crate) version: Option<VersionRange>,
}

/// Columns to correct, or a code to add, on spans for which all that it names holds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Correction {
    /// What to correct; none for a mark.
    #[serde(default)]
    pub(crate) columns: Vec<String>,
    /// Of a mark: what it adds to `quality`.
    pub(crate) code: Option<String>,
    /// Of a doubt: whether the value is too wrong to keep.
    #[serde(default)]
    pub(crate) void: bool,
    /// An attribute that must be there; with `values`, as one of them.
    pub(crate) attribute: Option<String>,
    #[serde(default)]
    pub(crate) values: Vec<Pattern>,
    /// An attribute that must not be there.
    pub(crate) without: Option<String>,
    /// Columns that must have been sent.
    #[serde(default)]
    pub(crate) filled: Vec<String>,
    /// Columns that must not have been sent.
    #[serde(default)]
    pub(crate) missing: Vec<String>,
    #[serde(default)]
    pub(crate) kind: Vec<Kind>,
    #[serde(default)]
    pub(crate) provider: Vec<String>,
    /// Models, one of which must match.
    #[serde(default)]
    pub(crate) model: Vec<Pattern>,
    /// Whether the call streamed.
    pub(crate) streaming: Option<bool>,
    /// Span names, one of which must match.
    #[serde(default)]
    pub(crate) name: Vec<Pattern>,
    #[serde(default)]
    pub(crate) scope: Vec<Pattern>,
    pub(crate) version: Option<VersionRange>,
}

/// The first link of a span: what an alias may read of it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LinkPart {
    TraceId,
}

/// The table that an alias is written as, where it isn't the bare name of an attribute.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AliasTable {
    attribute: Option<String>,
    resource: Option<String>,
    event: Option<String>,
    link: Option<LinkPart>,
    name: Option<Pattern>,
    #[serde(default)]
    root: bool,
    unit: Option<Unit>,
    json: Option<String>,
    #[serde(default)]
    scope: Vec<Pattern>,
    version: Option<VersionRange>,
    #[serde(default)]
    kind: Vec<Kind>,
    #[serde(default)]
    keep: bool,
    #[serde(default)]
    folded: bool,
    #[serde(default)]
    join: bool,
}

const ORIGINS: &str =
    "an alias is one of `attribute`, `resource`, `event`, `event` with `attribute`, `link`, or `name` alone";

impl TryFrom<AliasTable> for Alias {
    type Error = &'static str;

    fn try_from(table: AliasTable) -> Result<Self, Self::Error> {
        let mut name = table.name;
        let origin = match (table.attribute, table.resource, table.event, table.link) {
            (Some(key), None, None, None) => Origin::Attribute(key),
            (None, Some(key), None, None) => Origin::Resource(key),
            (Some(attribute), None, Some(event), None) => Origin::Event { event, attribute },
            (None, None, Some(event), None) => Origin::EventTime(event),
            (None, None, None, Some(LinkPart::TraceId)) => Origin::LinkTrace,
            (None, None, None, None) => Origin::Name(name.take().ok_or(ORIGINS)?),
            _ => return Err(ORIGINS),
        };
        let json =
            table.json.map(|path| path.split('/').filter(|key| !key.is_empty()).map(str::to_owned).collect());
        Ok(Self {
            origin,
            unit: table.unit,
            json,
            scope: table.scope,
            version: table.version,
            kinds: table.kind,
            name,
            root: table.root,
            keep: table.keep,
            folded: table.folded,
            join: table.join,
        })
    }
}

impl Alias {
    /// The alias of one place, without conditions.
    pub(crate) fn at(origin: Origin) -> Self {
        Self {
            origin,
            unit: None,
            json: None,
            scope: Vec::new(),
            version: None,
            kinds: Vec::new(),
            name: None,
            root: false,
            keep: false,
            folded: false,
            join: false,
        }
    }
}

impl<'de> Deserialize<'de> for Alias {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AliasVisitor;

        impl<'de> Visitor<'de> for AliasVisitor {
            type Value = Alias;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an attribute's name or a table with one")
            }

            fn visit_str<E: Error>(self, key: &str) -> Result<Alias, E> {
                Ok(Alias::at(Origin::Attribute(key.to_owned())))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Alias, A::Error> {
                let table = AliasTable::deserialize(MapAccessDeserializer::new(map))?;
                Alias::try_from(table).map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_any(AliasVisitor)
    }
}
