//! Erasure of a tenant, a user or a session: which traces and runs are theirs, and how their rows go.
//!
//! A trace is erased whole if any of its spans bears the identity. Its spans leave `spans` and
//! `quarantine`, those last by which others are found; the commits are marked by the transaction
//! `plimsoll/erased`, and the round that follows sees which traces have lost spans and makes their runs,
//! days and windows anew. So an erasure that dies is finished by the next one, or by any round. Runs whose spans have expired are told by what `runs`
//! holds of them: their tenant and, where runs are told apart by it, their session.
//!
//! What `vacuum` has not removed yet can still be read in old versions, and the journal, dead letters and
//! exports are not in the lake: those are the caller's. Invariant: between the commits and the round
//! readers keep to the round before, so they see all of it or nothing.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::{Array, AsArray, MapArray, RecordBatch, StringArray};
use futures::TryStreamExt;
use plimsoll_lake::{DataFile, Filtered, Lake, Table};

use crate::{
    error::ProfileError,
    round::{Asked, RECEIVED, Remake, round_asked},
    session::{Reader, SessionFactory},
    snapshot::latest_snapshot,
    tables::{ACTED, ERASED_APP},
    together::texts,
    touched::{ERASED_RUNS, KNOWN_RUNS},
};

/// In which order rows go: a trace may be known by a row of either table alone, so an erasure that dies
/// before all else is gone must leave those that tell.
const ORDER: [(&str, Going); 3] =
    [("quarantine", Going::WhatTellsNothing), ("spans", Going::All), ("quarantine", Going::All)];

/// Rows of the traces that are erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Going {
    /// Those that do not bear the identity themselves.
    WhatTellsNothing,
    All,
}

/// Attempts while other rewrites or rounds are first.
const ATTEMPTS: u32 = 10;

/// Who or what is to be forgotten; a span of any of them counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// Tenants, by the column `tenant`.
    pub tenants: Vec<String>,
    /// Users, by the column `user_id` and the attributes that are called like it.
    pub users: Vec<String>,
    /// Sessions or conversations, by the column `session_id` and the attributes that are called like it.
    pub sessions: Vec<String>,
}

/// What belongs to a subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Traces of which at least one span bears the identity.
    pub traces: BTreeSet<String>,
    /// Runs made of them, and those that bear it themselves.
    pub runs: BTreeSet<String>,
    /// Rows of them, by table, as the lake is now.
    pub rows: BTreeMap<String, u64>,
}

/// What an erasure did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureReport {
    /// What was found when it began.
    pub found: Found,
    /// Rows that left the tables of what was received, by table.
    pub removed: BTreeMap<String, u64>,
    /// Number of the round that no longer shows them.
    pub lake_version: i64,
}

