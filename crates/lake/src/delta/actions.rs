//! Entries of a Delta log: what we write in them, and a file as they name it.
//!
//! Invariant: what is written here, other engines and [`super::replay`] read back as the same thing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use deltalake_core::kernel::{Action, Add, CommitInfo, Metadata, Remove, Transaction};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::snapshot::Definition;
use crate::stats::FileStats;
use crate::{Commit, DataFile, Error, Result, Snapshot, TableSchema};

/// Who wrote an entry.
const ENGINE: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

/// Name, in an entry's provenance, of what tells commits apart.
const COMMIT_ID: &str = "txnId";

/// How long entries outlive their checkpoint: as long as removed files do by default, after which a past
/// version could not be read anyway.
const LOG_RETENTION: &str = "interval 7 days";

/// A version as the library counts; ours are never negative.
pub(super) fn version_number(version: i64) -> u64 {
    u64::try_from(version).unwrap_or_default()
}

/// Entry 0: makes an empty table.
pub(super) fn creation(schema: &TableSchema) -> Bytes {
    let now = Timestamp::now().as_millisecond();
    lines([
        json!({"commitInfo": {"timestamp": now, "operation": "CREATE TABLE",
            "operationParameters": {}, "engineInfo": ENGINE}}),
        json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}),
        json!({"metaData": {
            "id": Uuid::new_v4().to_string(),
            "name": schema.name,
            "description": schema.description,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema.delta().to_string(),
            "partitionColumns": schema.partition_by,
            "configuration": {
                "delta.dataSkippingNumIndexedCols": "-1",
                "delta.logRetentionDuration": LOG_RETENTION,
            },
            "createdTime": now,
        }}),
    ])
}

/// The entry that adds the columns which the description has and the table lacks; none where it lacks
/// none.
///
/// # Errors
/// [`Error::Unsupported`] where the two differ in a way that adding columns does not mend.
pub(super) fn widened(schema: &TableSchema, metadata: &Metadata) -> Result<Option<Bytes>> {
    let differs = |reason: String| Error::Unsupported { table: schema.name.clone(), reason };
    let mut metadata = serde_json::to_value(metadata).map_err(|e| differs(e.to_string()))?;
    if metadata["partitionColumns"] != json!(schema.partition_by) {
        let found = &metadata["partitionColumns"];
        let reason = format!("it is partitioned by {found}, its description says {:?}", schema.partition_by);
        return Err(differs(reason));
    }
    let mut table: Value = metadata["schemaString"]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or_else(|| differs("its log holds no schema that can be read".to_owned()))?;
    let described = schema.delta();
    let (Some(have), Some(want)) = (table["fields"].as_array_mut(), described["fields"].as_array()) else {
        return Err(differs("its log holds no columns".to_owned()));
    };
    let before = have.len();
    for field in want {
        let name = field["name"].as_str().unwrap_or_default();
        match have.iter().find(|known| known["name"] == field["name"]) {
            Some(known) if known["type"] != field["type"] => {
                let (is, said) = (&known["type"], &field["type"]);
                return Err(differs(format!("column {name} is {is}, its description says {said}")));
            }
            Some(_) => {}
            None => {
                // Rows that are there have nothing in it, whatever the description says of later ones.
                let mut field = field.clone();
                field["nullable"] = json!(true);
                have.push(field);
            }
        }
    }
    if have.len() == before {
        return Ok(None);
    }
    metadata["schemaString"] = json!(table.to_string());
    let now = Timestamp::now().as_millisecond();
    Ok(Some(lines([
        json!({"commitInfo": {"timestamp": now, "operation": "ADD COLUMN",
            "operationParameters": {}, "engineInfo": ENGINE}}),
        json!({"metaData": metadata}),
    ])))
}

/// What a table's metadata says of its columns.
///
/// # Errors
/// [`Error::Unsupported`] where it holds no schema that can be read.
pub(super) fn definition(schema: &TableSchema, metadata: &Metadata, writer: i32) -> Result<Definition> {
    let unreadable = || Error::Unsupported {
        table: schema.name.clone(),
        reason: "its log holds no schema that can be read".to_owned(),
    };
    let metadata = serde_json::to_value(metadata).map_err(|_| unreadable())?;
    let table: Value = metadata["schemaString"]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or_else(unreadable)?;
    let fields = table["fields"].as_array().ok_or_else(unreadable)?;
    let columns = fields.iter().map(|field| {
        let name = field["name"].as_str().unwrap_or_default().to_owned();
        let data_type = field["type"].as_str().map_or_else(|| field["type"].to_string(), str::to_owned);
        (name, (data_type, field["nullable"] != json!(false)))
    });
    Ok(Definition { columns: columns.collect(), writer })
}

