//! `snapshots`: one row per finished round of jobs, which pins the version of every table.
//!
//! Readers go through the latest row, so that they see all tables as one round left them, although no
//! commit spans tables. A row is appended once, under the transaction `plimsoll/round`.

use std::{collections::BTreeMap, sync::Arc};

use arrow::{
    array::{
        Array, AsArray, Int64Array, Int64Builder, MapBuilder, MapFieldNames, RecordBatch, StringArray,
        StringBuilder, TimestampMicrosecondArray,
    },
    datatypes::{Int64Type, TimestampMicrosecondType},
};
use jiff::Timestamp;
use plimsoll_lake::{Appended, Lake, Order};

use crate::{
    error::ProfileError,
    session::{Reader, SessionFactory},
};

const TABLE: &str = "snapshots";
const ROUND_APP: &str = "plimsoll/round";

/// What one round of jobs left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRow {
    /// Number of the round, from 1.
    pub lake_version: i64,
    /// When the round ended.
    pub finished_at: Timestamp,
    /// Latest receipt that it has seen.
    pub watermark: Option<Timestamp>,
    /// Latest start of a run: what `--as-of` defaults to.
    pub data_until: Option<Timestamp>,
    /// Digest of the catalog.
    pub catalog_sha256: String,
    /// Digest of the catalog, the match rules and the time rules.
    pub policy_sha256: String,
    /// Digest of the jobs and views.
    pub sql_sha256: String,
    /// Version of every table.
    pub versions: BTreeMap<String, i64>,
}

/// The latest finished round; none where there has been none.
///
/// # Errors
/// A table that cannot be read.
pub async fn latest_snapshot(
    lake: &Lake,
    factory: &SessionFactory,
) -> Result<Option<SnapshotRow>, ProfileError> {
    let rows = rows(lake, factory, |latest| format!("lake_version = {latest}")).await?;
    Ok(rows.and_then(|mut rows| rows.pop()))
}

/// The rounds that were the latest at some moment since `from`, oldest first; the last of them is the
/// latest of all.
///
/// # Errors
/// A table that cannot be read.
pub(crate) async fn rows_since(
    lake: &Lake,
    factory: &SessionFactory,
    from: Timestamp,
) -> Result<Vec<SnapshotRow>, ProfileError> {
    let from = from.as_microsecond();
    let rows = rows(lake, factory, |latest| {
        format!(
            "lake_version <= {latest} AND lake_version >= coalesce((SELECT max(lake_version) FROM {TABLE}
               WHERE lake_version <= {latest} AND finished_at < to_timestamp_micros({from})), 0)"
        )
    });
    Ok(rows.await?.unwrap_or_default())
}

/// Rows by a filter that knows the number of the latest, oldest first; none where there is none.
async fn rows(
    lake: &Lake,
    factory: &SessionFactory,
    filter: impl FnOnce(i64) -> String,
) -> Result<Option<Vec<SnapshotRow>>, ProfileError> {
    let Some(table) = lake.existing(TABLE).await? else {
        return Ok(None);
    };
    let snapshot = table.snapshot().await?;
    let Some(latest) = snapshot.txn(ROUND_APP) else {
        return Ok(None);
    };
    let reader = Reader::bare(lake, factory)?;
    reader.register_files(TABLE, &table, snapshot.files().to_vec())?;
    let sql = format!("SELECT * FROM {TABLE} WHERE {} ORDER BY lake_version", filter(latest));
    let mut rows = Vec::new();
    for batch in reader.query(&sql).await? {
        for row in 0..batch.num_rows() {
            rows.push(read(&batch, row).ok_or_else(|| damaged(format!("row {row} cannot be read")))?);
        }
    }
    match rows.last() {
        Some(row) if row.lake_version == latest => Ok(Some(rows)),
        _ => Err(damaged(format!("round {latest} is in the log but its row cannot be read"))),
    }
}

fn damaged(problem: String) -> ProfileError {
    ProfileError::Damaged { table: TABLE, problem }
}

/// Adds the row of a finished round.
///
/// # Errors
/// [`ProfileError::Overtaken`] where a round of that number or a later one has finished already.
pub(crate) async fn append(lake: &Lake, row: &SnapshotRow) -> Result<(), ProfileError> {
    let table = lake.table(TABLE).await?;
    let files = table.write(&[write(&table.schema().arrow(), row)?], Order::AsIs).await?;
    match table.append(files, &[(ROUND_APP.to_owned(), row.lake_version)]).await? {
        Appended::Committed { .. } => Ok(()),
        Appended::AlreadyThere => Err(ProfileError::Overtaken),
    }
}

fn read(batch: &RecordBatch, row: usize) -> Option<SnapshotRow> {
    let column = |name: &str| batch.column_by_name(name);
    let long = |name: &str| column(name)?.as_primitive_opt::<Int64Type>().map(|a| a.value(row));
    let text = |name: &str| column(name)?.as_string_opt::<i32>().map(|a| a.value(row).to_owned());
    let instant = |name: &str| {
        let array = column(name)?.as_primitive_opt::<TimestampMicrosecondType>()?;
        let micros = array.is_valid(row).then(|| array.value(row))?;
        Timestamp::from_microsecond(micros).ok()
    };
    let versions = column("versions")?.as_map_opt()?.value(row);
    let names = versions.column(0).as_string_opt::<i32>()?;
    let numbers = versions.column(1).as_primitive_opt::<Int64Type>()?;
    Some(SnapshotRow {
        lake_version: long("lake_version")?,
        finished_at: instant("finished_at")?,
        watermark: instant("watermark"),
        data_until: instant("data_until"),
        catalog_sha256: text("catalog_sha256")?,
        policy_sha256: text("policy_sha256")?,
        sql_sha256: text("sql_sha256")?,
        versions: names
            .iter()
            .zip(numbers)
            .filter_map(|(name, number)| Some((name?.to_owned(), number?)))
            .collect(),
    })
}

fn write(schema: &arrow::datatypes::SchemaRef, row: &SnapshotRow) -> Result<RecordBatch, ProfileError> {
    let names = MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() };
    let mut versions = MapBuilder::new(Some(names), StringBuilder::new(), Int64Builder::new());
    for (table, version) in &row.versions {
        versions.keys().append_value(table);
        versions.values().append_value(*version);
    }
    versions.append(true).map_err(datafusion::error::DataFusionError::from)?;
    let instant = |time: Option<Timestamp>| {
        let array: TimestampMicrosecondArray = [time.map(Timestamp::as_microsecond)].into_iter().collect();
        Arc::new(array.with_timezone("UTC"))
    };
    let batch = RecordBatch::try_new(
        Arc::clone(schema),
        vec![
            Arc::new(Int64Array::from(vec![row.lake_version])),
            instant(Some(row.finished_at)),
            instant(row.watermark),
            instant(row.data_until),
            Arc::new(StringArray::from(vec![row.catalog_sha256.as_str()])),
            Arc::new(StringArray::from(vec![row.policy_sha256.as_str()])),
            Arc::new(StringArray::from(vec![row.sql_sha256.as_str()])),
            Arc::new(versions.finish()),
        ],
    );
    Ok(batch.map_err(datafusion::error::DataFusionError::from)?)
}
