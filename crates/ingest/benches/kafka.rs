//! How many spans a second of processor time brings from Kafka to committed Parquet, and in how much memory.
//!
//! `cargo bench -p plimsoll-ingest --bench kafka` reads batches of 512 spans with 20 attributes each from
//! librdkafka's mock cluster in a process of its own, so that only the reader's time and memory are counted
//! (the kernel's on its behalf included). `PLIMSOLL_BENCH_KAFKA=host:port` reads a real cluster's topic
//! `plimsoll-bench` instead, to which the batches are sent first. Goal: 150,000 spans per CPU-second under
//! 512 MiB.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark stops at a failure and prints its result"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll_ingest::{Ingest, IngestConfig, KafkaConnection, KafkaSource};
use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};

#[path = "load/bodies.rs"]
mod load;

use load::{BATCH, BODIES, body, cpu_time, peak_memory};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TOPIC: &str = "plimsoll-bench";
/// The mock keeps 5 MiB of a partition: many partitions, some of them read at once.
const PARTITIONS: i32 = 120;
/// What fits: a batch is a quarter of a megabyte.
const BATCHES: i32 = 18;

fn main() {
    if std::env::var("PLIMSOLL_BENCH_CLUSTER").is_ok() {
        return cluster();
    }
    match std::env::var("PLIMSOLL_BENCH_KAFKA") {
        Ok(brokers) => {
            send(&brokers);
            read(&brokers);
        }
        Err(_) => {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .env("PLIMSOLL_BENCH_CLUSTER", "1")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut brokers = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut brokers).unwrap();
            read(brokers.trim());
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}

/// A cluster that holds the batches, until its input ends.
fn cluster() {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic(TOPIC, PARTITIONS, 1).unwrap();
    send(&mock.bootstrap_servers());
    println!("{}", mock.bootstrap_servers());
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn send(brokers: &str) {
    let producer: ThreadedProducer<DefaultProducerContext> = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("message.max.bytes", "10000000")
        .create()
        .unwrap();
    let bodies: Vec<Vec<u8>> = (0..BODIES).map(body).collect();
    for number in 0..BATCHES * PARTITIONS {
        let body = &bodies[number as usize % bodies.len()];
        let partition = number % PARTITIONS;
        while producer.send(BaseRecord::<(), [u8]>::to(TOPIC).partition(partition).payload(body)).is_err() {
            producer.flush(Duration::from_secs(60)).unwrap();
        }
    }
    producer.flush(Duration::from_secs(60)).unwrap();
}

fn read(brokers: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = load::folder();
    let spans = BATCHES as u64 * PARTITIONS as u64 * BATCH as u64;
    let (began, cpu) = (Instant::now(), cpu_time());
    let ingest = runtime.block_on(start(folder.path(), brokers));
    let (mut began, mut cpu) = (began, cpu);
    while ingest.counts().stored < spans {
        if ingest.kafka().unwrap().messages == 0 {
            // Joining a group is waiting.
            (began, cpu) = (Instant::now(), cpu_time());
        }
        assert!(began.elapsed() < Duration::from_secs(600), "{:?}", ingest.kafka());
        std::thread::sleep(Duration::from_millis(5));
    }
    let (took, cpu) = (began.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64());
    println!("spans {spans}, stored in {took:.2} s, commits {}", ingest.counts().flushes);
    println!(
        "{:.0} spans per CPU-second ({cpu:.2} s), {:.0} spans per second",
        spans as f64 / cpu,
        spans as f64 / took
    );
    println!(
        "peak memory {} MiB, {} processors",
        peak_memory() >> 20,
        std::thread::available_parallelism().unwrap()
    );
    runtime.block_on(ingest.shutdown(Duration::from_secs(20)));
}

async fn start(folder: &Path, brokers: &str) -> Ingest {
    let (lake, decoder) = load::lake(folder).await;
    let mut config = IngestConfig::new(folder.join("journal"));
    (config.grpc, config.http) = (None, None);
    config.kafka = Some(KafkaSource {
        connection: KafkaConnection::new(brokers),
        topics: vec![TOPIC.to_owned()],
        group: "plimsoll-bench".to_owned(),
        encoding: None,
    });
    Ingest::start(config, lake, decoder).await.unwrap()
}
