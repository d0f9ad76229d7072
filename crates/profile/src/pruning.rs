//! Which files of a snapshot a query need not read.
//!
//! Invariant: a file is left out only where its partition values and statistics prove that no row of
//! it can match; where nothing is known of it, it is read.

use std::{collections::HashSet, sync::Arc};

use arrow::{
    array::{ArrayRef, BooleanArray, UInt64Array},
    datatypes::{DataType, SchemaRef},
};
use datafusion::{
    common::{Column, ScalarValue, pruning::PruningStatistics},
    physical_expr::PhysicalExpr,
    physical_optimizer::pruning::PruningPredicateBuilder,
};
use jiff::civil;
use plimsoll_lake::{DataFile, Value};

/// The files that may hold a row that matches.
pub(crate) fn live_files<'a>(
    files: &'a [DataFile],
    schema: &SchemaRef,
    partition_by: &'a [String],
    predicate: Option<&Arc<dyn PhysicalExpr>>,
) -> impl Iterator<Item = &'a DataFile> + use<'a> {
    let keep = predicate
        .and_then(|predicate| {
            PruningPredicateBuilder::new()
                .with_file_schema(Arc::clone(schema))
                .try_build(Arc::clone(predicate))
                .ok()
        })
        .and_then(|pruning| {
            let statistics = FileBounds { files, schema, partition_by };
            pruning.prune(&statistics).ok()
        })
        .unwrap_or_else(|| vec![true; files.len()]);
    files.iter().zip(keep).filter_map(|(file, keep)| keep.then_some(file))
}

/// Days since 1970 of a `YYYY-MM-DD`.
pub(crate) fn date(text: &str) -> Option<i32> {
    let date: civil::Date = text.parse().ok()?;
    let epoch = civil::date(1970, 1, 1);
    date.since(epoch).ok().map(|span| span.get_days())
}

/// A bound as a value of a column's type.
pub(crate) fn bound(value: &Value, wanted: &DataType) -> Option<ScalarValue> {
    Some(match (value, wanted) {
        (Value::Boolean(v), DataType::Boolean) => ScalarValue::Boolean(Some(*v)),
        (Value::Int(v), DataType::Int64) => ScalarValue::Int64(Some(*v)),
        (Value::Int(v), DataType::Int32) => ScalarValue::Int32(i32::try_from(*v).ok()),
        (Value::Double(v), DataType::Float64) => ScalarValue::Float64(Some(*v)),
        (Value::String(v), DataType::Utf8) => ScalarValue::Utf8(Some(v.clone())),
        (Value::Timestamp(v), DataType::Timestamp(..)) => {
            ScalarValue::TimestampMicrosecond(Some(*v), Some("UTC".into()))
        }
        (Value::Date(v), DataType::Date32) => ScalarValue::Date32(Some(*v)),
        _ => return None,
    })
}

struct FileBounds<'a> {
    files: &'a [DataFile],
    schema: &'a SchemaRef,
    partition_by: &'a [String],
}

impl FileBounds<'_> {
    /// One value a file; null where it is not known.
    fn column(&self, column: &Column, of: impl Fn(&DataFile) -> Option<&Value>) -> Option<ArrayRef> {
        let wanted = self.schema.field_with_name(&column.name).ok()?.data_type();
        let unknown = ScalarValue::try_from(wanted).ok()?;
        let is_partition = self.partition_by.contains(&column.name);
        let values = self.files.iter().map(|file| {
            let value = if is_partition {
                let text = file.partition_values.get(&column.name)?.as_deref()?;
                Some(ScalarValue::Date32(date(text)))
            } else {
                bound(of(file)?, wanted)
            };
            value.filter(|v| v.data_type() == *wanted)
        });
        let values = values.map(|v| v.unwrap_or_else(|| unknown.clone())).collect::<Vec<_>>();
        ScalarValue::iter_to_array(values).ok()
    }
}

impl PruningStatistics for FileBounds<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.column(column, |file| file.stats.column(&column.name)?.min.as_ref())
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.column(column, |file| file.stats.column(&column.name)?.max.as_ref())
    }

    fn num_containers(&self) -> usize {
        self.files.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let counts = self.files.iter().map(|file| match file.partition_values.get(&column.name) {
            Some(Some(_)) => Some(0),
            Some(None) => Some(file.rows),
            None => file.stats.column(&column.name)?.null_count,
        });
        Some(Arc::new(counts.collect::<UInt64Array>()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(self.files.iter().map(|file| Some(file.rows)).collect::<UInt64Array>()))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
