//! Verify: every inconsistency of a lake that can be named, with what to do about it.
//!
//! The log is looked at in `log.rs`, the data files in `files.rs`. Which versions must be readable, and
//! what the rows themselves should be, is the caller's to know. Invariant: nothing is changed and nothing
//! is made, on a read-only lake too.

mod files;
mod log;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::files::Files;
use crate::log::TableLog;
use crate::{Lake, Result, Table, TableSchema};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; every row is there.
    Note,
    /// Rows or versions are lost, or will be.
    Fault,
}

/// What is wrong, as scripts match it ([`Kind::as_str`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// The table cannot be read at all.
    Table,
    /// An entry of the log is missing between others.
    LogGap,
    /// An entry of the log cannot be read.
    LogEntry,
    /// A checkpoint cannot be read or says something else than the log.
    Checkpoint,
    /// A pinned version cannot be read any more.
    Pin,
    /// A file is gone.
    Missing,
    /// A file has another length than the log says.
    Size,
    /// A file cannot be read as Parquet.
    Damaged,
    /// A file has other rows than the log says.
    Rows,
    /// A file's columns do not fit the table.
    Columns,
    /// A file's partition values are not those of its table or its folder.
    Partition,
    /// A file's rows are not in the order that its name says.
    Order,
    /// A transaction's number went back.
    Transaction,
    /// Columns that are not known here.
    Unknown,
    /// A file that no version names.
    Unreferenced,
}

impl Kind {
    /// Its name in lower case, for scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::LogGap => "log_gap",
            Self::LogEntry => "log_entry",
            Self::Checkpoint => "checkpoint",
            Self::Pin => "pin",
            Self::Missing => "missing",
            Self::Size => "size",
            Self::Damaged => "damaged",
            Self::Rows => "rows",
            Self::Columns => "columns",
            Self::Partition => "partition",
            Self::Order => "order",
            Self::Transaction => "transaction",
            Self::Unknown => "unknown_columns",
            Self::Unreferenced => "unreferenced",
        }
    }
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Table.
    pub table: String,
    /// File, by its path in the table's folder; none where it is about the whole table.
    pub file: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, as a sentence without its first capital and its full stop.
    pub what: String,
    /// What to do about it, likewise.
    pub what_to_do: String,
}

/// What is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Whether every row of every file is read; otherwise footers only.
    pub deep: bool,
    /// Versions by table that must be readable, with all their files: those that `snapshots` pins.
    pub pinned: BTreeMap<String, Vec<i64>>,
}

/// How far a verification came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Table that is being looked at.
    pub table: String,
    /// Its files that were looked at.
    pub files: usize,
    /// Of how many.
    pub of: usize,
}

/// Findings of one table as they come.
struct Report {
    table: String,
    findings: Vec<Finding>,
}

impl Report {
    fn add(
        &mut self,
        kind: Kind,
        file: Option<&str>,
        what: impl Into<String>,
        what_to_do: impl Into<String>,
    ) {
        let severity = match kind {
            Kind::Unknown | Kind::Unreferenced => Severity::Note,
            _ => Severity::Fault,
        };
        self.findings.push(Finding {
            table: self.table.clone(),
            file: file.map(str::to_owned),
            kind,
            severity,
            what: what.into(),
            what_to_do: what_to_do.into(),
        });
    }
}

impl Lake {
    /// Looks for everything that is wrong with the tables that exist.
    ///
    /// # Errors
    /// [`crate::Error::Store`] and [`crate::Error::Denied`] where the lake itself cannot be read; what is
    /// wrong with a table or a file is a finding, not an error.
    pub async fn verify(
        &self,
        verification: &Verification,
        progress: &(dyn Fn(&Progress) + Send + Sync),
    ) -> Result<Vec<Finding>> {
        let schemas: Vec<TableSchema> = self.schemas().iter().cloned().collect();
        let mut findings = Vec::new();
        for schema in schemas {
            let mut report = Report { table: schema.name.clone(), findings: Vec::new() };
            self.verify_table(&schema, verification, progress, &mut report).await?;
            findings.extend(report.findings);
        }
        Ok(findings)
    }

    async fn verify_table(
        &self,
        schema: &TableSchema,
        verification: &Verification,
        progress: &(dyn Fn(&Progress) + Send + Sync),
        report: &mut Report,
    ) -> Result<()> {
        let log = self.log(&schema.name)?;
        let listing = log.listing().await?;
        if listing.entries.is_empty() && listing.checkpoints.is_empty() {
            return self.verify_absent(schema, &log, report).await;
        }
        let named = log::verify(log.as_ref(), &listing, report).await?;
        let snapshot = match log.replayed(None).await {
            Ok(Some(snapshot)) => snapshot,
            Err(error) if error.is_denied() => return Err(error),
            failed => {
                let reason = failed.err().map_or_else(|| "its log is no log".to_owned(), |e| e.to_string());
                let todo = "mend what else is found in its log, or use the version of Plimsoll that wrote it";
                report.add(Kind::Table, None, format!("it cannot be read: {reason}"), todo);
                return Ok(());
            }
        };
        let table = self.make(&schema.name, Arc::clone(&log), &snapshot)?;
        log::verify_columns(&table, &snapshot, report);
        let mut versions = BTreeMap::from([(snapshot.version(), snapshot)]);
        let pinned: BTreeSet<i64> =
            verification.pinned.get(&schema.name).into_iter().flatten().copied().collect();
        for version in pinned {
            if versions.contains_key(&version) {
                continue;
            }
            match log.replayed(Some(version)).await {
                Ok(Some(snapshot)) => drop(versions.insert(version, snapshot)),
                failed => {
                    let reason = failed.err().map_or_else(|| "there is none".to_owned(), |e| e.to_string());
                    let what = format!("version {version}, which a snapshot pins, cannot be read: {reason}");
                    let todo = "what was asked of that snapshot cannot be answered again; a new round of jobs makes a new one";
                    report.add(Kind::Pin, None, what, todo);
                }
            }
        }
        let files = Files { table: &table, deep: verification.deep, progress };
        files.verify(&versions, named, report).await
    }

    /// A table that has no log has no files either.
    async fn verify_absent(
        &self,
        schema: &TableSchema,
        log: &Arc<dyn TableLog>,
        report: &mut Report,
    ) -> Result<()> {
        let root = schema.name.as_str().into();
        let table = Table::new(Arc::new(schema.clone()), root, self.store(), Arc::clone(log));
        let files = table.data_objects().await?.len();
        if files > 0 {
            let what = format!("{files} files lie in its folder, but its log is gone");
            let todo =
                "restore the folder `_delta_log` from a backup; without it the rows are not part of the lake";
            report.add(Kind::Table, None, what, todo);
        }
        Ok(())
    }
}
