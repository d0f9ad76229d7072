//! What a compaction merges next.
//!
//! Files that were flushed are sorted, as many as fit in memory at a time; sorted ones of like size are
//! merged, so that a row is written anew as often as the file sizes have orders of magnitude, not once a
//! beat. On a day that is over, whatever is small is merged in the end. Invariant: a step's files are of
//! one partition, and either all read by jobs or all not.

use std::collections::{BTreeMap, BTreeSet};

use super::merge::FAN_IN;
use crate::stats::{day_number, days_since_1970};
use crate::{Compaction, DataFile};

/// Bytes of the smallest tier; each tier is [`FAN_IN`] times as large as the one below.
const SMALLEST_TIER: u64 = 512 << 10;

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Sort files that were flushed.
    Sort(Vec<DataFile>),
    /// Merge sorted files into one.
    Merge(Vec<DataFile>),
}

impl Step {
    pub(super) fn files(&self) -> &[DataFile] {
        match self {
            Self::Sort(files) | Self::Merge(files) => files,
        }
    }
}

/// The steps that can be done now, one partition after the other; what comes of them may give more.
pub(super) fn steps(compaction: &Compaction, files: &[DataFile], fresh: &BTreeSet<String>) -> Vec<Step> {
    let mut kinds: BTreeMap<_, (Vec<&DataFile>, Vec<&DataFile>)> = BTreeMap::new();
    for file in files.iter().filter(|file| file.size < compaction.target_bytes / 2) {
        let (loose, sorted) = kinds.entry((&file.partition_values, fresh.contains(&file.path))).or_default();
        if file.is_sorted() { sorted } else { loose }.push(file);
    }
    let mut steps = Vec::new();
    for ((values, _), (loose, sorted)) in kinds {
        let closed = is_closed(compaction, values);
        let enough =
            if closed { loose.len() + sorted.len() > 1 } else { loose.len() >= compaction.min_files };
        if enough && !loose.is_empty() {
            steps.push(Step::Sort(loose.into_iter().cloned().collect()));
            if closed {
                // What comes of it is merged with the rest, in the next steps.
                continue;
            }
        }
        steps.extend(mergers(compaction, sorted, closed));
    }
    steps
}

/// Sorted files of a partition that are worth merging with each other.
fn mergers(compaction: &Compaction, mut sorted: Vec<&DataFile>, closed: bool) -> Vec<Step> {
    sorted.sort_by(|a, b| a.size.cmp(&b.size).then_with(|| a.path.cmp(&b.path)));
    let least = if closed { 2 } else { compaction.min_files.clamp(2, FAN_IN) };
    let mut steps = Vec::new();
    let mut group: Vec<DataFile> = Vec::new();
    for file in sorted {
        let of_the_group = group.first().is_none_or(|first| closed || tier(first.size) == tier(file.size));
        let held: u64 = group.iter().map(|file| file.size).sum();
        if !of_the_group || group.len() == FAN_IN || held >= compaction.target_bytes {
            steps.push(std::mem::take(&mut group));
        }
        group.push(file.clone());
    }
    steps.push(group);
    steps.retain(|group| group.len() >= least || full(compaction, group));
    steps.into_iter().map(Step::Merge).collect()
}

/// Whether files make a finished one, though they are few.
fn full(compaction: &Compaction, group: &[DataFile]) -> bool {
    group.len() > 1 && group.iter().map(|file| file.size).sum::<u64>() >= compaction.target_bytes
}

/// Order of magnitude of a file's size.
fn tier(size: u64) -> u32 {
    (size / SMALLEST_TIER).max(1).ilog(FAN_IN as u64)
}

/// Whether no more rows are expected in a partition.
fn is_closed(compaction: &Compaction, values: &BTreeMap<String, Option<String>>) -> bool {
    let Some(before) = compaction.closed_before.map(days_since_1970) else {
        return false;
    };
    let day = values.values().next().and_then(|value| value.as_deref()).and_then(day_number);
    day.is_some_and(|day| day < before)
}
