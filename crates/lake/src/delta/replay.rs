//! From a log to a table's state: all at once from its checkpoint, or step by step.
//!
//! Invariant: both ways give the same snapshot of the same version.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use deltalake_core::DeltaTableError;
use deltalake_core::kernel::{Action, Metadata};
use deltalake_core::logstore::{LogStoreRef, get_actions};
use deltalake_core::table::state::DeltaTableState;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::actions::{data_file, definition, version_number};
use crate::{DataFile, Error, Result, Snapshot, TableSchema};

/// Entries read at once.
const READERS: usize = 8;

/// Entries from which a replay from the checkpoint is less work than going on one by one.
const FARTHEST: i64 = 100;

/// A table's state with what only its making needs.
pub(super) struct Loaded {
    pub(super) snapshot: Snapshot,
    pub(super) metadata: Metadata,
}

/// Replays the log from its last checkpoint; none where there is no table.
pub(super) async fn load(
    schema: &TableSchema,
    logs: &LogStoreRef,
    version: Option<i64>,
) -> Result<Option<Loaded>> {
    let state = match DeltaTableState::try_new(logs, version.map(version_number)).await {
        Ok(state) => state,
        Err(DeltaTableError::NotATable(_)) => return Ok(None),
        Err(other) => return Err(Error::log(&schema.name, other)),
    };
    let protocol = state.protocol();
    let (reader, writer) = (protocol.min_reader_version(), protocol.min_writer_version());
    if reader > 1 {
        let reason = format!(
            "it asks for Delta reader version {reader}, of which Plimsoll knows 1; a newer version or another engine has changed it, so use that"
        );
        return Err(Error::Unsupported { table: schema.name.clone(), reason });
    }
    let files: Vec<DataFile> = state
        .log_data()
        .iter()
        .map(|file| {
            let (path, stats) = (file.path(), file.stats());
            let values = file.partition_values_map();
            data_file(schema, &path, file.size(), file.modification_time(), values, stats.as_deref())
        })
        .collect::<Result<_>>()?;
    let version = i64::try_from(state.version()).unwrap_or(i64::MAX);
    let txns = txns(schema, logs, version).await?;
    let metadata = state.metadata().clone();
    let definition = Arc::new(definition(schema, &metadata, writer)?);
    Ok(Some(Loaded { snapshot: Snapshot::new(version, files, txns, definition), metadata }))
}

/// Goes on from a version to a later one, or to the latest; none where that takes more than files and
/// transactions (new columns, a log that was cut): then [`load`] must.
pub(super) async fn step(
    schema: &TableSchema,
    logs: &LogStoreRef,
    from: Snapshot,
    until: Option<i64>,
) -> Result<Option<Snapshot>> {
    let first = from.version() + 1;
    let entries = match until {
        Some(until) if until - from.version() > FARTHEST => None,
        Some(until) => entries(schema, logs, first..=until).await?,
        None => new_entries(schema, logs, first).await?,
    };
    let Some(entries) = entries else { return Ok(None) };
    let mut state = from;
    for (version, actions) in (state.version() + 1..).zip(entries) {
        let (mut added, mut removed, mut txns) = (Vec::new(), Vec::new(), Vec::new());
        for action in actions {
            match action {
                Action::Add(add) => {
                    let stats = add.stats.as_deref();
                    let values = add.partition_values;
                    let (size, at) = (add.size, add.modification_time);
                    added.push(data_file(schema, &add.path, size, at, values, stats)?);
                }
                Action::Remove(remove) => removed.push(remove.path),
                Action::Txn(txn) => txns.push((txn.app_id, txn.version)),
                Action::CommitInfo(_) => {}
                Action::Metadata(_) | Action::Protocol(_) | Action::Cdc(_) | Action::DomainMetadata(_) => {
                    return Ok(None);
                }
            }
        }
        state = applied(&state, version, removed.iter().map(String::as_str), &added, &txns);
    }
    Ok(Some(state))
}

/// The state after a commit of our own.
pub(super) fn after(
    base: &Snapshot,
    version: i64,
    remove: &[DataFile],
    add: &[DataFile],
    txns: &[(String, i64)],
) -> Snapshot {
    applied(base, version, remove.iter().map(|file| file.path.as_str()), add, txns)
}

fn applied<'a>(
    base: &Snapshot,
    version: i64,
    removed: impl Iterator<Item = &'a str>,
    added: &[DataFile],
    new_txns: &[(String, i64)],
) -> Snapshot {
    let mut gone: BTreeSet<&str> = removed.collect();
    // An add of a path that is live already replaces what was known of it.
    gone.extend(added.iter().map(|file| file.path.as_str()));
    let mut files: Vec<DataFile> =
        base.files().iter().filter(|file| !gone.contains(file.path.as_str())).cloned().collect();
    files.extend_from_slice(added);
    let mut txns = base.txns().clone();
    txns.extend(new_txns.iter().cloned());
    Snapshot::new(version, files, txns, Arc::clone(base.definition()))
}

