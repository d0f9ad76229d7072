//! What the tests share: a lake, a decoder, requests, and a client that says exactly what it means.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use plimsoll_ingest::{Ingest, IngestConfig};
use plimsoll_lake::{Lake, Schemas};
use plimsoll_otlp::{Decoder, Dialects};
use prost::Message;
use tempfile::TempDir;

use crate::weather::Weather;

/// A start that every rule takes for a good one: 14 November 2023.
pub(crate) const START: u64 = 1_700_000_000_000_000_000;

/// A lake and a journal directory that live as long as the test.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) lake: Lake,
    pub(crate) decoder: Arc<Decoder>,
}

impl Place {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let lake = Lake::open(directory.path().join("lake").to_str().unwrap(), schemas()).await.unwrap();
        Self { directory, lake, decoder: decoder() }
    }

    /// A lake in memory, with the weather of the place.
    pub(crate) fn in_memory() -> (Self, Weather) {
        let weather = Weather::fine();
        let place =
            Self { directory: tempfile::tempdir().unwrap(), lake: weather.lake(), decoder: decoder() };
        (place, weather)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    /// Free ports, and no flush but the one that is asked for.
    pub(crate) fn config(&self) -> IngestConfig {
        let mut config = IngestConfig::new(self.journal());
        config.grpc = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        config.http = config.grpc;
        config.journal.segment_bytes = 1 << 20;
        config.flush.every = Duration::from_secs(3600);
        config
    }

    pub(crate) async fn start(&self) -> Ingest {
        self.start_with(self.config()).await
    }

    pub(crate) async fn start_with(&self, config: IngestConfig) -> Ingest {
        Ingest::start(config, self.lake.clone(), Arc::clone(&self.decoder)).await.unwrap()
    }

    /// Starts with a handle of its own on the lake, as another process has it.
    pub(crate) async fn start_under(&self, weather: &Weather, config: IngestConfig) -> Ingest {
        Ingest::start(config, weather.lake(), Arc::clone(&self.decoder)).await.unwrap()
    }

    /// All rows of a table.
    pub(crate) async fn rows(&self, table: &str) -> Vec<RecordBatch> {
        let table = self.lake.table(table).await.unwrap();
        let snapshot = table.snapshot().await.unwrap();
        let mut rows = Vec::new();
        for file in snapshot.files() {
            rows.extend(table.read(file).await.unwrap());
        }
        rows
    }

    /// How often each span name stands in `spans`.
    pub(crate) async fn names(&self) -> BTreeMap<String, usize> {
        let mut names = BTreeMap::new();
        for name in strings(&self.rows("spans").await, "name") {
            *names.entry(name).or_default() += 1;
        }
        names
    }
}

/// The descriptions of the tables.
pub(crate) fn schemas() -> Arc<Schemas> {
    Arc::new(Schemas::load(texts("tables")).unwrap())
}

fn decoder() -> Arc<Decoder> {
    let schemas = schemas();
    let table = |name| schemas.get(name).unwrap().arrow();
    let dialects = Dialects::load(texts("dialects")).unwrap();
    Arc::new(Decoder::new(dialects, table("spans"), table("quarantine")).unwrap())
}

/// The values of a text column.
pub(crate) fn strings(rows: &[RecordBatch], column: &str) -> Vec<String> {
    rows.iter()
        .flat_map(|rows| {
            let column = rows.column_by_name(column).unwrap();
            let column = arrow::compute::cast(column, &arrow::datatypes::DataType::Utf8).unwrap();
            column
                .as_string::<i32>()
                .iter()
                .map(|value| value.unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The known values of a column of integers.
pub(crate) fn integers(rows: &[RecordBatch], column: &str) -> Vec<i64> {
    rows.iter()
        .flat_map(|rows| {
            let column = rows.column_by_name(column).unwrap();
            column.as_primitive::<Int64Type>().iter().flatten().collect::<Vec<_>>()
        })
        .collect()
}

/// Number of nulls in a column.
pub(crate) fn nulls(rows: &[RecordBatch], column: &str) -> usize {
    rows.iter().map(|rows| rows.column_by_name(column).unwrap().null_count()).sum()
}

fn texts(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// The folder of public data; `None`, with a line that says so, where it isn't there.
pub(crate) fn shared(file: &str) -> Option<PathBuf> {
    let folder = std::env::var("PLIMSOLL_SHARED")
        .map_or_else(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = folder.join(file);
    if path.exists() {
        return Some(path);
    }
    #[expect(clippy::print_stdout, reason = "a skipped test says so")]
    {
        println!("skipped: {} is not there", path.display());
    }
    None
}

/// A model call with ids made of its name.
pub(crate) fn span(name: &str) -> Span {
    let mut id = [0xaa; 16];
    let text = name.as_bytes();
    let length = text.len().min(16);
    id[..length].copy_from_slice(&text[..length]);
    Span {
        trace_id: id.to_vec(),
        span_id: id[..8].to_vec(),
        name: name.to_owned(),
        kind: 3,
        start_time_unix_nano: START,
        end_time_unix_nano: START + 2_000_000_000,
        attributes: vec![
            attribute("gen_ai.operation.name", Value::StringValue("chat".to_owned())),
            attribute("gen_ai.usage.input_tokens", Value::IntValue(1000)),
        ],
        ..Span::default()
    }
}

pub(crate) fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

pub(crate) fn request(spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }],
    }
}

/// A protobuf body with a span of each name.
pub(crate) fn body(names: &[&str]) -> Vec<u8> {
    request(names.iter().map(|name| span(name)).collect()).encode_to_vec()
}

/// A span whose start no partition may be made for.
pub(crate) fn timeless(name: &str) -> Span {
    Span { start_time_unix_nano: 0, ..span(name) }
}

/// A span with an id one byte short.
pub(crate) fn nameless(name: &str) -> Span {
    Span { trace_id: vec![7; 15], ..span(name) }
}

/// An answer of the HTTP receiver.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// Sends one request over a connection of its own.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Answer {
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    tokio::task::spawn_blocking(move || exchange(address, head.as_bytes(), &body)).await.unwrap()
}

/// Posts a protobuf trace request.
pub(crate) async fn post(ingest: &Ingest, body: Vec<u8>) -> Answer {
    let headers = [("Content-Type", "application/x-protobuf")];
    send(ingest.http_addr().unwrap(), "POST", "/v1/traces", &headers, body).await
}

fn exchange(address: SocketAddr, head: &[u8], body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(head).unwrap();
    // A receiver that refuses by the head alone may close before it has read the body.
    let _refused = stream.write_all(body);
    let mut answer = Vec::new();
    let _reset = stream.read_to_end(&mut answer);
    let end =
        answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or_else(|| panic!("no answer"));
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Answer { status, headers: headers.collect(), body: answer[end + 4..].to_vec() }
}
