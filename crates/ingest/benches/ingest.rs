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

use plimsoll_ingest::{Ingest, IngestConfig};

#[path = "load/bodies.rs"]
mod load;

use load::{BATCH, BODIES, body, cpu_time, peak_memory};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONNECTIONS: usize = 4;
const REQUESTS: usize = 4000;

fn main() {
    match std::env::var("PLIMSOLL_BENCH_SERVER") {
        Ok(address) => send(address.parse().unwrap()),
        Err(_) => serve(),
    }
}

fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = load::folder();
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
    let (lake, decoder) = load::lake(folder).await;
    let mut config = IngestConfig::new(folder.join("journal"));
    config.grpc = None;
    config.http = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    Ingest::start(config, lake, decoder).await.unwrap()
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