/// The actions of each entry from `first` on; none where they are too many to go one by one.
///
/// Asks for one entry after the other instead of listing: a busy table's log has thousands, of which
/// few are new.
async fn new_entries(
    schema: &TableSchema,
    logs: &LogStoreRef,
    first: i64,
) -> Result<Option<Vec<Vec<Action>>>> {
    let mut found = Vec::new();
    for version in first..=first + FARTHEST {
        match entry(schema, logs, version).await? {
            Some(actions) => found.push(actions),
            None => return Ok(Some(found)),
        }
    }
    Ok(None)
}

/// The actions of each entry; none where one is missing.
pub(super) async fn entries(
    schema: &TableSchema,
    logs: &LogStoreRef,
    versions: RangeInclusive<i64>,
) -> Result<Option<Vec<Vec<Action>>>> {
    let read = stream::iter(versions).map(|version| entry(schema, logs, version));
    let entries: Vec<Option<Vec<Action>>> = read.buffered(READERS).try_collect().await?;
    Ok(entries.into_iter().collect())
}

/// The actions of one entry; none where there is none.
pub(super) async fn entry(
    schema: &TableSchema,
    logs: &LogStoreRef,
    version: i64,
) -> Result<Option<Vec<Action>>> {
    let wrong = |e| Error::log(&schema.name, e);
    let version = version_number(version);
    let Some(bytes) = logs.read_commit_entry(version).await.map_err(wrong)? else {
        return Ok(None);
    };
    get_actions(version, &bytes).map(Some).map_err(wrong)
}

/// The latest version of every transaction: from the last checkpoint and the entries after it.
async fn txns(schema: &TableSchema, logs: &LogStoreRef, version: i64) -> Result<BTreeMap<String, i64>> {
    let store = logs.object_store(None);
    let listed: Vec<Path> = store
        .list(Some(logs.log_path()))
        .map_ok(|meta| meta.location)
        .try_collect()
        .await
        .map_err(Error::store(format!("listing the log of {}", schema.name)))?;
    let checkpoint_of = |path: &Path| path.filename().and_then(checkpoint_version);
    let last = listed.iter().filter_map(checkpoint_of).filter(|v| *v <= version).max();
    let mut txns = BTreeMap::new();
    for path in listed.iter().filter(|path| last.is_some() && checkpoint_of(path) == last) {
        let found = store.get(path).await.map_err(Error::store(format!("reading {path}")))?;
        let bytes = found.bytes().await.map_err(Error::store(format!("reading {path}")))?;
        let held = checkpoint_txns(bytes)
            .map_err(|reason| Error::Damaged { path: format!("{}/{path}", schema.name), reason })?;
        txns.extend(held);
    }
    let first = last.map_or(0, |checkpoint| checkpoint + 1);
    let entries = entries(schema, logs, first..=version).await?.ok_or_else(|| Error::Damaged {
        path: format!("{}/{}", schema.name, logs.log_path()),
        reason: format!("entries between {first} and {version} are missing"),
    })?;
    for action in entries.into_iter().flatten() {
        if let Action::Txn(txn) = action {
            txns.insert(txn.app_id, txn.version);
        }
    }
    Ok(txns)
}

/// The transactions that a checkpoint holds.
fn checkpoint_txns(bytes: bytes::Bytes) -> Result<Vec<(String, i64)>, String> {
    let told = |e: &dyn std::fmt::Display| e.to_string();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|e| told(&e))?;
    let Some(root) = reader.schema().index_of("txn").ok() else {
        return Ok(Vec::new());
    };
    let only_txn = ProjectionMask::roots(reader.parquet_schema(), [root]);
    let batches = reader.with_projection(only_txn).build().map_err(|e| told(&e))?;
    let mut found = Vec::new();
    for batch in batches {
        let batch = batch.map_err(|e| told(&e))?;
        let Some(txn) = batch.column(0).as_struct_opt() else {
            continue;
        };
        let apps = txn.column_by_name("appId").and_then(|c| c.as_string_opt::<i32>().cloned());
        let versions = txn.column_by_name("version").and_then(|c| c.as_primitive_opt::<Int64Type>().cloned());
        let (Some(apps), Some(versions)) = (apps, versions) else {
            return Err("its transactions have no appId and version".to_owned());
        };
        let rows = (0..txn.len()).filter(|row| txn.is_valid(*row) && apps.is_valid(*row));
        found.extend(rows.map(|row| (apps.value(row).to_owned(), versions.value(row))));
    }
    Ok(found)
}

/// The version whose checkpoint, or a part of it, a file is.
pub(super) fn checkpoint_version(name: &str) -> Option<i64> {
    let (digits, rest) = name.split_once(".checkpoint.")?;
    let whole = digits.len() == 20 && rest.ends_with("parquet");
    whole.then(|| digits.parse().ok()).flatten()
}

/// The version whose entry a file is.
pub(super) fn entry_version(name: &str) -> Option<i64> {
    let digits = name.strip_suffix(".json")?;
    (digits.len() == 20).then(|| digits.parse().ok()).flatten()
}
