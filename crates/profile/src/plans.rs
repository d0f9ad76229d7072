//! `plans`: one row per plan made, for reviews to hold against what happened.
//!
//! Invariant: a plan is stored once, under the transaction `plan/ID`; storing it changes neither a
//! table that plans read nor the lake version.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use datafusion::error::DataFusionError;
use plimsoll_lake::{Lake, Order};
use plimsoll_plan::Plan;

use crate::{error::ProfileError, session::Reader, together::texts};

/// The `plan.json` of every stored plan whose id begins so, by id.
///
/// # Errors
/// A lake that cannot be read.
pub async fn stored_plans(reader: &Reader, id: &str) -> Result<Vec<String>, ProfileError> {
    // What is no digest names no plan, and is kept out of the statement.
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT plan FROM plans WHERE starts_with(plan_id, '{}') ORDER BY plan_id",
        id.to_lowercase()
    );
    Ok(texts(&reader.query(&sql).await?))
}

/// Stores a plan, unless the lake has it.
///
/// # Errors
/// A lake that cannot be written.
pub async fn store_plan(lake: &Lake, plan: &Plan) -> Result<(), ProfileError> {
    let json = serde_json::to_string(plan)
        .map_err(|error| ProfileError::Damaged { table: "plans", problem: error.to_string() })?;
    let text = |value: &str| Arc::new(StringArray::from(vec![value.to_owned()]));
    let as_of = TimestampMicrosecondArray::from(vec![plan.as_of.as_microsecond()]).with_timezone("UTC");
    let lake_version = i64::try_from(plan.lake_version).unwrap_or(i64::MAX);
    let table = lake.table("plans").await?;
    let app = format!("plan/{}", plan.plan_id);
    if table.snapshot().await?.txn(&app).is_some() {
        // A file that is not committed would only lie about.
        return Ok(());
    }
    let row = RecordBatch::try_new(
        table.schema().arrow(),
        vec![
            text(&plan.plan_id),
            Arc::new(as_of),
            Arc::new(Int64Array::from(vec![lake_version])),
            text(&plan.spec_sha256),
            text(&plan.catalog_sha256),
            text(&json),
        ],
    )
    .map_err(DataFusionError::from)?;
    let files = table.write(&[row], Order::AsIs).await?;
    table.append(files, &[(app, 1)]).await?;
    Ok(())
}
