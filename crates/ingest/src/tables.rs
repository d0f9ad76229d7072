//! The two tables that ingest writes, and the one order in which it commits to them.
//!
//! A source names its commits (`otlp/<node>`, `file/<sha256>`, `kafka/<cluster>/<topic id>/<partition>`)
//! and numbers them upwards. `quarantine` is committed first and `spans`, always, second: what `spans`
//! holds under a number is therefore in `quarantine` too, and a source that asks `spans` how far it came
//! has lost nothing and repeats nothing.
//!
//! A commit names the number that it follows, for each of its sources. Where the table holds another one,
//! somebody else has written under the name: a copied journal, a second ingest of the same file, a reader
//! that a Kafka partition has moved to, or an answer of the object store to a former process that came
//! after its death. Nothing of that share is written then.
//!
//! Invariant: rows under one name and number are in each table once, however often they are offered.

use std::time::Duration;

use arrow::array::RecordBatch;
use plimsoll_lake::{Commit, DataFile, Error, Lake, Order, Snapshot, Table};

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

/// A source's way from the number that the table holds to the one that is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) source: String,
    pub(crate) held: u64,
    pub(crate) number: u64,
}

/// Files and the steps that they cover: committed together or not at all. Shares that are offered
/// together stand or fall one by one, and those that stand are one commit.
///
/// A share that was offered once must be offered again as it was until the lake has said what came of it:
/// its first file is how a commit is known whose answer was lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Share {
    pub(crate) files: Vec<DataFile>,
    pub(crate) steps: Vec<Step>,
}

/// What came of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Committed {
    /// The rows are in the table.
    Ours,
    /// Somebody else wrote under a name, up to this number; the rows are not in the table.
    Theirs {
        /// What the table holds of it.
        found: u64,
    },
}

/// Attempts to be first among several writers before the caller is told; some ten seconds.
const ATTEMPTS: u32 = 9;

/// The numbers up to which the tables hold a source's rows; 0 where they hold none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) spans: u64,
    pub(crate) quarantine: u64,
}

/// Where a share stands in a version of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is in: a commit whose answer was lost.
    There,
    /// It follows what is there.
    Next,
    /// Something else is there.
    Astray { found: u64 },
}

impl Tables {
    pub(crate) async fn open(lake: &Lake) -> Result<Self, Error> {
        Ok(Self { spans: lake.table("spans").await?, quarantine: lake.table("quarantine").await? })
    }

    /// How far a source came.
    pub(crate) async fn held(&self, source: &str) -> Result<Held, Error> {
        Ok(self.held_by(&[source]).await?.first().copied().unwrap_or_default())
    }

    /// How far several sources came, in their order.
    pub(crate) async fn held_by(&self, sources: &[&str]) -> Result<Vec<Held>, Error> {
        // In this order: `quarantine` is committed first, so that it never seems to be behind.
        let spans = self.spans.snapshot().await?;
        let quarantine = self.quarantine.snapshot().await?;
        let held = |source: &&str| Held {
            spans: version(spans.txn(source)),
            quarantine: version(quarantine.txn(source)),
        };
        Ok(sources.iter().map(held).collect())
    }

    /// Writes spans as files, durable and not yet visible.
    pub(crate) async fn write_spans(&self, rows: &[RecordBatch]) -> Result<Vec<DataFile>, Error> {
        self.spans.write(rows, Order::AsIs).await
    }

    /// The same for quarantined spans.
    pub(crate) async fn write_quarantine(&self, rows: &[RecordBatch]) -> Result<Vec<DataFile>, Error> {
        self.quarantine.write(rows, Order::AsIs).await
    }

    /// Makes quarantined spans visible; says what came of each share.
    pub(crate) async fn commit_quarantine(&self, shares: &[Share]) -> Result<Vec<Committed>, Error> {
        commit(&self.quarantine, shares).await
    }

    /// Makes spans visible, and notes the numbers even where there are none; says what came of each
    /// share.
    pub(crate) async fn commit_spans(&self, shares: &[Share]) -> Result<Vec<Committed>, Error> {
        commit(&self.spans, shares).await
    }
}

impl Share {
    /// A share of one source.
    pub(crate) fn one(files: Vec<DataFile>, source: &str, held: u64, number: u64) -> Self {
        let source = source.to_owned();
        Self { files, steps: vec![Step { source, held, number }] }
    }

    fn standing(&self, base: &Snapshot) -> Standing {
        let off = |at: fn(&Step) -> u64| {
            let mut found = self.steps.iter().map(|step| (version(base.txn(&step.source)), at(step)));
            found.find(|(found, wanted)| found != wanted).map(|(found, _)| found)
        };
        // Nobody else can have added our files; without any, the numbers are all that there was to say.
        let there = match self.files.first() {
            Some(file) => base.file(&file.path).is_some(),
            None => off(|step| step.number).is_none(),
        };
        match off(|step| step.held) {
            _ if there => Standing::There,
            None => Standing::Next,
            Some(found) => Standing::Astray { found },
        }
    }
}

/// Commits on the very version of the table in which it found the numbers that this follows.
async fn commit(table: &Table, shares: &[Share]) -> Result<Vec<Committed>, Error> {
    let mut attempt = 0;
    loop {
        let base = table.snapshot().await?;
        let standings: Vec<Standing> = shares.iter().map(|share| share.standing(&base)).collect();
        let outcome = || {
            let committed = |standing: &Standing| match standing {
                Standing::There | Standing::Next => Committed::Ours,
                Standing::Astray { found } => Committed::Theirs { found: *found },
            };
            standings.iter().map(committed).collect()
        };
        let mut commit = Commit { data_change: true, operation: "WRITE".to_owned(), ..Commit::default() };
        for (share, _) in shares.iter().zip(&standings).filter(|(_, at)| **at == Standing::Next) {
            commit.add.extend(share.files.iter().cloned());
            commit.txns.extend(
                share
                    .steps
                    .iter()
                    .map(|step| (step.source.clone(), i64::try_from(step.number).unwrap_or(i64::MAX))),
            );
        }
        if commit.add.is_empty() && commit.txns.is_empty() {
            return Ok(outcome());
        }
        match table.commit(&base, commit).await {
            Ok(_) => return Ok(outcome()),
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
