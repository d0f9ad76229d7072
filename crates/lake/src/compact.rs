//! Compaction: many small files of a partition become few, sorted.
//!
//! A flush every few seconds makes thousands of files a day; a query opens each of them. When to compact
//! is left to the caller. Invariant: the rows of the table are the same before and after, at every
//! moment and after every crash; that they are is [`Table::rewrite`]'s doing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use crate::stats::{day_number, days_since_1970};
use crate::{DataFile, Order, Result, Snapshot, Table};

/// Which files are merged, and how large they become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Bytes that a finished file has, or somewhat more.
    pub target_bytes: u64,
    /// Fewest files of like size that are worth merging.
    pub min_files: usize,
    /// Bytes of decoded rows that are held at once.
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
        let groups = compaction.groups(base.files(), &self.fresh(&base, compaction).await?);
        let planned = groups.into_iter().map(|group| Planned {
            partition: group.first().map(|file| file.partition_values.clone()).unwrap_or_default(),
            files: group.len(),
            bytes: group.iter().map(|file| file.size).sum(),
            rows: group.iter().map(|file| file.rows).sum(),
        });
        Ok(planned.collect())
    }

    /// Merges small files, a few at a time, each merger a commit of its own.
    ///
    /// # Errors
    /// [`crate::Error::Conflict`] where another rewrite came in between: what was merged until then
    /// stays, and the rest is left to the next run. [`crate::Error::Damaged`] where a file cannot be
    /// read; it and its neighbours stay as they are. [`crate::Error::Unsupported`] where the table has
    /// columns that are not known here.
    pub async fn compact(&self, compaction: &Compaction) -> Result<Compacted> {
        let mut done = Compacted::default();
        let mut base = self.snapshot().await?;
        self.all_columns_known(&base)?;
        let fresh = self.fresh(&base, compaction).await?;
        for group in compaction.groups(base.files(), &fresh) {
            let mut rows = Vec::new();
            for file in &group {
                rows.extend(self.read(file).await?);
            }
            let merged = self.write(&rows, Order::Sorted).await?;
            done.from += group.len();
            done.bytes_from += group.iter().map(|file| file.size).sum::<u64>();
            done.into += merged.len();
            done.bytes_into += merged.iter().map(|file| file.size).sum::<u64>();
            self.rewrite(&base, merged, group, &[], false).await?;
            base = self.snapshot().await?;
        }
        Ok(done)
    }

    /// Paths of the files that hold rows which jobs have not read.
    async fn fresh(&self, base: &Snapshot, compaction: &Compaction) -> Result<BTreeSet<String>> {
        let Some(version) = compaction.jobs_have_read else {
            return Ok(BTreeSet::new());
        };
        Ok(self.added_since(version, base).await?.into_iter().map(|file| file.path).collect())
    }
}

impl Compaction {
    /// The files to be merged with each other, one group after the other.
    fn groups(&self, files: &[DataFile], fresh: &BTreeSet<String>) -> Vec<Vec<DataFile>> {
        let mut partitions: BTreeMap<_, Vec<&DataFile>> = BTreeMap::new();
        for file in files.iter().filter(|file| file.size < self.target_bytes / 2) {
            let key = (&file.partition_values, fresh.contains(&file.path));
            partitions.entry(key).or_default().push(file);
        }
        let mut groups = Vec::new();
        for ((values, _), files) in partitions {
            let least = if self.is_closed(values) { 2 } else { self.min_files };
            if files.len() < least {
                continue;
            }
            let mut group: Vec<DataFile> = Vec::new();
            for file in files {
                let held: u64 = group.iter().map(|file| file.size).sum();
                if held + file.size > self.target_bytes {
                    groups.push(std::mem::take(&mut group));
                }
                group.push(file.clone());
            }
            groups.push(group);
        }
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// Whether no more rows are expected in a partition.
    fn is_closed(&self, values: &BTreeMap<String, Option<String>>) -> bool {
        let Some(before) = self.closed_before.map(days_since_1970) else {
            return false;
        };
        let day = values.values().next().and_then(|value| value.as_deref()).and_then(day_number);
        day.is_some_and(|day| day < before)
    }
}
