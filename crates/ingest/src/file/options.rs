//! What is asked of a file ingest, and what it answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use plimsoll_rows::{Field, TimeUnit};

/// Where the bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileInput {
    /// A file; gzip and Zstandard are recognised by how they start.
    Path(PathBuf),
    /// Standard input; it is kept in a temporary file first, since it is read twice.
    Stdin,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileFormat {
    /// By how it starts.
    #[default]
    Auto,
    /// One OTLP request of traces or logs in protobuf, or several after one another.
    OtlpProto,
    /// OTLP requests in protobuf, each after its length in four bytes, as the collector's file exporter
    /// writes them.
    OtlpProtoDelimited,
    /// One OTLP request of traces or logs in JSON.
    OtlpJson,
    /// JSON lines: OTLP requests or dead letters, or rows of a request trace.
    Jsonl,
    /// A request trace with a header line; commas, semicolons or tabs.
    Csv,
}

impl FileFormat {
    /// The formats by the names that users write.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("auto", Self::Auto),
        ("otlp-proto", Self::OtlpProto),
        ("otlp-proto-delimited", Self::OtlpProtoDelimited),
        ("otlp-json", Self::OtlpJson),
        ("jsonl", Self::Jsonl),
        ("csv", Self::Csv),
    ];
}

impl FromStr for FileFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::NAMES.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| format).ok_or_else(|| {
            let known: Vec<_> = Self::NAMES.iter().map(|(known, _)| *known).collect();
            format!("no format is called `{name}`: use {}", known.join(", "))
        })
    }
}

/// How a file is to be read.
#[derive(Debug, Clone, Default)]
pub struct FileOptions {
    /// How it is written.
    pub format: FileFormat,
    /// Columns by name, for those that aren't recognised; a dot goes into JSON objects.
    pub columns: BTreeMap<Field, String>,
    /// Values for fields that have no column, the same in every row.
    pub constants: BTreeMap<Field, String>,
    /// Where numeric timestamps count from; without it they count from 1970.
    pub start: Option<jiff::Timestamp>,
    /// What numeric timestamps count; without it their size tells (milliseconds after `start`).
    pub time_unit: Option<TimeUnit>,
    /// What the rows say of where they came from; without it the file's name.
    pub source: Option<String>,
}

/// What a file gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileReport {
    /// SHA-256 of the content, in hex.
    pub sha256: String,
    /// Spans stored.
    pub spans: u64,
    /// Spans stored in `quarantine`.
    pub quarantined: u64,
    /// Spans stored nowhere.
    pub rejected: u64,
    /// Log records that tell of no call, and are stored nowhere.
    pub passed_over: u64,
    /// Lines, records or messages that could not be read.
    pub lines_bad: u64,
    /// The first of them.
    pub bad: Vec<BadItem>,
    /// Whether the lake held all of it already, so that nothing was changed.
    pub already_ingested: bool,
    /// Columns that were used, by field.
    pub columns: BTreeMap<Field, String>,
    /// Columns that were not.
    pub ignored_columns: Vec<String>,
}

/// An item that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadItem {
    /// Number of the line, record or message, from 1, the header not counted.
    pub item: u64,
    /// Why not.
    pub reason: String,
}

/// How far an ingest has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileProgress {
    /// Bytes of the file that were read.
    pub bytes: u64,
    /// Bytes of the file.
    pub total_bytes: u64,
    /// Spans committed.
    pub spans: u64,
}
