//! Compaction: many small files of a partition become few, sorted.
//!
//! A flush every few seconds makes thousands of files a day; a query opens each of them. When to compact
//! is left to the caller. Invariant: the rows of the table are the same before and after, at every
//! moment and after every crash; that they are is [`Table::rewrite`]'s doing.

use std::collections::BTreeMap;

use crate::{DataFile, Order, Result, Table};

/// Which files are merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Fewest files of a partition that are worth merging.
    pub min_files: usize,
    /// Rows that a file is filled up to, and so what is held in memory at once.
    pub target_rows: u64,
    /// Only files written before this, milliseconds since 1970: what jobs have not read yet is better
    /// left apart, for it would make the whole merged file new to them.
    pub before_ms: i64,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { min_files: 8, target_rows: 256 * 1024, before_ms: i64::MAX }
    }
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Files that were merged.
    pub from: usize,
    /// Files that they became.
    pub into: usize,
}

impl Table {
    /// Merges small files, a few at a time, each merger a commit of its own.
    ///
    /// # Errors
    /// [`crate::Error::Conflict`] where another rewrite came in between: what was merged until then
    /// stays, and the rest is left to the next run. [`crate::Error::Damaged`] where a file cannot be
    /// read; it and its neighbours stay as they are.
    pub async fn compact(&self, compaction: &Compaction) -> Result<Compacted> {
        let mut done = Compacted::default();
        let mut base = self.snapshot().await?;
        for group in compaction.groups(base.files()) {
            let mut rows = Vec::new();
            for file in &group {
                rows.extend(self.read(file).await?);
            }
            let merged = self.write(&rows, Order::Sorted).await?;
            done.from += group.len();
            done.into += merged.len();
            self.rewrite(&base, merged, group, &[], false).await?;
            base = self.snapshot().await?;
        }
        Ok(done)
    }
}

impl Compaction {
    /// The files to be merged with each other, one group after the other.
    fn groups(&self, files: &[DataFile]) -> Vec<Vec<DataFile>> {
        let mut partitions: BTreeMap<_, Vec<&DataFile>> = BTreeMap::new();
        let small = |file: &&DataFile| file.rows < self.target_rows / 2 && file.modified_ms < self.before_ms;
        for file in files.iter().filter(small) {
            partitions.entry(&file.partition_values).or_default().push(file);
        }
        let mut groups = Vec::new();
        for files in partitions.into_values().filter(|files| files.len() >= self.min_files) {
            let mut group: Vec<DataFile> = Vec::new();
            for file in files {
                let held: u64 = group.iter().map(|file| file.rows).sum();
                if held + file.rows > self.target_rows {
                    groups.push(std::mem::take(&mut group));
                }
                group.push(file.clone());
            }
            groups.push(group);
        }
        groups.retain(|group| group.len() > 1);
        groups
    }
}
