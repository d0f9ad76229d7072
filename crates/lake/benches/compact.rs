//! How fast, and in how much memory, a day of small files is compacted.
//!
//! 10,000 files of 256 spans, as a flush every five seconds writes them at some fifty spans a second, on a
//! local disk. Arguments: how many files, how many spans in each, and a folder to keep, where the same spans
//! are also written at once: `plimsoll sql` on its `compacted` and its `fresh` tells what queries pay. The
//! figures are of a closed day: all is sorted, and nothing left as it is.

#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing to measure")]
#![expect(clippy::print_stdout, reason = "it prints what it measures")]

#[path = "spans/rows.rs"]
mod spans;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::civil::date;
use plimsoll_lake::{Compaction, Lake, Order, Schemas, Table};

/// The product's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let files = numbers.first().copied().unwrap_or(10_000);
    let spans = numbers.get(1).copied().unwrap_or(256);
    let kept = std::env::args().skip(1).find(|argument| argument.contains('/')).map(PathBuf::from);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    runtime.block_on(async {
        let within = kept.as_deref().unwrap_or(folder.path());
        compact(&within.join("compacted"), files, spans).await;
        if kept.is_some() {
            write_at_once(&within.join("fresh"), files, spans).await;
        }
    });
}

/// The same rows, sorted and written by one call.
async fn write_at_once(folder: &Path, files: usize, spans: usize) {
    let table = open(&folder.display().to_string()).await;
    let rows: Vec<_> = (0..files).map(|n| spans::flush(table.schema(), n * spans, spans)).collect();
    let written = table.write(&rows, Order::Sorted).await.expect("rows that fit");
    table.append(written, &[]).await.expect("a commit");
}

async fn compact(folder: &Path, files: usize, spans: usize) {
    let table = open(&folder.display().to_string()).await;
    let input = fill(&table, files, spans).await;
    let before = memory("VmRSS");
    // Forgets the highest mark so far.
    fs::write("/proc/self/clear_refs", "5").expect("a Linux");
    let (start, busy) = (Instant::now(), processor_seconds());
    let compaction = Compaction { closed_before: Some(date(2027, 1, 1)), ..Compaction::default() };
    let done = table.compact(&compaction).await.expect("files that can be read");
    let seconds = start.elapsed().as_secs_f64();
    let busy = processor_seconds() - busy;
    let now = table.snapshot().await.expect("a table");
    assert_eq!(now.rows(), (files * spans) as u64);
    println!(
        "{files} files of {spans} spans became {}; {:.1} MB written and {:.1} MB read in all",
        now.files().len(),
        done.bytes_into as f64 / 1e6,
        done.bytes_from as f64 / 1e6,
    );
    println!(
        "{seconds:.2} s, {busy:.2} processor seconds, {:.0} MB and {:.0} thousand spans a second, {} MiB on top of {} MiB",
        input as f64 / seconds / 1e6,
        (files * spans) as f64 / seconds / 1e3,
        (memory("VmHWM").saturating_sub(before)) / 1024,
        before / 1024,
    );
}

/// Commits the small files, and says how many bytes they have.
async fn fill(table: &Table, files: usize, spans: usize) -> u64 {
    let start = Instant::now();
    let written: Vec<_> = stream::iter(0..files)
        .map(|n| async move {
            let rows = spans::flush(table.schema(), n * spans, spans);
            table.write(&[rows], Order::AsIs).await
        })
        .buffered(32)
        .try_concat()
        .await
        .expect("rows that fit");
    let bytes: u64 = written.iter().map(|file| file.size).sum();
    table.append(written, &[]).await.expect("a commit");
    println!(
        "made {:.1} MB in {files} files, {} bytes a span, in {:.0} s",
        bytes as f64 / 1e6,
        bytes / (files * spans) as u64,
        start.elapsed().as_secs_f64()
    );
    bytes
}

/// Processor time of this process so far.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("a Linux");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// A figure of this process's memory, in KiB.
fn memory(what: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a Linux");
    let line = status.lines().find(|line| line.starts_with(what)).expect("the figure");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}

async fn open(location: &str) -> Table {
    let text = include_str!("../../../schemas/tables/spans.toml");
    let schemas = Schemas::load([("spans.toml".to_owned(), text.to_owned())]).expect("it is ours");
    let lake = Lake::open(location, Arc::new(schemas)).await.expect("a folder");
    lake.table("spans").await.expect("a table")
}
