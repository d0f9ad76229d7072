//! What a compaction merges next.
//!
//! Files that were flushed are sorted, as many as fit in memory at a time; sorted ones of like size are
//! copied into one, so that a row is copied as often as the file sizes have orders of magnitude, not once
//! a beat. On a day that is over, whatever is small goes together in the end. Invariant: a step's files
//! are of one partition, and either all read by jobs or all not.

use std::collections::{BTreeMap, BTreeSet};

use crate::stats::{day_number, days_since_1970};
use crate::{Compaction, DataFile};

/// Files of one tier that become one of the next.
const FAN_IN: usize = 8;

/// Bytes of the smallest tier; each tier is [`FAN_IN`] times as large as the one below.
const SMALLEST_TIER: u64 = 512 << 10;

/// A sorted file of fewer rows and bytes than this is sorted again with others: its row groups are too
/// small for those who scan them. Both are less than what a compaction holds in memory at once.
const SMALL: (u64, u64) = (32 * 1024, 4 << 20);

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Sort files that were flushed, or are small.
    Sort(Vec<DataFile>),
    /// Copy sorted files into one.
    Concat(Vec<DataFile>),
}

impl Step {
    pub(super) fn files(&self) -> &[DataFile] {
        match self {
            Self::Sort(files) | Self::Concat(files) => files,
        }
    }
}

/// Files of one partition that may be merged with each other.
#[derive(Default)]
struct Candidates {
    /// As they were flushed.
    loose: Vec<DataFile>,
    /// Sorted, and of few rows.
    small: Vec<DataFile>,
    /// Sorted.
    sorted: Vec<DataFile>,
}

/// The steps that can be done now, one partition after the other; what comes of them may give more.
pub(super) fn steps(compaction: &Compaction, files: &[DataFile], fresh: &BTreeSet<String>) -> Vec<Step> {
    let mut partitions: BTreeMap<_, Candidates> = BTreeMap::new();
    for file in files.iter().filter(|file| file.size < compaction.target_bytes / 2) {
        let candidates = partitions.entry((&file.partition_values, fresh.contains(&file.path))).or_default();
        let small = file.rows < SMALL.0 && file.size < SMALL.1;
        let kind = match (file.is_sorted(), small) {
            (false, _) => &mut candidates.loose,
            (true, true) => &mut candidates.small,
            (true, false) => &mut candidates.sorted,
        };
        kind.push(file.clone());
    }
    let partitions = partitions.into_iter();
    partitions
        .flat_map(|((values, _), candidates)| {
            if is_closed(compaction, values) {
                candidates.finished(compaction)
            } else {
                candidates.kept_few(compaction)
            }
        })
        .collect()
}

impl Candidates {
    /// What finishes a day: whatever is small goes together.
    fn finished(mut self, compaction: &Compaction) -> Vec<Step> {
        if self.loose.len() + self.small.len() + self.sorted.len() < 2 {
            return Vec::new();
        }
        if !self.loose.is_empty() || self.small.len() > 1 {
            self.loose.append(&mut self.small);
            return vec![Step::Sort(self.loose)];
        }
        self.sorted.append(&mut self.small);
        concats(self.sorted, 2, |_, _| true, compaction)
    }

    /// What keeps the files of a day few while more come.
    fn kept_few(self, compaction: &Compaction) -> Vec<Step> {
        let least = compaction.min_files.max(2);
        let mut steps = Vec::new();
        for files in [self.loose, self.small] {
            if files.len() >= least {
                steps.push(Step::Sort(files));
            }
        }
        let alike = |a: &DataFile, b: &DataFile| tier(a.size) == tier(b.size);
        steps.extend(concats(self.sorted, least.min(FAN_IN), alike, compaction));
        steps
    }
}

/// Sorted files that are worth copying into one: at least so many, or enough to make a finished one.
fn concats(
    mut sorted: Vec<DataFile>,
    least: usize,
    alike: impl Fn(&DataFile, &DataFile) -> bool,
    compaction: &Compaction,
) -> Vec<Step> {
    sorted.sort_by(|a, b| a.size.cmp(&b.size).then_with(|| a.path.cmp(&b.path)));
    let mut groups: Vec<(u64, Vec<DataFile>)> = Vec::new();
    for file in sorted {
        match groups.last_mut() {
            Some((bytes, group))
                if *bytes < compaction.target_bytes
                    && group.first().is_some_and(|first| alike(first, &file)) =>
            {
                *bytes += file.size;
                group.push(file);
            }
            _ => groups.push((file.size, vec![file])),
        }
    }
    let worth = |(bytes, group): &(u64, Vec<DataFile>)| {
        group.len() >= least || group.len() > 1 && *bytes >= compaction.target_bytes
    };
    groups.into_iter().filter(worth).map(|(_, group)| Step::Concat(group)).collect()
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
