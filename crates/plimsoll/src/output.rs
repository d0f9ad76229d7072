//! Results on stdout, as a table, JSON, CSV or Parquet.

use std::io::{self, BufWriter, Write};

use arrow::{array::RecordBatch, util::pretty::pretty_format_batches};
use serde::Serialize;

use crate::{
    cli::Format,
    failure::Failure,
    row_writer::{Encoding, RowWriter, guard_text},
};

/// Rows that a table shows before it is cut.
const TABLE_ROWS: usize = 200;

/// Prints the rows of a query; `all` shows a table whole.
pub(crate) fn rows(batches: &[RecordBatch], format: Format, all: bool) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout());
    let written = match format {
        Format::Table => table(&mut out, batches, all),
        Format::Json => encoded(&mut out, batches, Encoding::Json),
        Format::Csv => encoded(&mut out, batches, Encoding::Csv),
        Format::Parquet => encoded(&mut out, batches, Encoding::Parquet),
    };
    ended(written.and_then(|()| Ok(out.flush()?)))
}

/// Prints one answer: JSON where asked for, else the lines of its table twin.
pub(crate) fn answer(
    value: &impl Serialize,
    lines: &[(String, String)],
    format: Format,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout());
    let written = match format {
        Format::Json => serde_json::to_writer_pretty(&mut out, value)
            .map_err(Failure::internal)
            .and_then(|()| Ok(writeln!(out)?)),
        Format::Table => lines.iter().try_for_each(|(name, value)| Ok(writeln!(out, "{name:<28} {value}")?)),
        Format::Csv => {
            let mut writer = ::csv::Writer::from_writer(&mut out);
            let names = writer.write_record(lines.iter().map(|(name, _)| name));
            names
                .and_then(|()| writer.write_record(lines.iter().map(|(_, value)| value)))
                .map_err(Failure::internal)
        }
        Format::Parquet => Err(Failure::input("only `sql` prints Parquet: choose table, json or csv")),
    };
    ended(written.and_then(|()| Ok(out.flush()?)))
}

/// Prints a list: an array of objects, or a row each under the names of their fields.
pub(crate) fn list(items: &[impl Serialize], format: Format) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout());
    let written = match format {
        Format::Json => serde_json::to_writer_pretty(&mut out, items)
            .map_err(Failure::internal)
            .and_then(|()| Ok(writeln!(out)?)),
        Format::Csv => csv_list(&mut out, items),
        Format::Table | Format::Parquet => Err(Failure::input("this is printed as a table, JSON or CSV")),
    };
    ended(written.and_then(|()| Ok(out.flush()?)))
}

fn csv_list(out: &mut impl Write, items: &[impl Serialize]) -> Result<(), Failure> {
    let mut writer = ::csv::Writer::from_writer(out);
    for (at, item) in items.iter().enumerate() {
        let serde_json::Value::Object(fields) = serde_json::to_value(item).map_err(Failure::internal)? else {
            return Err(Failure::internal("an item of a list has no fields"));
        };
        if at == 0 {
            writer.write_record(fields.keys()).map_err(Failure::internal)?;
        }
        let texts = fields.values().map(|value| match value {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => guard_text(text),
            other => other.to_string(),
        });
        writer.write_record(texts).map_err(Failure::internal)?;
    }
    Ok(writer.flush()?)
}

/// Prints a line.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    ended(writeln!(io::stdout().lock(), "{text}").map_err(Failure::from))
}

/// Rows under a header, each column as wide as its widest text.
pub(crate) fn columns<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let widths: [usize; N] = std::array::from_fn(|at| {
        let texts = rows.iter().filter_map(|row| row.get(at)).map(String::len);
        texts.chain(header.get(at).map(|name| name.len())).max().unwrap_or(0)
    });
    let line = |texts: &[String; N]| {
        let padded: Vec<String> =
            texts.iter().zip(widths).map(|(text, width)| format!("{text:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&header.map(str::to_owned))];
    lines.extend(rows.iter().map(line));
    lines.join("\n")
}

/// A reader that has seen enough (`| head`) is no failure.
fn ended(written: Result<(), Failure>) -> Result<(), Failure> {
    match written {
        Err(failure) if failure.is_closed_pipe() => Ok(()),
        other => other,
    }
}

fn table(out: &mut impl Write, batches: &[RecordBatch], all: bool) -> Result<(), Failure> {
    let total: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let mut room = if all { usize::MAX } else { TABLE_ROWS };
    let shown: Vec<RecordBatch> = batches
        .iter()
        .map(|batch| {
            let rows = batch.num_rows().min(room);
            room -= rows;
            batch.slice(0, rows)
        })
        .collect();
    writeln!(out, "{}", pretty_format_batches(&shown).map_err(Failure::internal)?)?;
    let plural = if total == 1 { "" } else { "s" };
    writeln!(out, "{total} row{plural}")?;
    if room == 0 && total > TABLE_ROWS {
        writeln!(
            out,
            "only the first {TABLE_ROWS} are shown: --all shows every row, --format csv writes them"
        )?;
    }
    Ok(())
}

/// Rows in an encoding that scripts read.
fn encoded(
    out: &mut (impl Write + Send),
    batches: &[RecordBatch],
    encoding: Encoding,
) -> Result<(), Failure> {
    let Some(first) = batches.first() else {
        return Err(Failure::no_data("the query gives no columns to write"));
    };
    let mut writer = RowWriter::start(out, &first.schema(), encoding)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish().map(drop)
}
