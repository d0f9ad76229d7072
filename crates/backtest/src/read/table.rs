//! Request traces as CSV or JSON lines, a request a row.
//!
//! Leaves names of columns and instants to `plimsoll-rows`. The invariant: times of one file are all
//! since 1970 or all since the trace's own start, as its first row has them.

use std::collections::BTreeMap;

use plimsoll_replay::Micros;
use plimsoll_rows::{Field, Layout, TimeError, TimeUnit, column_name, delimiter, scaled, unix_nanos};
use serde_json::{Map, Value};

use super::cache::PrefixCache;
use crate::error::ReadError;
use crate::request::{Request, Requests};

/// Where a Mooncake trace tells the blocks of a prompt.
const BLOCKS: &str = "hash_ids";

/// Fields that tell requests of one sender from another's, best first.
const CLIENTS: [Field; 4] = [Field::Tenant, Field::Workflow, Field::User, Field::Session];

/// Reads a trace: JSON lines where it begins with a brace, else CSV with a header. `file` is what
/// messages call it, `name` what the trace is called. Where rows tell no tier, every one is of `tier`.
///
/// # Errors
/// [`ReadError`] with the line: a row without a time or without tokens, or anything that is no table.
pub fn read_requests(file: &str, name: &str, bytes: &[u8], tier: u8) -> Result<Requests, ReadError> {
    let mut rows = Rows::new(file, tier);
    let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match start {
        None => return Err(ReadError::new(file, None, "is empty: give a trace with a request a row")),
        Some(b'{') => json(&mut rows, bytes)?,
        Some(_) => csv(&mut rows, bytes)?,
    }
    if rows.requests.is_empty() {
        return Err(ReadError::new(
            file,
            None,
            "has a header and no request: give a trace with a request a row",
        ));
    }
    Ok(Requests::new(name, rows.clients, rows.requests))
}

fn json(rows: &mut Rows<'_>, bytes: &[u8]) -> Result<(), ReadError> {
    for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let object: Map<String, Value> = serde_json::from_slice(text)
            .map_err(|error| rows.wrong(line, format!("is not a JSON object: {error}")))?;
        let (mut columns, mut cells, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        for (key, value) in object {
            match value {
                Value::Array(items) if key == BLOCKS => {
                    let known = items.iter().map(|item| item.as_u64());
                    blocks = known.collect::<Option<Vec<u64>>>().ok_or_else(|| {
                        rows.wrong(
                            line,
                            format!("{BLOCKS} are not whole numbers: give a hash for each block"),
                        )
                    })?;
                    continue;
                }
                Value::String(text) => cells.push(text),
                Value::Number(number) => cells.push(number.to_string()),
                Value::Bool(flag) => cells.push(flag.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => cells.push(String::new()),
            }
            columns.push(key);
        }
        rows.arrange(line, columns)?;
        rows.add(line, &cells, &blocks)?;
    }
    Ok(())
}

fn csv(rows: &mut Rows<'_>, bytes: &[u8]) -> Result<(), ReadError> {
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter(bytes)).flexible(true).from_reader(bytes);
    let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
    let unreadable =
        |rows: &Rows<'_>, line, error: csv::Error| rows.wrong(line, format!("is not CSV: {error}"));
    let header = reader.byte_headers().map_err(|error| unreadable(rows, 1, error))?;
    rows.arrange(1, header.iter().map(column_name).collect())?;
    let mut record = csv::ByteRecord::new();
    while reader
        .read_byte_record(&mut record)
        .map_err(|error| unreadable(rows, reader.position().line(), error))?
    {
        let line = record.position().map_or(0, csv::Position::line);
        let cells: Vec<String> = record.iter().map(text).collect();
        rows.add(line, &cells, &[])?;
    }
    Ok(())
}

/// What was read so far.
struct Rows<'a> {
    file: &'a str,
    tier: u8,
    columns: Vec<String>,
    layout: Layout,
    /// Whether times count from the trace's own start; `None` before the first row.
    relative: Option<bool>,
    cache: PrefixCache,
    known: BTreeMap<String, u32>,
    clients: Vec<String>,
    requests: Vec<Request>,
}

