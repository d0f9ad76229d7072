//! How many spans a second become a Parquet file, on one core and without a disk.
//!
//! The batch is a flush as `serve` makes it: 65,536 spans of agent runs.

#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing to measure")]

#[path = "spans/rows.rs"]
mod spans;

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use plimsoll_lake::{Lake, Order, Schemas, Table};

const SPANS: usize = 65_536;

fn main() {
    divan::main();
}

#[expect(clippy::print_stdout, reason = "the size belongs to the result")]
#[divan::bench(args = ["as it comes", "sorted"], sample_count = 10)]
fn write_spans(bencher: Bencher<'_, '_>, order: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let table = runtime.block_on(open());
    let batch = [spans::flush(table.schema(), 0, SPANS)];
    let order = if order == "sorted" { Order::Sorted } else { Order::AsIs };
    let files = runtime.block_on(table.write(&batch, order)).expect("rows that fit");
    let bytes: u64 = files.iter().map(|file| file.size).sum();
    println!("{} bytes a span", bytes / SPANS as u64);
    bencher
        .counter(ItemsCount::new(SPANS))
        .bench_local(|| runtime.block_on(table.write(&batch, order)).expect("rows that fit"));
}

async fn open() -> Table {
    let text = include_str!("../../../schemas/tables/spans.toml");
    let schemas = Schemas::load([("spans.toml".to_owned(), text.to_owned())]).expect("it is ours");
    let lake = Lake::open("memory://", Arc::new(schemas)).await.expect("memory");
    lake.table("spans").await.expect("a table")
}