/// Whether an entry is of the commit with this name.
pub(super) fn is_of(entry: &[Action], commit: Uuid) -> bool {
    let id = json!(commit.to_string());
    entry
        .iter()
        .any(|action| matches!(action, Action::CommitInfo(info) if info.info.get(COMMIT_ID) == Some(&id)))
}

/// The entry of a commit.
pub(super) fn entry(schema: &TableSchema, base: &Snapshot, commit: &Commit) -> Result<Bytes> {
    let now = Timestamp::now().as_millisecond();
    let info = CommitInfo {
        timestamp: Some(now),
        operation: Some(commit.operation.clone()),
        operation_parameters: Some(HashMap::new()),
        read_version: Some(version_number(base.version())),
        is_blind_append: Some(commit.remove.is_empty()),
        engine_info: Some(ENGINE.to_owned()),
        info: HashMap::from([(COMMIT_ID.to_owned(), json!(commit.id.to_string()))]),
        ..CommitInfo::default()
    };
    let txns = commit
        .txns
        .iter()
        .map(|(app, version)| Action::Txn(Transaction::new_with_last_update(app, *version, Some(now))));
    let removes = commit.remove.iter().map(|file| Action::Remove(remove(file, commit.data_change, now)));
    let adds = commit.add.iter().map(|file| Action::Add(add(file, commit.data_change && !commit.only_fewer)));
    let actions = std::iter::once(Action::CommitInfo(info)).chain(txns).chain(removes).chain(adds);
    let values: Vec<Value> = actions
        .map(serde_json::to_value)
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| Error::Encode { table: schema.name.clone(), reason: e.to_string() })?;
    Ok(lines(values))
}

fn lines(actions: impl IntoIterator<Item = Value>) -> Bytes {
    let lines: Vec<String> = actions.into_iter().map(|action| action.to_string()).collect();
    Bytes::from(lines.join("\n"))
}

fn add(file: &DataFile, data_change: bool) -> Add {
    Add {
        path: file.path.clone(),
        partition_values: hashed(&file.partition_values),
        size: i64::try_from(file.size).unwrap_or(i64::MAX),
        modification_time: file.modified_ms,
        data_change,
        stats: Some(file.stats.to_json(file.rows)),
        tags: None,
        deletion_vector: None,
        base_row_id: None,
        default_row_commit_version: None,
        clustering_provider: None,
    }
}

fn remove(file: &DataFile, data_change: bool, now: i64) -> Remove {
    Remove {
        path: file.path.clone(),
        data_change,
        deletion_timestamp: Some(now),
        extended_file_metadata: Some(true),
        partition_values: Some(hashed(&file.partition_values)),
        size: Some(i64::try_from(file.size).unwrap_or(i64::MAX)),
        ..Remove::default()
    }
}

fn hashed(values: &BTreeMap<String, Option<String>>) -> HashMap<String, Option<String>> {
    values.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A file as the log names it.
///
/// # Errors
/// [`Error::Unsupported`] where the log does not say how many rows it has: another engine wrote it.
pub(super) fn data_file(
    schema: &TableSchema,
    path: &str,
    size: i64,
    modified_ms: i64,
    partition_values: impl IntoIterator<Item = (String, Option<String>)>,
    stats: Option<&str>,
) -> Result<DataFile> {
    let (rows, stats) = stats.and_then(|text| FileStats::from_json(schema, text)).ok_or_else(|| {
        let reason = format!(
            "its log does not tell the rows of {path}; have the engine that wrote it collect statistics"
        );
        Error::Unsupported { table: schema.name.clone(), reason }
    })?;
    Ok(DataFile {
        path: path.to_owned(),
        size: u64::try_from(size).unwrap_or_default(),
        partition_values: partition_values
            .into_iter()
            .map(|(name, value)| (name, value.filter(|v| !v.is_empty())))
            .collect(),
        rows,
        stats: Arc::new(stats),
        modified_ms,
    })
}