impl<'a> Rows<'a> {
    fn new(file: &'a str, tier: u8) -> Self {
        Self {
            file,
            tier,
            columns: Vec::new(),
            layout: Layout::default(),
            relative: None,
            cache: PrefixCache::default(),
            known: BTreeMap::new(),
            clients: Vec::new(),
            requests: Vec::new(),
        }
    }

    fn wrong(&self, line: u64, problem: impl Into<String>) -> ReadError {
        ReadError::new(self.file, Some(line), problem)
    }

    /// Takes the names of the columns that follow.
    fn arrange(&mut self, line: u64, columns: Vec<String>) -> Result<(), ReadError> {
        if columns == self.columns {
            return Ok(());
        }
        self.layout = Layout::find(&columns, &BTreeMap::new()).unwrap_or_default();
        let lacks = |field: &Field| !self.layout.fields.contains_key(field);
        let needed = [Field::Timestamp, Field::InputTokens, Field::OutputTokens];
        if let Some(lacking) = needed.iter().find(|field| lacks(field)) {
            let columns: String = columns.join(", ").escape_default().take(200).collect();
            let problem = format!(
                "no column is known to be {lacking} among {columns}: name one of them {lacking}, as `ingest` knows it"
            );
            return Err(self.wrong(line, problem));
        }
        self.columns = columns;
        Ok(())
    }

    fn add(&mut self, line: u64, cells: &[String], blocks: &[u64]) -> Result<(), ReadError> {
        let time = self.layout.fields.get(&Field::Timestamp).and_then(|at| cells.get(*at));
        let at = self.instant(line, time.map(String::as_str).unwrap_or_default())?;
        let cell = |field: Field| {
            let text = cells.get(*self.layout.fields.get(&field)?)?.trim();
            (!text.is_empty()).then_some(text)
        };
        let tokens = |field: Field| {
            let text = cell(field).ok_or_else(|| {
                let problem = format!("has no {field}: leave out requests whose usage is not known");
                self.wrong(line, problem)
            })?;
            scaled(text, 1).ok_or_else(|| {
                let text: String = text.escape_default().take(40).collect();
                self.wrong(line, format!("`{text}` is no {field}: give a whole number"))
            })
        };
        let (input, output) = (tokens(Field::InputTokens)?, tokens(Field::OutputTokens)?);
        let told = cell(Field::CacheRead).and_then(|text| scaled(text, 1));
        let tier = match cell(Field::Tier) {
            None => self.tier,
            Some(text) => text.parse().ok().filter(|tier| *tier <= 3).ok_or_else(|| {
                let text: String = text.escape_default().take(40).collect();
                self.wrong(line, format!("`{text}` is no tier: give 0, 1, 2 or 3"))
            })?,
        };
        let length = |field, unit: TimeUnit| cell(field).and_then(|text| scaled(text, unit.nanos()));
        let latency = length(Field::DurationMs, TimeUnit::Millis)
            .or_else(|| length(Field::DurationS, TimeUnit::Seconds));
        let client = CLIENTS.into_iter().find_map(cell).unwrap_or_default().to_owned();
        let cache_read = self.cache.serve(blocks, input).max(told.unwrap_or(0)).min(input);
        let next = u32::try_from(self.clients.len())
            .map_err(|_| self.wrong(line, "is of one client too many: give fewer than four billion"))?;
        let client = *self.known.entry(client.clone()).or_insert_with(|| {
            self.clients.push(client);
            next
        });
        let latency = Micros(latency.unwrap_or(0) / 1000);
        self.requests.push(Request { at, client, tier, latency, input, cache_read, output });
        Ok(())
    }

    /// A time: since 1970, or since the trace's own start in milliseconds where its numbers are small.
    fn instant(&mut self, line: u64, text: &str) -> Result<Micros, ReadError> {
        let since_start = |text| unix_nanos(text, None, Some(jiff::Timestamp::UNIX_EPOCH));
        let read = match self.relative {
            Some(true) => since_start(text),
            Some(false) => unix_nanos(text, None, None),
            None => match unix_nanos(text, None, None) {
                Err(TimeError::Relative(_)) => {
                    self.relative = Some(true);
                    since_start(text)
                }
                read => {
                    self.relative = Some(false);
                    read
                }
            },
        };
        let nanos = read.map_err(|error| self.wrong(line, format!("{error}: give a time in every row")))?;
        Ok(Micros(nanos / 1000))
    }
}
