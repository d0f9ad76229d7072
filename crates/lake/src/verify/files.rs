//! What can be wrong with a table's data files.
//!
//! Each file of a version that must be readable is looked at once: that it is there, as long as the log
//! says, whole, with the rows and columns that it should have. Invariant: one bad file hides no other.

use std::collections::{BTreeMap, BTreeSet};

use arrow::row::OwnedRow;
use futures::stream::{self, StreamExt};

use super::{Finding, Kind, Progress, Report};
use crate::compact::Sorter;
use crate::stats::day_number;
use crate::write::folder;
use crate::{DataFile, Error, Result, Snapshot, Table};

/// Files that are looked at at once.
const READERS: usize = 8;

/// Rows in a batch where all are read.
const BATCH: usize = 16 * 1024;

/// The files of one table.
pub(super) struct Files<'a> {
    pub(super) table: &'a Table,
    /// Whether all rows are read.
    pub(super) deep: bool,
    pub(super) progress: &'a (dyn Fn(&Progress) + Send + Sync),
}

impl Files<'_> {
    /// Looks at the files of some versions; `named` are those that the log names at all.
    pub(super) async fn verify(
        &self,
        versions: &BTreeMap<i64, Snapshot>,
        named: BTreeSet<String>,
        report: &mut Report,
    ) -> Result<()> {
        let mut needed: BTreeMap<&str, (&DataFile, i64)> = BTreeMap::new();
        for (version, snapshot) in versions {
            needed.extend(snapshot.files().iter().map(|file| (file.path.as_str(), (file, *version))));
        }
        let objects = self.table.data_objects().await?;
        let sizes: BTreeMap<String, u64> =
            objects.iter().map(|object| (object.location.to_string(), object.size)).collect();
        let of = needed.len();
        let mut looks = Vec::with_capacity(of);
        for (file, version) in needed.values() {
            let size = sizes.get(&self.table.in_lake(&file.path)).copied();
            looks.push(self.look(file, *version, size));
        }
        let mut looked = stream::iter(looks).buffered(READERS);
        let mut files = 0;
        while let Some(findings) = looked.next().await {
            report.findings.extend(findings?);
            files += 1;
            (self.progress)(&Progress { table: report.table.clone(), files, of });
        }
        let known = named.iter().map(String::as_str).chain(needed.keys().copied());
        let known: BTreeSet<String> = known.map(|path| self.table.in_lake(path)).collect();
        let unnamed: Vec<_> = objects.iter().filter(|o| !known.contains(o.location.as_ref())).collect();
        if let Some(first) = unnamed.first() {
            let bytes: u64 = unnamed.iter().map(|object| object.size).sum();
            let what = format!(
                "no version names {} files of {bytes} bytes, {} the first",
                unnamed.len(),
                first.location
            );
            let todo = "nothing: a writer died or has not committed yet, and a vacuum removes them once they are old";
            report.add(Kind::Unreferenced, None, what, todo);
        }
        Ok(())
    }

    /// What is wrong with one file.
    async fn look(&self, file: &DataFile, version: i64, size: Option<u64>) -> Result<Vec<Finding>> {
        let mut report = Report { table: self.table.schema().name.clone(), findings: Vec::new() };
        let path = Some(file.path.as_str());
        let restore = format!(
            "restore it from a backup; else its {} rows are lost until their source is ingested anew",
            file.rows
        );
        self.look_at_partition(file, &mut report);
        match size {
            None => {
                report.add(
                    Kind::Missing,
                    path,
                    format!("it is gone, though version {version} has it"),
                    restore,
                );
            }
            Some(size) if size != file.size => {
                let what = format!("it holds {size} bytes, the log says {}", file.size);
                report.add(Kind::Size, path, what, restore);
            }
            Some(_) => match self.look_inside(file).await {
                Ok(None) => {}
                Ok(Some((kind, what))) => report.add(kind, path, what, restore),
                Err(Error::Damaged { reason, .. }) => report.add(Kind::Damaged, path, reason, restore),
                Err(error) => return Err(error),
            },
        }
        Ok(report.findings)
    }

    fn look_at_partition(&self, file: &DataFile, report: &mut Report) {
        let by = &self.table.schema().partition_by;
        let columns: BTreeSet<&String> = file.partition_values.keys().collect();
        let odd = file.partition_values.values().flatten().find(|value| day_number(value).is_none());
        let what = if columns != by.iter().collect() {
            format!("the log places it by {columns:?}, the table is partitioned by {by:?}")
        } else if let Some(value) = odd {
            format!("the log says that it is of {value:?}, which is no day")
        } else if !file.path.starts_with(&folder(&file.partition_values)) {
            format!("the log says that it is of {:?}, its folder says otherwise", file.partition_values)
        } else {
            return;
        };
        let todo = "restore the log from a backup, or ingest the file's rows anew into another lake";
        report.add(Kind::Partition, Some(&file.path), what, todo);
    }

    /// Reads the footer, and the rows where that is asked for.
    async fn look_inside(&self, file: &DataFile) -> Result<Option<(Kind, String)>> {
        let footer = self.table.footer(file).await?;
        let held = footer.rows();
        if held != file.rows {
            return Ok(Some((Kind::Rows, format!("it holds {held} rows, the log says {}", file.rows))));
        }
        if let Some(what) = footer.misfit(self.table.schema()) {
            return Ok(Some((Kind::Columns, what)));
        }
        if self.deep { self.look_at_rows(file, &footer.group_starts()).await } else { Ok(None) }
    }

    /// Reads all rows; `starts` are the rows with which an order begins anew.
    async fn look_at_rows(&self, file: &DataFile, starts: &BTreeSet<u64>) -> Result<Option<(Kind, String)>> {
        let schema = self.table.schema();
        let mut sorter = if file.is_sorted() { Sorter::new(schema, &schema.arrow_in_file())? } else { None };
        let mut last: Option<OwnedRow> = None;
        let mut row = 0;
        let mut rows = self.table.rows(file, BATCH);
        while let Some(batch) = rows.next().await {
            let Some(sorter) = sorter.as_mut() else {
                batch?;
                continue;
            };
            for key in &sorter.keys(&batch?)? {
                if last.as_ref().is_some_and(|last| key < last.row()) && !starts.contains(&row) {
                    let what = format!("row {row} is not in the order that its name says");
                    return Ok(Some((Kind::Order, what)));
                }
                last = Some(key.owned());
                row += 1;
            }
        }
        Ok(None)
    }
}
