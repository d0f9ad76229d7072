//! Rows on their way into files: made to fit the table, divided by partition, sorted.
//!
//! Invariant: what leaves here has exactly the table's types, in the table's order of columns, and no
//! null where the table has none. A column that fits already is passed on as it is, not copied.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::compute::{CastOptions, cast_with_options, concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Date32Type, SchemaRef};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use crate::schema::TableSchema;
use crate::stats::day_text;
use crate::{Error, Result};

/// Rows of one partition.
#[derive(Debug)]
pub(crate) struct Part {
    /// Values of the partition columns.
    pub(crate) values: BTreeMap<String, Option<String>>,
    /// Rows, without the partition columns.
    pub(crate) rows: Vec<RecordBatch>,
}

/// Makes rows fit the table: columns by name, types cast without loss, missing columns null.
///
/// # Errors
/// [`Error::Rows`] for a column that the table does not have, cannot be cast, or lacks a value that is
/// required.
pub(crate) fn conform(schema: &TableSchema, batch: &RecordBatch) -> Result<RecordBatch> {
    for field in batch.schema_ref().fields() {
        if schema.column(field.name()).is_none() {
            let reason = "the table has no such column; describe it or leave it out".to_owned();
            return Err(misfit(schema, field.name(), reason));
        }
    }
    fitted(schema, &schema.arrow(), batch)
}

/// Makes rows of a file fit the table, without its partition columns: like [`conform`].
pub(crate) fn fit_file(schema: &TableSchema, batch: &RecordBatch) -> Result<RecordBatch> {
    fitted(schema, &schema.arrow_in_file(), batch)
}

/// Makes rows of a file fit the table with texts as views, and leaves out what the rows lack.
pub(crate) fn fit_viewed(schema: &TableSchema, batch: &RecordBatch) -> Result<RecordBatch> {
    let there = schema.arrow_viewed();
    let there = there.fields().iter().enumerate().filter(|(_, field)| {
        !field.is_nullable() && batch.num_rows() > 0 || batch.column_by_name(field.name()).is_some()
    });
    let arrow = schema.arrow_viewed().project(&there.map(|(at, _)| at).collect::<Vec<_>>());
    fitted(schema, &Arc::new(arrow.map_err(|e| encode_error(schema, e))?), batch)
}

/// Makes rows fit the columns of the table that `arrow` names, in its types.
fn fitted(schema: &TableSchema, arrow: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> = arrow
        .fields()
        .iter()
        .map(|field| {
            let given = batch.column_by_name(field.name());
            let fitted = fit(field.data_type(), given, batch.num_rows())
                .map_err(|e| misfit(schema, field.name(), e.to_string()))?;
            if !field.is_nullable() && fitted.null_count() > 0 {
                let reason = format!("{} rows are null where none may be", fitted.null_count());
                return Err(misfit(schema, field.name(), reason));
            }
            Ok(fitted)
        })
        .collect::<Result<_>>()?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(arrow), columns, &rows).map_err(|e| encode_error(schema, e))
}

/// One column as the table wants it.
fn fit(wanted: &DataType, given: Option<&ArrayRef>, rows: usize) -> Result<ArrayRef, ArrowError> {
    let Some(given) = given else {
        return Ok(new_null_array(wanted, rows));
    };
    let found = given.data_type();
    if found == wanted {
        return Ok(Arc::clone(given));
    }
    if *found != DataType::Null && is_text(found) != is_text(wanted) {
        return Err(ArrowError::CastError(format!("{found} given, {wanted} wanted")));
    }
    cast_with_options(given, wanted, &CastOptions { safe: false, ..CastOptions::default() })
}

/// Text is never made of numbers or the other way round: that would hide a mistake.
fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => is_text(value),
        _ => false,
    }
}

