//! Rows, batch by batch, as CSV, JSON or Parquet.
//!
//! Where the bytes go is left to the caller. Invariants: what is held in memory does not grow with the
//! number of rows; the same batches give the same bytes; a CSV holds no text that a spreadsheet would
//! run.

use std::{io::Write, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, RecordBatch, StringArray},
    compute::cast,
    datatypes::{DataType, Field, Schema, SchemaRef},
    json::writer::{JsonArray, WriterBuilder},
    util::display::{ArrayFormatter, FormatOptions},
};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::properties::WriterProperties,
};

use crate::failure::Failure;

/// Rows of a Parquet row group: the writer holds one of them.
const ROW_GROUP_ROWS: usize = 1 << 17;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// With a header.
    Csv,
    /// An array of objects.
    Json,
    /// Columns with their types.
    Parquet,
}

/// Writes rows in one encoding.
pub(crate) enum RowWriter<W: Write + Send> {
    Csv(Box<arrow::csv::Writer<W>>),
    Json(arrow::json::Writer<W, JsonArray>),
    Parquet(Box<ArrowWriter<W>>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Starts a file of rows of that schema.
    ///
    /// # Errors
    /// A type that the encoding does not have, or an output that cannot be written.
    pub(crate) fn start(out: W, schema: &SchemaRef, encoding: Encoding) -> Result<Self, Failure> {
        Ok(match encoding {
            Encoding::Csv => {
                let mut writer = arrow::csv::WriterBuilder::new().with_header(true).build(out);
                // Writes the header, so that no rows still leave the names of the columns.
                writer.write(&guard(&RecordBatch::new_empty(Arc::clone(schema)))?)?;
                Self::Csv(Box::new(writer))
            }
            Encoding::Json => {
                Self::Json(WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(out))
            }
            Encoding::Parquet => {
                let properties = properties().map_err(failed)?;
                let writer =
                    ArrowWriter::try_new(out, Arc::clone(schema), Some(properties)).map_err(failed)?;
                Self::Parquet(Box::new(writer))
            }
        })
    }

    /// Writes some rows.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<(), Failure> {
        match self {
            Self::Csv(writer) => writer.write(&guard(rows)?)?,
            Self::Json(writer) => writer.write(rows)?,
            Self::Parquet(writer) => writer.write(rows).map_err(failed)?,
        }
        Ok(())
    }

    /// Ends the file and gives back the output, which may still hold bytes that are not flushed.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub(crate) fn finish(self) -> Result<W, Failure> {
        match self {
            Self::Csv(writer) => Ok(writer.into_inner()),
            Self::Json(mut writer) => {
                writer.finish()?;
                let mut out = writer.into_inner();
                writeln!(out)?;
                Ok(out)
            }
            Self::Parquet(writer) => writer.into_inner().map_err(failed),
        }
    }
}

fn properties() -> Result<WriterProperties, ParquetError> {
    Ok(WriterProperties::builder()
        .set_created_by(concat!("plimsoll ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build())
}

/// A failure of the output stays one, so that a closed pipe is known as such.
fn failed(error: ParquetError) -> Failure {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(io) => (*io).into(),
            Err(other) => Failure::internal(other),
        },
        other => Failure::internal(other),
    }
}

/// A spreadsheet runs texts that begin like a formula; an apostrophe in front keeps them texts.
/// Numbers are left alone. Lists, maps and structs become JSON-like text, since CSV has none.
fn guard(batch: &RecordBatch) -> Result<RecordBatch, Failure> {
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let column = match field.data_type() {
            nested if nested.is_nested() => as_texts(column)?,
            DataType::Utf8View | DataType::LargeUtf8 | DataType::Dictionary(..) => {
                cast(column, &DataType::Utf8)?
            }
            _ => Arc::clone(column),
        };
        let guarded: ArrayRef = match column.as_any().downcast_ref::<StringArray>() {
            Some(texts) => Arc::new(texts.iter().map(|text| text.map(guard_text)).collect::<StringArray>()),
            None => column,
        };
        fields.push(Field::new(guard_text(field.name()), guarded.data_type().clone(), true));
        columns.push(guarded);
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// What a person would read of a list, map or struct.
fn as_texts(column: &ArrayRef) -> Result<ArrayRef, Failure> {
    let options = FormatOptions::default();
    let format = ArrayFormatter::try_new(column, &options)?;
    let texts = (0..column.len()).map(|row| column.is_valid(row).then(|| format.value(row).to_string()));
    Ok(Arc::new(texts.collect::<StringArray>()))
}

/// One text of a CSV.
pub(crate) fn guard_text(text: &str) -> String {
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T45: what a spreadsheet would run is made text; other texts stay as they are.
    #[test]
    fn formulas() {
        for text in ["=1+1", "+cmd", "@SUM(A1)", "\tx", "\rx", "-5"] {
            assert_eq!(guard_text(text), format!("'{text}"));
        }
        assert_eq!(guard_text("invoice-reconciliation"), "invoice-reconciliation");
    }

    /// T45: however the engine lays out its texts, none gets past the guard.
    #[test]
    fn formulas_in_every_layout() -> Result<(), Failure> {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["=1+1"]));
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        for layout in [DataType::Utf8, DataType::Utf8View, DataType::LargeUtf8, dictionary] {
            let rows = RecordBatch::try_from_iter([("text", cast(&texts, &layout)?)])?;
            let mut writer = RowWriter::start(Vec::new(), &rows.schema(), Encoding::Csv)?;
            writer.write(&rows)?;
            assert_eq!(String::from_utf8_lossy(&writer.finish()?), "text\n'=1+1\n", "{layout}");
        }
        Ok(())
    }
}
