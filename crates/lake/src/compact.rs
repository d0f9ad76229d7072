//! Compaction: many small files of a partition become few, sorted.
//!
//! A flush every few seconds makes thousands of files a day; a query opens each of them. When to compact
//! is left to the caller; which files are merged is `plan.rs`, how, in bounded memory, `sort.rs` (what
//! was flushed) and `concat.rs` (what is sorted). Every finished file is a commit of its own. Invariant: the
//! rows of the table are the same before and after, at every moment and after every crash; that they are is
//! [`Table::rewrite`]'s doing.

mod concat;
mod plan;
mod sort;

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use self::plan::Step;
pub(crate) use self::sort::Sorter;
use self::sort::{Group, Groups};
use crate::output::Output;
use crate::{DataFile, Error, Order, Result, Snapshot, Table};

/// Which files are merged, and how large they become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Bytes that a finished file has: from half of this to half as much again.
    pub target_bytes: u64,
    /// Fewest files of like size that are worth merging.
    pub min_files: usize,
    /// Bytes of decoded rows that are held at once; with what is read and encoded meanwhile, memory
    /// grows by some half more.
    pub memory_bytes: usize,
    /// Version that jobs have read: files that hold rows which came after it are merged with each other
    /// only, for a merged file is new to the jobs when a part of it is. None where no jobs read it.
    pub jobs_have_read: Option<i64>,
    /// Partitions of days before this one are finished: however few their small files are, they are
    /// merged.
    pub closed_before: Option<Date>,
}

impl Default for Compaction {
    fn default() -> Self {
        Self {
            target_bytes: 128 << 20,
            min_files: 8,
            memory_bytes: 96 << 20,
            jobs_have_read: None,
            closed_before: None,
        }
    }
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Files that were merged.
    pub from: usize,
    /// Files that they became.
    pub into: usize,
    /// Bytes of the files that were merged.
    pub bytes_from: u64,
    /// Bytes of the files that they became.
    pub bytes_into: u64,
}

/// Files that a compaction would merge with each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planned {
    /// Their partition.
    pub partition: BTreeMap<String, Option<String>>,
    /// How many they are.
    pub files: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// Rows in them.
    pub rows: u64,
}

impl Table {
    /// What [`Table::compact`] would merge first; what comes of it may be merged again.
    ///
    /// # Errors
    /// [`crate::Error::Log`] where the log cannot be read.
    pub async fn compaction_plan(&self, compaction: &Compaction) -> Result<Vec<Planned>> {
        let base = self.snapshot().await?;
        let steps = plan::steps(compaction, base.files(), &self.fresh(&base, compaction).await?);
        let planned = steps.iter().map(Step::files).map(|files| Planned {
            partition: files.first().map(|file| file.partition_values.clone()).unwrap_or_default(),
            files: files.len(),
            bytes: files.iter().map(|file| file.size).sum(),
            rows: files.iter().map(|file| file.rows).sum(),
        });
        Ok(planned.collect())
    }

    /// Merges files until nothing is left that is worth it, each merger a commit of its own. Dropping
    /// the future stops it between two commits.
    ///
    /// # Errors
    /// [`crate::Error::Conflict`] where another rewrite came in between: what was merged until then
    /// stays, and the rest is left to the next run. [`crate::Error::Damaged`] where a file cannot be
    /// read; it and its neighbours stay as they are. [`crate::Error::Unsupported`] where the table has
    /// columns that are not known here.
    pub async fn compact(&self, compaction: &Compaction) -> Result<Compacted> {
        match self.compact_all(compaction).await {
            Err(Error::Damaged { path, reason }) => Err(self.gone_meanwhile(path, reason).await?),
            outcome => outcome,
        }
    }

