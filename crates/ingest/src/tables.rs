//! The two tables that ingest writes, and the one order in which it commits to them.
//!
//! A source names its commits (`otlp/<node>`, `file/<sha256>`) and numbers them upwards. `quarantine`
//! is committed first and `spans`, always, second: what `spans` holds under a number is therefore in
//! `quarantine` too, and a source that asks `spans` how far it came has lost nothing and repeats
//! nothing.
//!
//! A commit names the number that it follows. Where the table holds another one, somebody else has
//! written under the name: a copied journal, a second ingest of the same file, or an answer of the
//! object store to a former process that came after its death. Nothing is written then.
//!
//! Invariant: rows under one name and number are in each table once, however often they are offered.

use std::time::Duration;

use arrow::array::RecordBatch;
use plimsoll_lake::{Commit, DataFile, Error, Lake, Order, Table};

/// The tables.
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    spans: Table,
    quarantine: Table,
}

/// Files that are written and not yet visible.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) spans: Vec<DataFile>,
    pub(crate) quarantine: Vec<DataFile>,
}

/// What came of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Committed {
    /// The rows are in the table.
    Ours,
    /// Somebody else wrote under the name; the rows are not in the table.
    Theirs,
}

/// Attempts to be first among several writers before the caller is told; some ten seconds.
const ATTEMPTS: u32 = 9;

/// The numbers up to which the tables hold a source's rows; 0 where they hold none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) spans: u64,
    pub(crate) quarantine: u64,
}

impl Tables {
    pub(crate) async fn open(lake: &Lake) -> Result<Self, Error> {
        Ok(Self { spans: lake.table("spans").await?, quarantine: lake.table("quarantine").await? })
    }

    /// How far a source came.
    pub(crate) async fn held(&self, source: &str) -> Result<Held, Error> {
        Ok(Held {
            spans: version(self.spans.snapshot().await?.txn(source)),
            quarantine: version(self.quarantine.snapshot().await?.txn(source)),
        })
    }

    /// Writes spans as files, durable and not yet visible.
    pub(crate) async fn write_spans(&self, rows: &[RecordBatch]) -> Result<Vec<DataFile>, Error> {
        self.spans.write(rows, Order::AsIs).await
    }

    /// The same for quarantined spans.
    pub(crate) async fn write_quarantine(&self, rows: &[RecordBatch]) -> Result<Vec<DataFile>, Error> {
        self.quarantine.write(rows, Order::AsIs).await
    }

    /// Makes files of quarantined spans visible. `held` is the number that this follows.
    pub(crate) async fn commit_quarantine(
        &self,
        files: &[DataFile],
        source: &str,
        held: u64,
        number: u64,
    ) -> Result<Committed, Error> {
        commit(&self.quarantine, files, source, held, number).await
    }

    /// Makes files of spans visible, and notes the number even where there are none.
    pub(crate) async fn commit_spans(
        &self,
        files: &[DataFile],
        source: &str,
        held: u64,
        number: u64,
    ) -> Result<Committed, Error> {
        commit(&self.spans, files, source, held, number).await
    }
}

/// Commits on the very version of the table in which it found the number that this follows.
async fn commit(
    table: &Table,
    files: &[DataFile],
    source: &str,
    held: u64,
    number: u64,
) -> Result<Committed, Error> {
    let commit = Commit {
        add: files.to_vec(),
        txns: vec![(source.to_owned(), i64::try_from(number).unwrap_or(i64::MAX))],
        data_change: true,
        operation: "WRITE".to_owned(),
        ..Commit::default()
    };
    let mut attempt = 0;
    loop {
        let base = table.snapshot().await?;
        let found = version(base.txn(source));
        // A commit whose answer was lost is there under our number, with our files.
        let ours = files.first().is_none_or(|file| base.file(&file.path).is_some());
        if found == number && ours {
            return Ok(Committed::Ours);
        }
        if found != held {
            return Ok(Committed::Theirs);
        }
        match table.commit(&base, commit.clone()).await {
            Ok(_) => return Ok(Committed::Ours),
            Err(Error::Conflict { .. }) if attempt < ATTEMPTS => {
                attempt += 1;
                let most = 10_u64 << attempt;
                tokio::time::sleep(Duration::from_millis(rand::random_range(most / 2..=most))).await;
            }
            Err(error) => return Err(error),
        }
    }
}

fn version(txn: Option<i64>) -> u64 {
    txn.and_then(|version| u64::try_from(version).ok()).unwrap_or(0)
}
