//! Arrow columns by a table's schema, filled by index, row after row.
//!
//! Most columns of most spans are null, so a column is brought up to the current row only when it gets a
//! value. Knows no span. Invariant: [`Columns::finish`] gives columns of one length that fit the schema.

use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int32Builder, Int64Builder,
    ListArray, MapArray, RecordBatch, StringBuilder, StructArray, TimestampMicrosecondBuilder,
    new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

use crate::rules::Scalar;

/// Columns of a batch that is being made.
#[derive(Debug)]
pub(crate) struct Columns {
    schema: SchemaRef,
    columns: Vec<Column>,
    row: usize,
}

#[derive(Debug)]
enum Column {
    Text(StringBuilder),
    Int(Int64Builder),
    SmallInt(Int32Builder),
    Float(Float64Builder),
    Flag(BooleanBuilder),
    Time(TimestampMicrosecondBuilder),
    Day(Date32Builder),
    Texts(Texts),
    Map(Pairs),
    /// Of a type that nothing here fills.
    Null,
}

/// A list of texts.
#[derive(Debug)]
struct Texts {
    values: StringBuilder,
    ends: Vec<i32>,
    valid: Vec<bool>,
}

/// A map from text to text.
#[derive(Debug)]
struct Pairs {
    keys: StringBuilder,
    values: StringBuilder,
    ends: Vec<i32>,
}

/// Adds a value at the current row, after nulls for the rows without one; the first value of a row stands.
macro_rules! fill {
    ($builder:expr, $row:expr, $value:expr) => {
        if let Some(gap) = $row.checked_sub($builder.len()) {
            if gap > 0 {
                $builder.append_nulls(gap);
            }
            $builder.append_value($value);
        }
    };
}

impl Columns {
    pub(crate) fn new(schema: &SchemaRef) -> Self {
        let columns = schema.fields().iter().map(|field| Column::new(field)).collect();
        Self { schema: SchemaRef::clone(schema), columns, row: 0 }
    }

    /// Rows that are ended.
    pub(crate) fn rows(&self) -> usize {
        self.row
    }

    pub(crate) fn text(&mut self, column: usize, text: &str) {
        if let Column::Text(builder) = &mut self.columns[column] {
            fill!(builder, self.row, text);
        }
    }

