//! A file as a sequence of OTLP request bodies, whatever it was written as.
//!
//! Invariant: bodies come in the file's order, each with the number of the last item that it covers, so
//! that reading can go on behind any of them.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use plimsoll_otlp::Encoding;
use plimsoll_rows::Field;

use super::content::{Content, Reader};
use super::error::FileError;
use super::letters;
use super::lines::{self, Line, MAX_LINE};
use super::options::{BadItem, FileFormat};
use super::rows::RowReader;
use super::span::Rows;
use super::wire::{self, MAX_MESSAGE, WireError};
use crate::signal::{Kept, position, speaks_of};

/// Most bytes of a JSON document, which has to be in memory whole.
pub(super) const MAX_DOCUMENT: usize = 256 << 20;

/// Bytes at which a request made of resource spans is full.
const REQUEST: usize = 1 << 20;

/// Bad items that are told one by one; the others are counted.
const TOLD: usize = 10;

/// An OTLP request.
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) encoding: Encoding,
    /// What it carries; none where only decoding can tell.
    pub(super) signal: Option<Kept>,
    /// Number of the last line, row, message or resource in it.
    pub(super) through: u64,
    /// Whether other bodies may be good where this one is not.
    pub(super) skippable: bool,
}

/// Items that could not be read.
#[derive(Debug, Default)]
pub(super) struct Bad {
    pub(super) count: u64,
    pub(super) first: Vec<BadItem>,
}

impl Bad {
    pub(super) fn add(&mut self, item: u64, reason: String) {
        self.count += 1;
        if self.first.len() < TOLD {
            self.first.push(BadItem { item, reason });
        }
    }
}

/// A file that is read body by body.
pub(super) struct Bodies {
    name: String,
    kind: Kind,
}

enum Kind {
    Document(Option<Reader>),
    Resources { reader: Reader, number: u64 },
    Delimited { reader: Reader, number: u64 },
    Lines { reader: Reader, number: u64 },
    Rows(Box<RowReader>),
}

impl Bodies {
    pub(super) fn open(
        content: &mut Content,
        format: FileFormat,
        rows: Rows,
        mapped: BTreeMap<Field, String>,
    ) -> Result<Self, FileError> {
        let mut reader = content.reader()?;
        let name = content.name.clone();
        let start = reader.fill_buf().map_err(|error| content.failed(error))?;
        let format = if format == FileFormat::Auto { recognise(start) } else { format };
        let line = first_line(start);
        let of_rows = !speaks_otlp(line) && !letters::is_letter(line);
        let kind = match format {
            FileFormat::OtlpProto => Kind::Resources { reader, number: 0 },
            FileFormat::OtlpProtoDelimited => Kind::Delimited { reader, number: 0 },
            FileFormat::OtlpJson => Kind::Document(Some(reader)),
            FileFormat::Jsonl if of_rows => {
                Kind::Rows(Box::new(RowReader::json(&name, reader, rows, mapped)))
            }
            FileFormat::Jsonl => Kind::Lines { reader, number: 0 },
            FileFormat::Csv | FileFormat::Auto => {
                Kind::Rows(Box::new(RowReader::csv(&name, reader, rows, mapped)?))
            }
        };
        Ok(Self { name, kind })
    }