    /// What a file that cannot be read means: another rewrite and a vacuum may have removed it since the
    /// compaction began.
    async fn gone_meanwhile(&self, path: String, reason: String) -> Result<Error> {
        let now = self.snapshot().await?;
        if now.files().iter().any(|file| self.location(file).as_ref() == path) {
            return Ok(Error::Damaged { path, reason });
        }
        let reason = format!("{path} is no longer part of it");
        Ok(Error::Conflict { table: self.schema().name.clone(), reason })
    }

    async fn compact_all(&self, compaction: &Compaction) -> Result<Compacted> {
        let mut done = Compacted::default();
        loop {
            let mut base = self.snapshot().await?;
            self.all_columns_known(&base)?;
            let fresh = self.fresh(&base, compaction).await?;
            let steps = plan::steps(compaction, base.files(), &fresh);
            if steps.is_empty() {
                return Ok(done);
            }
            for step in steps {
                let files = match step {
                    Step::Sort(files) => files,
                    Step::Concat(files) => {
                        let (table, inputs) = (self.clone(), files.clone());
                        match self.blocking(move || concat::concat(&table, &inputs)).await? {
                            Some(whole) => {
                                base = self.swap(&base, files, vec![whole], &mut done).await?;
                                continue;
                            }
                            None => files,
                        }
                    }
                };
                base = self.sort_files(base, files, compaction, &mut done).await?;
            }
        }
    }

    /// Sorts files of one partition, group by group: one is encoded while the next is read. Each becomes
    /// row groups of the same file until that has its size.
    async fn sort_files(
        &self,
        mut base: Snapshot,
        files: Vec<DataFile>,
        compaction: &Compaction,
        done: &mut Compacted,
    ) -> Result<Snapshot> {
        let partition = files.first().map(|file| file.partition_values.clone()).unwrap_or_default();
        let expected = files.iter().map(|file| file.rows).sum();
        let mut groups = Groups::new(self, files, compaction.memory_bytes / 2);
        let (mut from, mut into) = (Vec::new(), Vec::new());
        let mut output: Option<Output> = None;
        let mut group = groups.next().await?;
        while let Some(Group { rows, files, in_the_middle }) = group {
            let (table, partition, begun) = (self.clone(), partition.clone(), output.take());
            let writing = self.blocking(move || {
                if rows.is_empty() {
                    return Ok(begun);
                }
                let begin = || Output::begin(&table, partition, Order::Sorted, expected);
                let mut output = begun.map_or_else(begin, Ok)?;
                rows.write(table.schema(), &mut output)?;
                Ok(Some(output))
            });
            let (written, next) = futures::join!(writing, groups.next());
            output = written?;
            from.extend(files);
            let is_last = !matches!(next, Ok(Some(_)));
            if let Some(whole) = output.take_if(|output| is_last || output.bytes() >= compaction.target_bytes)
            {
                into.push(self.blocking(move || whole.finish()).await?);
            }
            if output.is_none() && !in_the_middle {
                base = self.swap(&base, std::mem::take(&mut from), std::mem::take(&mut into), done).await?;
            }
            group = next?;
        }
        Ok(base)
    }

    /// Puts files in the place of others that hold the same rows.
    async fn swap(
        &self,
        base: &Snapshot,
        from: Vec<DataFile>,
        into: Vec<DataFile>,
        done: &mut Compacted,
    ) -> Result<Snapshot> {
        let bytes = |files: &[DataFile]| files.iter().map(|file| file.size).sum::<u64>();
        let more = Compacted {
            from: done.from + from.len(),
            into: done.into + into.len(),
            bytes_from: done.bytes_from + bytes(&from),
            bytes_into: done.bytes_into + bytes(&into),
        };
        self.rewrite(base, into, from, &[], false).await?;
        *done = more;
        self.snapshot().await
    }

    /// Paths of the files that hold rows which jobs have not read.
    async fn fresh(&self, base: &Snapshot, compaction: &Compaction) -> Result<BTreeSet<String>> {
        let Some(version) = compaction.jobs_have_read else {
            return Ok(BTreeSet::new());
        };
        Ok(self.added_since(version, base).await?.into_iter().map(|file| file.path).collect())
    }
}