/// A step of an erasure, for those who watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErasureStep<'a> {
    /// What is to go is known.
    Found(&'a Found),
    /// Rows have left a table.
    Removed {
        /// Table.
        table: &'a str,
        /// Rows.
        rows: u64,
    },
    /// Runs, days and windows are being made anew.
    Remaking(&'a str),
}

/// Removes what belongs to a subject from every table, and makes anew what it had gone into.
///
/// # Errors
/// A table that cannot be read or written; [`ProfileError::Overtaken`] where others were first time and
/// again: what was removed until then stays removed, and doing it again finishes it.
pub async fn erase(
    lake: &Lake,
    factory: &SessionFactory,
    subject: &Subject,
    progress: &(dyn Fn(ErasureStep<'_>) + Sync),
) -> Result<ErasureReport, ProfileError> {
    let found = subject.find(lake, factory).await?;
    progress(ErasureStep::Found(&found));
    let mut removed = BTreeMap::new();
    for (name, going) in ORDER {
        let Some(table) = lake.existing(name).await? else { continue };
        let rows = remove(lake, factory, &table, subject, &found.traces, going).await?;
        if rows > 0 {
            progress(ErasureStep::Removed { table: name, rows });
        }
        *removed.entry(name.to_owned()).or_default() += rows;
    }
    let asked = Asked { remake: Remake::Nothing, forgotten: &found.runs };
    let say = |what: &str| progress(ErasureStep::Remaking(what));
    let mut attempt = 1;
    let report = loop {
        match round_asked(lake, factory, asked, &say).await {
            Err(ProfileError::Overtaken) if attempt < ATTEMPTS => attempt += 1,
            done => break done?,
        }
    };
    Ok(ErasureReport { found, removed, lake_version: report.lake_version })
}

/// Takes the rows out of a table in one commit, and says how many went.
async fn remove(
    lake: &Lake,
    factory: &SessionFactory,
    table: &Table,
    subject: &Subject,
    traces: &BTreeSet<String>,
    going: Going,
) -> Result<u64, ProfileError> {
    let reader = Reader::bare(lake, factory)?;
    reader.register_texts("erased_traces", "erased_id", traces)?;
    let mut attempt = 1;
    loop {
        let base = table.snapshot().await?;
        let (mut add, mut gone, mut rows) = (Vec::new(), Vec::new(), 0);
        for file in base.files() {
            if !may_hold(&reader, table, file).await? {
                continue;
            }
            let keep = |batch: &RecordBatch| {
                let theirs = subject.rows(batch);
                let ids = text(batch, "trace_id");
                let of_trace = |row| value(ids, row).is_some_and(|id| traces.contains(id));
                let goes = |(row, theirs): (usize, &bool)| match going {
                    Going::WhatTellsNothing => !theirs && of_trace(row),
                    Going::All => *theirs || of_trace(row),
                };
                Ok(theirs.iter().enumerate().map(|row| Some(!goes(row))).collect())
            };
            if let Filtered::Changed { file: rest, removed } = table.filter(file, keep).await? {
                add.extend(rest);
                gone.push(file.clone());
                rows += removed;
            }
        }
        if gone.is_empty() {
            return Ok(0);
        }
        let txns = [(ERASED_APP.to_owned(), base.txn(ERASED_APP).unwrap_or(0) + 1)];
        match table.remove_rows(&base, add, gone, &txns).await {
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            done => return Ok(done.map(|_| rows)?),
        }
    }
}

/// Whether a file may hold a row to remove. Rows without a trace are looked at one by one.
async fn may_hold(reader: &Reader, table: &Table, file: &DataFile) -> Result<bool, ProfileError> {
    reader.register_files("searched", table, vec![file.clone()])?;
    let whose = "trace_id IS NULL OR trace_id IN (SELECT erased_id FROM erased_traces)";
    Ok(count(reader, "searched", whose).await? > 0)
}

/// Traces of a table of which a span bears the identity.
async fn traces(reader: &Reader, name: &str, subject: &Subject) -> Result<Vec<String>, ProfileError> {
    let columns = if name == "spans" {
        "trace_id, tenant, user_id, session_id, attributes"
    } else {
        "trace_id, attributes"
    };
    let mut rows = reader.plan(&format!("SELECT {columns} FROM {name}")).await?.execute_stream().await?;
    let mut traces = Vec::new();
    while let Some(batch) = rows.try_next().await.map_err(ProfileError::from)? {
        let ids = text(&batch, "trace_id");
        let theirs = subject.rows(&batch).into_iter().enumerate().filter(|(_, theirs)| *theirs);
        traces.extend(theirs.filter_map(|(row, _)| value(ids, row).map(str::to_owned)));
    }
    Ok(traces)
}

async fn count(reader: &Reader, name: &str, whose: &str) -> Result<u64, ProfileError> {
    reader.count(&format!("SELECT count(*) FROM {name} WHERE {whose}")).await
}

impl Subject {
    /// Finds what belongs to it, and changes nothing.
    ///
    /// # Errors
    /// A table that cannot be read.
    pub async fn find(&self, lake: &Lake, factory: &SessionFactory) -> Result<Found, ProfileError> {
        let reader = Reader::bare(lake, factory)?;
        let last = latest_snapshot(lake, factory).await?;
        let mut found = Found::default();
        let mut tables = Vec::new();
        for name in RECEIVED.into_iter().chain(ACTED) {
            let Some(table) = lake.existing(name).await? else { continue };
            let now = table.snapshot().await?;
            reader.register_files(name, &table, now.files().to_vec())?;
            if name == "runs" {
                // A round that died half-way may have taken the place of what tells whose a run was.
                let mut went = match last.as_ref().and_then(|row| row.versions.get(name)) {
                    Some(version) => table.snapshot_at(*version).await?.files().to_vec(),
                    None => Vec::new(),
                };
                went.retain(|file| now.file(&file.path).is_none());
                reader.register_files("runs_before", &table, went)?;
                reader.register_view("known_runs", reader.plan(KNOWN_RUNS).await?)?;
            }
            if RECEIVED.contains(&name) {
                found.traces.extend(traces(&reader, name, self).await?);
            }
            tables.push(name);
        }
        reader.register_texts("erased_traces", "erased_id", &found.traces)?;
        if tables.contains(&"runs") {
            reader.register_texts("tenants", "tenant", &self.tenants)?;
            reader.register_texts("sessions", "session", &self.sessions)?;
            let runs = "SELECT run_id FROM known_runs WHERE tenant IN (SELECT tenant FROM tenants)
                UNION
                SELECT r.run_id FROM known_runs r JOIN sessions s
                  ON r.run_id = s.session OR starts_with(r.run_id, s.session || '/')";
            for runs in [runs, ERASED_RUNS] {
                found.runs.extend(texts(&reader.query(runs).await?));
            }
        }
        reader.register_texts("found_runs", "run_id", &found.runs)?;
        for name in tables {
            let whose = if RECEIVED.contains(&name) {
                "trace_id IN (SELECT erased_id FROM erased_traces)"
            } else {
                "run_id IN (SELECT run_id FROM found_runs)"
            };
            found.rows.insert(name.to_owned(), count(&reader, name, whose).await?);
        }
        Ok(found)
    }

    /// Which rows bear the identity.
    fn rows(&self, batch: &RecordBatch) -> Vec<bool> {
        let columns = [
            (text(batch, "tenant"), &self.tenants),
            (text(batch, "user_id"), &self.users),
            (text(batch, "session_id"), &self.sessions),
        ];
        let attributes = batch.column_by_name("attributes").and_then(|column| column.as_map_opt());
        let named = |row| attributes.is_some_and(|map| self.is_named(map, row));
        let told = |row| {
            columns.iter().any(|(column, wanted)| value(*column, row).is_some_and(|id| is_any(wanted, id)))
        };
        (0..batch.num_rows()).map(|row| told(row) || named(row)).collect()
    }

    /// Whether an attribute of a row that is called like an identity holds one of these.
    fn is_named(&self, attributes: &MapArray, row: usize) -> bool {
        if attributes.is_null(row) {
            return false;
        }
        let entries = attributes.value(row);
        let (Some(keys), Some(values)) =
            (entries.column(0).as_string_opt::<i32>(), entries.column(1).as_string_opt::<i32>())
        else {
            return false;
        };
        let pairs = keys.iter().zip(values).filter_map(|(key, value)| Some((key?, value?)));
        pairs.into_iter().any(|(key, value)| {
            (is_any(&self.users, value) && ends(key, &["userid", "enduser"]))
                || (is_any(&self.sessions, value) && ends(key, &["sessionid", "conversationid", "threadid"]))
                || (is_any(&self.tenants, value) && ends(key, &["tenant", "tenantid"]))
        })
    }
}

fn is_any(wanted: &[String], id: &str) -> bool {
    wanted.iter().any(|wanted| wanted == id)
}

/// Whether a key ends with one of these words, however it is cut and spelt: `user.id`, `userId`, `USER_ID`.
fn ends(key: &str, words: &[&str]) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    words.iter().any(|word| plain.ends_with(word))
}

fn text<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a StringArray> {
    batch.column_by_name(name)?.as_string_opt::<i32>()
}

fn value(column: Option<&StringArray>, row: usize) -> Option<&str> {
    column.filter(|column| column.is_valid(row)).map(|column| column.value(row))
}