    /// The next body with items behind `after`; `None` at the end.
    pub(super) fn next(&mut self, after: u64, bad: &mut Bad) -> Result<Option<Body>, FileError> {
        let name = &self.name;
        match &mut self.kind {
            Kind::Rows(rows) => rows.next(after, bad),
            Kind::Document(reader) => match reader.take() {
                Some(reader) if after == 0 => document(name, reader),
                _ => Ok(None),
            },
            Kind::Resources { reader, number } => {
                let mut bytes = Vec::new();
                while bytes.len() < REQUEST
                    && wire::next_resource(reader, &mut bytes).map_err(|error| broken(name, error))?
                {
                    *number += 1;
                    if *number <= after {
                        bytes.clear();
                    }
                }
                let body = Body {
                    bytes,
                    encoding: Encoding::Protobuf,
                    signal: None,
                    through: *number,
                    skippable: false,
                };
                Ok((!body.bytes.is_empty()).then_some(body))
            }
            Kind::Delimited { reader, number } => {
                while let Some(bytes) = wire::next_delimited(reader).map_err(|error| broken(name, error))? {
                    *number += 1;
                    if *number > after {
                        return Ok(Some(Body {
                            bytes,
                            encoding: Encoding::Protobuf,
                            signal: None,
                            through: *number,
                            skippable: true,
                        }));
                    }
                }
                Ok(None)
            }
            Kind::Lines { reader, number } => {
                while let Some(line) =
                    lines::next(reader, MAX_LINE).map_err(|source| unreadable(name, source))?
                {
                    *number += 1;
                    match line {
                        _ if *number <= after => {}
                        Line::TooLong => {
                            bad.add(*number, format!("the line is longer than {MAX_LINE} bytes"))
                        }
                        Line::Whole(bytes) if bytes.trim_ascii().is_empty() => {}
                        Line::Whole(bytes) if letters::is_letter(&bytes) => {
                            match letters::body(&bytes, *number) {
                                Ok(body) => return Ok(Some(body)),
                                Err(reason) => bad.add(*number, reason),
                            }
                        }
                        Line::Whole(bytes) => match speaks_of(&bytes) {
                            None => bad.add(*number, "the line holds neither traces nor logs".to_owned()),
                            signal => {
                                return Ok(Some(Body {
                                    bytes,
                                    encoding: Encoding::Json,
                                    signal,
                                    through: *number,
                                    skippable: true,
                                }));
                            }
                        },
                    }
                }
                Ok(None)
            }
        }
    }

    /// The columns in use by field, and those that are not used.
    pub(super) fn columns(&self) -> (BTreeMap<Field, String>, Vec<String>) {
        match &self.kind {
            Kind::Rows(rows) => rows.columns(),
            _ => Default::default(),
        }
    }
}

/// The format of a file that starts like this.
fn recognise(start: &[u8]) -> FileFormat {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    match text.trim_ascii_start() {
        [b'{', ..] if start.first() != Some(&b'\n') || starts_json(text) => {
            let line = first_line(start);
            let whole =
                line.len() == start.len() || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
            if whole { FileFormat::Jsonl } else { FileFormat::OtlpJson }
        }
        // No trace is an array of rows; the decoder says what it wants.
        [b'[', ..] => FileFormat::OtlpJson,
        _ if start.first() == Some(&0x0a) => FileFormat::OtlpProto,
        _ if start.first() == Some(&0) && start.get(4) == Some(&0x0a) => FileFormat::OtlpProtoDelimited,
        _ => FileFormat::Csv,
    }
}

/// Whether it starts with a JSON value, or is the start of one. Protobuf may begin with a line feed and a
/// length that looks like a brace.
fn starts_json(text: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<serde::de::IgnoredAny>();
    values.next().is_some_and(|value| value.map_or_else(|error| error.is_eof(), |_| true))
}

/// The first line that is not blank, as far as it is in the buffer.
fn first_line(start: &[u8]) -> &[u8] {
    let mut lines = start.split(|byte| *byte == b'\n');
    lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default()
}

fn speaks_otlp(line: &[u8]) -> bool {
    speaks_of(line).is_some() || position(line, b"\"resourceMetrics\"").is_some()
}

fn document(name: &str, mut reader: Reader) -> Result<Option<Body>, FileError> {
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(MAX_DOCUMENT as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|source| unreadable(name, source))?;
    if bytes.len() > MAX_DOCUMENT {
        return Err(FileError::TooLarge { name: name.to_owned(), limit: MAX_DOCUMENT });
    }
    let signal = speaks_of(&bytes);
    let body = Body { bytes, encoding: Encoding::Json, signal, through: 1, skippable: false };
    Ok((!body.bytes.trim_ascii().is_empty()).then_some(body))
}

fn unreadable(name: &str, source: io::Error) -> FileError {
    FileError::Read { name: name.to_owned(), source }
}

fn broken(name: &str, error: WireError) -> FileError {
    match error {
        WireError::Read(source) => unreadable(name, source),
        WireError::Broken(reason) => FileError::NotOtlp { name: name.to_owned(), reason: reason.to_owned() },
        WireError::TooLarge => FileError::TooLarge { name: name.to_owned(), limit: MAX_MESSAGE },
    }
}
