//! Every call of the lake as its limits saw it, for whoever holds plans against what came.
//!
//! Leaves limits and plans to others; `sql/backtest/calls.sql` says what a call is. The invariant: calls
//! come in the order of their pools, and of time within one.

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::error::DataFusionError;

use crate::error::ProfileError;
use crate::session::{Reader, SessionFactory};

/// The query, below `sql/`.
const QUERY: (&str, &str) = ("backtest", "calls.sql");

/// What a call may draw, in the catalog's words.
const MEASURES: [&str; 4] = ["requests", "input_tokens", "output_tokens", "tokens"];

/// One pool with its calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PoolCalls {
    /// Pool key.
    pub pool: String,
    /// Account.
    pub account: Option<String>,
    /// Region; `None` for global pools.
    pub region: Option<String>,
    /// Workflows that call it.
    pub workflows: Vec<String>,
    /// In order of time.
    pub calls: Vec<PoolCall>,
}

/// One call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolCall {
    /// When it was first wanted, microseconds since 1970.
    pub wanted_us: i64,
    /// From being let in to its end, microseconds.
    pub latency_us: i64,
    /// Which of [`PoolCalls::workflows`]; `None` where its run has no name.
    pub workflow: Option<usize>,
    /// Tier of its run, where told.
    pub tier: Option<u8>,
    drawn: [(u64, u64); MEASURES.len()],
}

impl PoolCall {
    /// What it draws at admission and at settlement in a measure (`requests`, `input_tokens`,
    /// `output_tokens`, `tokens`); nothing in another.
    #[must_use]
    pub fn drawn(&self, measure: &str) -> (u64, u64) {
        let at = MEASURES.iter().position(|known| *known == measure);
        at.and_then(|at| self.drawn.get(at)).copied().unwrap_or_default()
    }
}

/// The calls of every pool of the lake.
///
/// # Errors
/// A query that fails.
pub async fn pool_calls(reader: &Reader, factory: &SessionFactory) -> Result<Vec<PoolCalls>, ProfileError> {
    let (folder, name) = QUERY;
    let file = format!("{folder}/{name}");
    let sql = factory.sql.folder(folder).find(|(known, _)| *known == name).map(|(_, sql)| sql);
    let sql = sql.ok_or_else(|| ProfileError::Header {
        file: file.clone(),
        problem: "a backtest needs this query: put it back".into(),
    })?;
    let frame = reader.plan_with(&file, sql, &BTreeMap::new()).await?;
    let schema = std::sync::Arc::clone(frame.schema().inner());
    let batches = frame.collect().await.map_err(ProfileError::query(file.clone()))?;
    let rows = concat_batches(&schema, &batches).map_err(DataFusionError::from)?;
    pools(&rows).ok_or_else(|| ProfileError::Header {
        file,
        problem: "its columns are not those that a backtest reads: put them back".into(),
    })
}

fn pools(rows: &RecordBatch) -> Option<Vec<PoolCalls>> {
    let text = |name: &str| cast(rows.column_by_name(name)?, &DataType::Utf8).ok();
    let number = |name: &str| cast(rows.column_by_name(name)?, &DataType::Int64).ok();
    let (pool, account, region, workflow) =
        (text("pool")?, text("account")?, text("region")?, text("workflow")?);
    let (wanted, latency, tier) = (number("wanted_us")?, number("latency_us")?, number("tier")?);
    let stage = |stage: &str| {
        let columns = MEASURES.iter().map(|measure| number(&format!("{stage}_{measure}")));
        columns.collect::<Option<Vec<_>>>()
    };
    let (admission, settlement) = (stage("admission")?, stage("settlement")?);
    let mut found: Vec<PoolCalls> = Vec::new();
    for row in 0..rows.num_rows() {
        let value =
            |column: &ArrayRef| column.is_valid(row).then(|| column.as_primitive::<Int64Type>().value(row));
        let name = (told(&pool, row)?, told(&account, row), told(&region, row));
        let same =
            |last: &PoolCalls| (last.pool.as_str(), last.account.as_deref(), last.region.as_deref()) == name;
        if !found.last().is_some_and(same) {
            let (pool, account, region) = name;
            found.push(PoolCalls {
                pool: pool.to_owned(),
                account: account.map(str::to_owned),
                region: region.map(str::to_owned),
                ..PoolCalls::default()
            });
        }
        let last = found.last_mut()?;
        let amount = |column: &ArrayRef| value(column).map_or(0, |value| u64::try_from(value).unwrap_or(0));
        let mut call = PoolCall {
            wanted_us: value(&wanted)?,
            latency_us: value(&latency)?,
            workflow: told(&workflow, row).map(|name| place(&mut last.workflows, name)),
            tier: value(&tier).and_then(|tier| u8::try_from(tier).ok()),
            ..PoolCall::default()
        };
        for (drawn, (admission, settlement)) in call.drawn.iter_mut().zip(admission.iter().zip(&settlement)) {
            *drawn = (amount(admission), amount(settlement));
        }
        last.calls.push(call);
    }
    Some(found)
}

/// A text of a column, where there is one.
fn told(column: &ArrayRef, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.as_string::<i32>().value(row))
}

/// The place of a name in a list, which it joins where it is new.
fn place(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}
