//! Which rows an export holds, and in which order.
//!
//! A table goes day by day, so that sorting needs memory for a day only. Invariant: the order is
//! total: no two different rows compare equal, so that the same rows always come in the same order.

use datafusion::{
    common::{Column, ScalarValue},
    error::DataFusionError,
    logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr, lit},
    prelude::DataFrame,
};
use jiff::Timestamp;
use plimsoll_lake::{ColumnType, TableSchema};
use plimsoll_profile::Reader;

use super::sql;
use crate::failure::Failure;

/// Filters that keep the rows of a half-open time, by the table's first column of times.
///
/// # Errors
/// A time for a table that has no such column.
pub(super) fn within(
    table: &TableSchema,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<Vec<Expr>, Failure> {
    if from.is_none() && until.is_none() {
        return Ok(Vec::new());
    }
    let times = table.columns.iter().find(|column| column.data_type == ColumnType::Timestamp);
    let times =
        times.ok_or_else(|| Failure::input(format!("table {} has no column of times", table.name)))?;
    let instant =
        |at: Timestamp| lit(ScalarValue::TimestampMicrosecond(Some(at.as_microsecond()), Some("UTC".into())));
    let from = from.map(|from| column(&times.name).gt_eq(instant(from)));
    let until = until.map(|until| column(&times.name).lt(instant(until)));
    Ok(from.into_iter().chain(until).collect())
}

/// The rows of a table as it is stored that pass the filters, one part a partition, in the order of its
/// sort columns and key.
///
/// # Errors
/// A table that cannot be read.
pub(super) async fn of_table(
    reader: &Reader,
    table: &TableSchema,
    filters: Vec<Expr>,
) -> Result<Vec<DataFrame>, DataFusionError> {
    let stored = reader.context().table(format!("lake.{}", table.name)).await?;
    let rows = filters.into_iter().try_fold(stored, DataFrame::filter)?;
    let mut parts = Vec::new();
    for day in days(&rows, table).await? {
        let of_day = match day {
            None => rows.clone(),
            Some(day) => rows.clone().filter(day)?,
        };
        parts.push(of_day.sort(order_of(table))?);
    }
    if parts.is_empty() {
        parts.push(rows);
    }
    Ok(parts)
}

/// The rows of a statement in its own order, ties broken by whatever else its rows hold.
///
/// # Errors
/// A statement that is wrong or would change anything.
pub(super) async fn of_query(reader: &Reader, statement: &str) -> Result<DataFrame, Failure> {
    let (state, plan) = reader.plan(statement).await.map_err(sql::wrong)?.into_parts();
    let plan = without_ties(plan).map_err(|error| sql::wrong(error.into()))?;
    Ok(DataFrame::new(state, plan))
}

/// A filter for each of the table's partitions, in order; none that filters where it has none.
async fn days(rows: &DataFrame, table: &TableSchema) -> Result<Vec<Option<Expr>>, DataFusionError> {
    let [day] = table.partition_by.as_slice() else {
        return Ok(vec![None]);
    };
    let found = rows.clone().select_columns(&[day.as_str()])?.distinct()?;
    let mut filters = Vec::new();
    for batch in found.sort(vec![ascending(column(day))])?.collect().await? {
        for row in 0..batch.num_rows() {
            let value = ScalarValue::try_from_array(batch.column(0), row)?;
            let is_of = if value.is_null() { column(day).is_null() } else { column(day).eq(lit(value)) };
            filters.push(Some(is_of));
        }
    }
    Ok(filters)
}

/// Sort columns, then the key; where rows may stand twice, then everything else.
fn order_of(table: &TableSchema) -> Vec<SortExpr> {
    let rest = table.columns.iter().map(|column| &column.name).filter(|_| table.key.is_empty());
    let mut names: Vec<&String> = Vec::new();
    for name in table.sort_by.iter().chain(&table.key).chain(rest) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| ascending(column(name))).collect()
}

/// The plan with all columns of the rows it sorts as the last sort keys; one that sorts nothing is
/// sorted by its own columns.
fn without_ties(plan: LogicalPlan) -> Result<LogicalPlan, DataFusionError> {
    match plan {
        LogicalPlan::Sort(mut sort) => {
            let known: Vec<Expr> = sort.expr.iter().map(|by| by.expr.clone()).collect();
            sort.expr.extend(columns_of(&sort.input).filter(|by| !known.contains(&by.expr)));
            Ok(LogicalPlan::Sort(sort))
        }
        LogicalPlan::Limit(_) | LogicalPlan::Projection(_) if is_sorted(&plan) => {
            let inputs: Vec<LogicalPlan> = plan.inputs().into_iter().cloned().collect();
            let inputs = inputs.into_iter().map(without_ties).collect::<Result<_, _>>()?;
            plan.with_new_exprs(plan.expressions(), inputs)
        }
        other => {
            let order: Vec<SortExpr> = columns_of(&other).collect();
            LogicalPlanBuilder::from(other).sort(order)?.build()
        }
    }
}

/// Whether its rows come in the order of a sort below it.
fn is_sorted(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(_) => true,
        LogicalPlan::Limit(limit) => is_sorted(&limit.input),
        LogicalPlan::Projection(projection) => is_sorted(&projection.input),
        _ => false,
    }
}

fn columns_of(plan: &LogicalPlan) -> impl Iterator<Item = SortExpr> {
    let columns = plan.schema().columns();
    columns.into_iter().map(|column| ascending(Expr::Column(column)))
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::from_name(name))
}

fn ascending(by: Expr) -> SortExpr {
    by.sort(true, false)
}