/// Divides rows that [`conform`] has seen by the values of the partition columns.
pub(crate) fn split(schema: &TableSchema, batches: Vec<RecordBatch>) -> Result<Vec<Part>> {
    let in_file = schema.arrow_in_file();
    let kept: Vec<usize> = in_file
        .fields()
        .iter()
        .filter_map(|field| schema.columns.iter().position(|c| c.name == *field.name()))
        .collect();
    let mut parts: BTreeMap<Vec<Option<i32>>, Vec<RecordBatch>> = BTreeMap::new();
    for batch in batches.into_iter().filter(|batch| batch.num_rows() > 0) {
        let rows = batch.project(&kept).map_err(|e| encode_error(schema, e))?;
        for (days, indices) in groups(schema, &batch) {
            // The common case: a flush holds one day.
            let taken = if indices.len() == rows.num_rows() {
                Ok(rows.clone())
            } else {
                take_record_batch(&rows, &UInt32Array::from(indices))
            };
            let taken = taken.map_err(|e| encode_error(schema, e))?;
            parts.entry(days).or_default().push(taken);
        }
    }
    parts
        .into_iter()
        .map(|(days, rows)| {
            let values = schema
                .partition_by
                .iter()
                .zip(days)
                .map(|(name, day)| Ok((name.clone(), partition_value(schema, name, day)?)))
                .collect::<Result<_>>()?;
            Ok(Part { values, rows })
        })
        .collect()
}

/// Which rows have which partition values.
fn groups(schema: &TableSchema, batch: &RecordBatch) -> BTreeMap<Vec<Option<i32>>, Vec<u32>> {
    let days: Vec<_> = schema
        .partition_by
        .iter()
        .filter_map(|name| batch.column_by_name(name)?.as_primitive_opt::<Date32Type>())
        .collect();
    let mut groups: BTreeMap<Vec<Option<i32>>, Vec<u32>> = BTreeMap::new();
    let mut row_days = Vec::with_capacity(days.len());
    for row in 0..batch.num_rows() {
        row_days.clear();
        row_days.extend(days.iter().map(|column| column.is_valid(row).then(|| column.value(row))));
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        match groups.get_mut(&row_days) {
            Some(rows) => rows.push(row),
            None => {
                groups.insert(row_days.clone(), vec![row]);
            }
        }
    }
    groups
}

fn partition_value(schema: &TableSchema, name: &str, day: Option<i32>) -> Result<Option<String>> {
    day.map(|day| {
        day_text(day)
            .ok_or_else(|| misfit(schema, name, format!("day {day} after 1970 is in no year from 0 to 9999")))
    })
    .transpose()
}

/// Joins the rows of one partition and sorts them by the table's `sort_by`, nulls first.
pub(crate) fn sort(schema: &TableSchema, rows: &[RecordBatch]) -> Result<RecordBatch> {
    let wrong = |e| encode_error(schema, e);
    let joined = concat_batches(&schema.arrow_in_file(), rows).map_err(wrong)?;
    let by: Vec<ArrayRef> =
        schema.sort_by.iter().filter_map(|name| joined.column_by_name(name).cloned()).collect();
    if by.is_empty() {
        return Ok(joined);
    }
    let fields = by.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let keys = RowConverter::new(fields).and_then(|c| c.convert_columns(&by)).map_err(wrong)?;
    let mut order: Vec<(u32, arrow::row::Row<'_>)> = (0..).zip(keys.iter()).collect();
    if order.is_sorted_by(|a, b| a.1 <= b.1) {
        return Ok(joined);
    }
    // Ties keep the order in which the rows came, so that the same rows give the same file.
    order.sort_unstable_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(&b.0)));
    let order: UInt32Array = order.into_iter().map(|(row, _)| row).collect();
    take_record_batch(&joined, &order).map_err(wrong)
}

fn misfit(schema: &TableSchema, column: &str, reason: String) -> Error {
    Error::Rows { table: schema.name.clone(), column: column.to_owned(), reason }
}

pub(crate) fn encode_error(schema: &TableSchema, source: ArrowError) -> Error {
    Error::Encode { table: schema.name.clone(), reason: source.to_string() }
}
