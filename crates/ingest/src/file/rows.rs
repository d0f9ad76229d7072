//! The rows of a CSV or JSON-lines trace, as requests of many spans.
//!
//! Invariant: every row is either a span of a request or counted as bad, under its number.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::trace::v1::Span;
use plimsoll_otlp::Encoding;
use plimsoll_rows::{Field, Layout, TimeError, column_name, delimiter};
use serde_json::{Map, Value};

use super::bodies::{Bad, Body};
use super::content::Reader;
use super::error::FileError;
use super::lines::{self, Line, MAX_LINE};
use super::span::{Row, Rows};
use crate::signal::Kept;

/// Rows of one request.
const BATCH: usize = 1000;

/// How deep a column's name may go into JSON objects.
const DEPTH: usize = 4;

/// Where rows come from.
pub(super) enum Table {
    Csv(Box<csv::Reader<Reader>>),
    Json(Reader),
}

/// A trace that is read row by row.
pub(super) struct RowReader {
    name: String,
    table: Table,
    rows: Rows,
    mapped: BTreeMap<Field, String>,
    columns: Vec<String>,
    layout: Layout,
    number: u64,
    any_good: bool,
}

/// What came of reading one row.
enum Read {
    Cells(Vec<Option<String>>),
    Blank,
    Bad(String),
    End,
}

impl RowReader {
    /// A CSV trace; its header is read here.
    pub(super) fn csv(
        name: &str,
        mut reader: Reader,
        rows: Rows,
        mapped: BTreeMap<Field, String>,
    ) -> Result<Self, FileError> {
        let delimiter = delimiter(std::io::BufRead::fill_buf(&mut reader).unwrap_or_default());
        let mut csv = csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(reader);
        let header = csv.byte_headers().map_err(|error| unreadable(name, error))?;
        let columns = header.iter().map(column_name).collect();
        let mut reader = Self::new(name, Table::Csv(Box::new(csv)), rows, mapped);
        reader.arrange(columns)?;
        Ok(reader)
    }

    /// A trace in JSON lines; each line has its own columns.
    pub(super) fn json(name: &str, reader: Reader, rows: Rows, mapped: BTreeMap<Field, String>) -> Self {
        Self::new(name, Table::Json(reader), rows, mapped)
    }

    fn new(name: &str, table: Table, rows: Rows, mapped: BTreeMap<Field, String>) -> Self {
        Self {
            name: name.to_owned(),
            table,
            rows,
            mapped,
            columns: Vec::new(),
            layout: Layout::default(),
            number: 0,
            any_good: false,
        }
    }

    /// The columns in use by field, and those that are not used.
    pub(super) fn columns(&self) -> (BTreeMap<Field, String>, Vec<String>) {
        let used = self.layout.fields.iter().map(|(field, at)| (*field, self.columns[*at].clone())).collect();
        let unused = |at: &usize| !self.layout.fields.values().any(|used| used == at);
        let ignored = (0..self.columns.len()).filter(unused).map(|at| self.columns[at].clone()).collect();
        (used, ignored)
    }

    /// The next rows behind `after` as a request; `None` at the end.
    pub(super) fn next(&mut self, after: u64, bad: &mut Bad) -> Result<Option<Body>, FileError> {
        let mut spans = Vec::new();
        while spans.len() < BATCH {
            let read = self.read()?;
            if matches!(read, Read::End) {
                break;
            }
            self.number += 1;
            if self.number <= after {
                continue;
            }
            match read {
                Read::Cells(cells) => match self.span(&cells) {
                    Ok(span) => spans.push(span),
                    Err(error) => {
                        self.explain(&error)?;
                        bad.add(self.number, error.to_string());
                    }
                },
                Read::Bad(reason) => bad.add(self.number, reason),
                Read::Blank | Read::End => {}
            }
        }
        if spans.is_empty() {
            return Ok(None);
        }
        self.any_good = true;
        let bytes = self.rows.request(spans);
        let signal = Some(Kept::Traces);
        Ok(Some(Body { bytes, encoding: Encoding::Protobuf, signal, through: self.number, skippable: false }))
    }

    /// Where not one row has been read yet, it's the file that is at fault rather than the row.
    fn explain(&self, error: &TimeError) -> Result<(), FileError> {
        if self.any_good {
            return Ok(());
        }
        if !self.layout.fields.contains_key(&Field::Timestamp) {
            return Err(self.no_timestamp());
        }
        match error {
            TimeError::Relative(value) => {
                Err(FileError::RelativeTime { name: self.name.clone(), value: value.clone() })
            }
            TimeError::Unreadable(_) | TimeError::OutOfRange(_) => Ok(()),
        }
    }