    pub(crate) fn int(&mut self, column: usize, value: i64) {
        match &mut self.columns[column] {
            Column::Int(builder) => fill!(builder, self.row, value),
            Column::SmallInt(builder) => {
                if let Ok(value) = i32::try_from(value) {
                    fill!(builder, self.row, value);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn float(&mut self, column: usize, value: f64) {
        if let Column::Float(builder) = &mut self.columns[column] {
            fill!(builder, self.row, value);
        }
    }

    pub(crate) fn flag(&mut self, column: usize, value: bool) {
        if let Column::Flag(builder) = &mut self.columns[column] {
            fill!(builder, self.row, value);
        }
    }

    /// Microseconds since 1970, UTC.
    pub(crate) fn time(&mut self, column: usize, micros: i64) {
        if let Column::Time(builder) = &mut self.columns[column] {
            fill!(builder, self.row, micros);
        }
    }

    /// Days since 1970, UTC.
    pub(crate) fn day(&mut self, column: usize, day: i32) {
        if let Column::Day(builder) = &mut self.columns[column] {
            fill!(builder, self.row, day);
        }
    }

    pub(crate) fn texts(&mut self, column: usize, texts: &[&str]) {
        if let Column::Texts(list) = &mut self.columns[column] {
            for text in texts {
                list.values.append_value(text);
            }
            list.ends.push(offset(list.values.len()));
            list.valid.push(!texts.is_empty());
        }
    }

    /// Adds a pair to the map of the current row, where the map has no such key yet; says whether it did.
    pub(crate) fn pair(&mut self, column: usize, key: &str, value: &str) -> bool {
        match &mut self.columns[column] {
            Column::Map(map) => map.insert(key, value),
            _ => false,
        }
    }

    pub(crate) fn scalar(&mut self, column: usize, value: &Scalar<'_>) {
        match value {
            Scalar::Text(text) => self.text(column, text),
            Scalar::Int(value) => self.int(column, *value),
            Scalar::Float(value) => self.float(column, *value),
            Scalar::Flag(value) => self.flag(column, *value),
        }
    }

    /// Goes on to the next row.
    pub(crate) fn end_row(&mut self) {
        self.row += 1;
        for column in &mut self.columns {
            match column {
                Column::Map(map) => map.ends.push(offset(map.keys.len())),
                Column::Texts(list) if list.ends.len() < self.row => {
                    list.ends.push(offset(list.values.len()));
                    list.valid.push(false);
                }
                _ => {}
            }
        }
    }

    /// The rows as a batch.
    ///
    /// # Errors
    /// A required column has a row without a value.
    pub(crate) fn finish(self) -> Result<RecordBatch, ArrowError> {
        let Self { schema, columns, row } = self;
        let columns = columns
            .into_iter()
            .zip(schema.fields())
            .map(|(column, field)| column.finish(field, row))
            .collect::<Result<_, _>>()?;
        RecordBatch::try_new(schema, columns)
    }
}

impl Column {
    fn new(field: &Field) -> Self {
        match field.data_type() {
            DataType::Utf8 => Self::Text(strings()),
            DataType::Int64 => Self::Int(Int64Builder::with_capacity(0)),
            DataType::Int32 => Self::SmallInt(Int32Builder::with_capacity(0)),
            DataType::Float64 => Self::Float(Float64Builder::with_capacity(0)),
            DataType::Boolean => Self::Flag(BooleanBuilder::with_capacity(0)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Self::Time(
                TimestampMicrosecondBuilder::with_capacity(0).with_data_type(field.data_type().clone()),
            ),
            DataType::Date32 => Self::Day(Date32Builder::with_capacity(0)),
            DataType::List(_) => {
                Self::Texts(Texts { values: strings(), ends: Vec::new(), valid: Vec::new() })
            }
            DataType::Map(_, _) => Self::Map(Pairs { keys: strings(), values: strings(), ends: Vec::new() }),
            _ => Self::Null,
        }
    }

    fn finish(self, field: &Field, rows: usize) -> Result<ArrayRef, ArrowError> {
        macro_rules! padded {
            ($builder:ident) => {{
                let mut builder = $builder;
                if builder.is_empty() {
                    return Ok(new_null_array(field.data_type(), rows));
                }
                builder.append_nulls(rows - builder.len());
                Ok(Arc::new(builder.finish()))
            }};
        }
        match self {
            Self::Text(builder) => padded!(builder),
            Self::Int(builder) => padded!(builder),
            Self::SmallInt(builder) => padded!(builder),
            Self::Float(builder) => padded!(builder),
            Self::Flag(builder) => padded!(builder),
            Self::Time(builder) => padded!(builder),
            Self::Day(builder) => padded!(builder),
            Self::Texts(list) => list.finish(field),
            Self::Map(map) => map.finish(field),
            Self::Null => Ok(new_null_array(field.data_type(), rows)),
        }
    }
}

impl Texts {
    fn finish(mut self, field: &Field) -> Result<ArrayRef, ArrowError> {
        let DataType::List(element) = field.data_type() else {
            return Ok(new_null_array(field.data_type(), self.valid.len()));
        };
        let values = Arc::new(self.values.finish());
        let nulls = NullBuffer::from(self.valid);
        Ok(Arc::new(ListArray::try_new(Arc::clone(element), offsets(self.ends), values, Some(nulls))?))
    }
}

impl Pairs {
    /// Readers refuse maps with a key twice, so the first pair of a key stands. Maps are small.
    fn insert(&mut self, key: &str, value: &str) -> bool {
        let row = self.ends.last().map_or(0, |end| usize::try_from(*end).unwrap_or_default());
        let (bytes, offsets) = (self.keys.values_slice(), &self.keys.offsets_slice()[row..]);
        let known = offsets.windows(2).any(|ends| {
            let at = |end: i32| usize::try_from(end).unwrap_or_default();
            bytes[at(ends[0])..at(ends[1])] == *key.as_bytes()
        });
        if !known {
            self.keys.append_value(key);
            self.values.append_value(value);
        }
        !known
    }

    fn finish(mut self, field: &Field) -> Result<ArrayRef, ArrowError> {
        let rows = self.ends.len();
        let DataType::Map(entry, ordered) = field.data_type() else {
            return Ok(new_null_array(field.data_type(), rows));
        };
        let DataType::Struct(fields) = entry.data_type() else {
            return Ok(new_null_array(field.data_type(), rows));
        };
        let pairs: Vec<ArrayRef> = vec![Arc::new(self.keys.finish()), Arc::new(self.values.finish())];
        let entries = StructArray::try_new(fields.clone(), pairs, None)?;
        Ok(Arc::new(MapArray::try_new(Arc::clone(entry), offsets(self.ends), entries, None, *ordered)?))
    }
}

/// Room for nothing yet: by themselves, builders begin with room for a thousand, and most requests are small.
fn strings() -> StringBuilder {
    StringBuilder::with_capacity(0, 0)
}

/// The bounds on a body and on what its rows share keep every count of elements below 2^31.
fn offset(value: usize) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    let starts: Vec<i32> = std::iter::once(0).chain(ends).collect();
    OffsetBuffer::new(ScalarBuffer::from(starts))
}
