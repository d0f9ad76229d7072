//! How many spans a second of processor time brings from an HTTP body to a durable journal and
//! committed Parquet, and in how much memory.
//!
//! `cargo bench -p plimsoll-ingest` sends batches of 512 spans with 20 attributes each over four
//! connections from a process of its own, so that only the server's time and memory are counted (the
//! kernel's on its behalf included). Goal: 150,000 spans per CPU-second under 512 MiB.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark stops at a failure and prints its result"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use plimsoll_ingest::{Ingest, IngestConfig};
use plimsoll_lake::{Lake, Schemas};
use plimsoll_otlp::{Decoder, Dialects};
use prost::Message;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 512;
const CONNECTIONS: usize = 4;
const REQUESTS: usize = 4000;
/// Different bodies, so that nothing compresses by being the same.
const BODIES: u64 = 32;

fn main() {
    match std::env::var("PLIMSOLL_BENCH_SERVER") {
        Ok(address) => send(address.parse().unwrap()),
        Err(_) => serve(),
    }
}

fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder =
        tempfile::tempdir_in(std::env::var("PLIMSOLL_BENCH_DIR").unwrap_or_else(|_| ".".to_owned())).unwrap();
    let ingest = runtime.block_on(start(folder.path()));
    let (began, cpu) = (Instant::now(), cpu_time());
    let mut client = Command::new(std::env::current_exe().unwrap());
    let status =
        client.env("PLIMSOLL_BENCH_SERVER", ingest.http_addr().unwrap().to_string()).status().unwrap();
    assert!(status.success());
    let acknowledged = began.elapsed();
    runtime.block_on(ingest.flush()).unwrap();
    let (took, cpu) = (began.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64());
    let spans = ingest.counts().stored;
    assert_eq!(spans, (REQUESTS * BATCH) as u64);
    let per_cpu = spans as f64 / cpu;
    println!(
        "spans {spans}, acknowledged in {:.2} s, stored in {took:.2} s, commits {}",
        acknowledged.as_secs_f64(),
        ingest.counts().flushes
    );
    println!("{per_cpu:.0} spans per CPU-second ({cpu:.2} s), {:.0} spans per second", spans as f64 / took);
    println!(
        "peak memory {} MiB, {} processors",
        peak_memory() >> 20,
        std::thread::available_parallelism().unwrap()
    );
    runtime.block_on(ingest.shutdown(Duration::from_secs(20)));
}

async fn start(folder: &Path) -> Ingest {
    let schemas = Arc::new(Schemas::load(texts("tables")).unwrap());
    let table = |name| schemas.get(name).unwrap().arrow();
    let decoder =
        Decoder::new(Dialects::load(texts("dialects")).unwrap(), table("spans"), table("quarantine"))
            .unwrap();
    let lake = Lake::open(folder.join("lake").to_str().unwrap(), Arc::clone(&schemas)).await.unwrap();
    let mut config = IngestConfig::new(folder.join("journal"));
    config.grpc = None;
    config.http = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    Ingest::start(config, lake, Arc::new(decoder)).await.unwrap()
}

fn texts(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// The client: each connection posts its share and waits for every answer; a refusal is sent again.
fn send(address: SocketAddr) {
    let bodies: Arc<Vec<Vec<u8>>> = Arc::new((0..BODIES).map(body).collect());
    let threads: Vec<_> = (0..CONNECTIONS)
        .map(|connection| {
            let bodies = Arc::clone(&bodies);
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let mut answers = BufReader::new(stream.try_clone().unwrap());
                for request in (connection..REQUESTS).step_by(CONNECTIONS) {
                    let body = &bodies[request % bodies.len()];
                    while !post(&mut stream, &mut answers, body) {
                        std::thread::sleep(Duration::from_millis(100));
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn post(stream: &mut TcpStream, answers: &mut BufReader<TcpStream>, body: &[u8]) -> bool {
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nHost: bench\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let (mut status, mut length, mut line) = (String::new(), 0, String::new());
    answers.read_line(&mut status).unwrap();
    loop {
        line.clear();
        answers.read_line(&mut line).unwrap();
        match line.trim().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap()
            }
            Some(_) => {}
            None => break,
        }
    }
    answers.read_exact(&mut vec![0; length]).unwrap();
    status.contains(" 200 ")
}

/// A batch of model calls of agents.
fn body(seed: u64) -> Vec<u8> {
    let text = |key: &str, value: String| attribute(key, Value::StringValue(value));
    let number = |key: &str, value: u64| attribute(key, Value::IntValue(value.cast_signed()));
    let spans = (0..BATCH as u64).map(|n| {
        let mix = (seed * BATCH as u64 + n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let trace = (seed * 64 + n / 8 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let start = 1_780_000_000_000_000_000 + mix % 3_600_000_000_000;
        Span {
            trace_id: [trace.to_be_bytes(), (!trace).to_be_bytes()].concat(),
            span_id: mix.to_be_bytes().to_vec(),
            parent_span_id: trace.to_le_bytes().to_vec(),
            name: "chat gpt-5.2".to_owned(),
            kind: 3,
            start_time_unix_nano: start,
            end_time_unix_nano: start + 1_000_000_000 + mix % 5_000_000_000,
            attributes: vec![
                text("gen_ai.operation.name", "chat".to_owned()),
                text("gen_ai.provider.name", "azure.ai.openai".to_owned()),
                text("gen_ai.request.model", "gpt-5.2".to_owned()),
                text("gen_ai.response.model", "gpt-5.2-2026-03-01".to_owned()),
                text("gen_ai.response.id", format!("chatcmpl-{mix:016x}{trace:016x}")),
                number("gen_ai.request.max_tokens", 4096),
                number("gen_ai.usage.input_tokens", 500 + mix % 8000),
                number("gen_ai.usage.cache_read.input_tokens", mix % 500),
                number("gen_ai.usage.output_tokens", mix % 900),
                attribute(
                    "gen_ai.response.time_to_first_chunk",
                    Value::DoubleValue((mix % 900) as f64 / 1000.0),
                ),
                attribute("gen_ai.request.stream", Value::BoolValue(true)),
                text("gen_ai.conversation.id", format!("conversation-{trace:016x}")),
                text("gen_ai.workflow.name", "invoice-reconciliation".to_owned()),
                text("gen_ai.agent.name", format!("agent-{}", mix % 12)),
                text("server.address", "finance.openai.azure.com".to_owned()),
                number("server.port", 443),
                number("http.response.status_code", 200),
                text("plimsoll.tenant", format!("tenant-{}", mix % 40)),
                text("plimsoll.request_class", "interactive".to_owned()),
                text("custom.note", format!("a value that no dialect knows, number {}", mix % 1000)),
            ],
            ..Span::default()
        }
    });
    let scope_spans = vec![ScopeSpans { spans: spans.collect(), ..ScopeSpans::default() }];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }],
    }
    .encode_to_vec()
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// User and system time of this process, from clock ticks of a hundredth of a second.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// The largest resident memory so far, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}