    fn read(&mut self) -> Result<Read, FileError> {
        match &mut self.table {
            Table::Csv(csv) => {
                let mut record = csv::ByteRecord::new();
                match csv.read_byte_record(&mut record) {
                    Ok(true) => Ok(Read::Cells(record.iter().map(|cell| Some(text(cell))).collect())),
                    Ok(false) => Ok(Read::End),
                    Err(error) => Err(unreadable(&self.name, error)),
                }
            }
            Table::Json(reader) => {
                let line = lines::next(reader, MAX_LINE);
                let line = line.map_err(|source| FileError::Read { name: self.name.clone(), source })?;
                match line {
                    None => Ok(Read::End),
                    Some(Line::TooLong) => Ok(Read::Bad(format!("the line is longer than {MAX_LINE} bytes"))),
                    Some(Line::Whole(line)) if line.trim_ascii().is_empty() => Ok(Read::Blank),
                    Some(Line::Whole(line)) => match serde_json::from_slice::<Map<String, Value>>(&line) {
                        Err(error) => Ok(Read::Bad(format!("not a JSON object: {error}"))),
                        Ok(object) => {
                            let (mut columns, mut cells) = (Vec::new(), Vec::new());
                            flatten("", &object, DEPTH, &mut columns, &mut cells);
                            if columns != self.columns {
                                self.arrange(columns)?;
                            }
                            Ok(Read::Cells(cells))
                        }
                    },
                }
            }
        }
    }

    fn span(&self, cells: &[Option<String>]) -> Result<(Option<String>, Span), TimeError> {
        let cell = |at: usize| cells.get(at).and_then(Option::as_deref);
        let row: Row<'_> =
            self.layout.fields.iter().filter_map(|(field, at)| Some((*field, cell(*at)?))).collect();
        let service = row
            .get(&Field::Service)
            .filter(|service| !service.is_empty())
            .map(|service| (*service).to_owned());
        let service = service.or_else(|| self.rows.constants.get(&Field::Service).cloned());
        Ok((service, self.rows.span(self.number, &row)?))
    }

    /// Takes a file's columns. JSON lines may lack a mapped column here and there; a CSV may not.
    fn arrange(&mut self, columns: Vec<String>) -> Result<(), FileError> {
        let json = matches!(self.table, Table::Json(_));
        let mapped: BTreeMap<_, _> = self
            .mapped
            .iter()
            .filter(|(_, column)| !json || columns.contains(column))
            .map(|(field, column)| (*field, column.clone()))
            .collect();
        let found = Layout::find(&columns, &mapped);
        self.layout = found.map_err(|field| FileError::NoColumn {
            name: self.name.clone(),
            column: mapped.get(&field).cloned().unwrap_or_default(),
            field: field.to_string(),
            columns: printable(&columns.join(", ")),
        })?;
        self.columns = columns;
        let timed = self.layout.fields.contains_key(&Field::Timestamp);
        let empty = self.columns.is_empty();
        if timed || json || empty { Ok(()) } else { Err(self.no_timestamp()) }
    }

    fn no_timestamp(&self) -> FileError {
        FileError::NoTimestamp { name: self.name.clone(), columns: printable(&self.columns.join(", ")) }
    }
}

/// Names from a file that may be anything, as one short line for people.
fn printable(names: &str) -> String {
    const LONGEST: usize = 200;
    let shown: String = names.escape_default().take(LONGEST).collect();
    if names.len() > LONGEST { shown + "..." } else { shown }
}

/// An object's scalars with dotted names.
fn flatten(
    prefix: &str,
    object: &Map<String, Value>,
    depth: usize,
    columns: &mut Vec<String>,
    cells: &mut Vec<Option<String>>,
) {
    for (key, value) in object {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        let cell = match value {
            Value::Object(inner) if depth > 1 => {
                flatten(&name, inner, depth - 1, columns, cells);
                continue;
            }
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        columns.push(name);
        cells.push(cell);
    }
}

fn text(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).into_owned()
}

fn unreadable(name: &str, error: csv::Error) -> FileError {
    let source = match error.into_kind() {
        csv::ErrorKind::Io(source) => source,
        other => std::io::Error::other(format!("{other:?}")),
    };
    FileError::Read { name: name.to_owned(), source }
}
