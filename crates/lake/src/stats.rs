//! Statistics of a data file: rows, and per column the smallest value, the largest and how many nulls.
//!
//! They are taken from the Parquet footer that the writer has made anyway, and travel as the JSON that
//! the Delta protocol prescribes, so that other engines prune by them too. Which files a query skips
//! is left to the reader.
//!
//! Invariant: bounds hold but need not be tight. A long text's bounds are cut to
//! [`BOUND_BYTES`] (the lower one rounded down, the upper one up); a bound that JSON cannot hold
//! exactly (money, infinities) is left out.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{Span, Timestamp};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;
use serde_json::{Map, json};

use crate::schema::{ColumnType, TableSchema};

/// Longest text that a bound keeps, in bytes.
pub(crate) const BOUND_BYTES: usize = 64;

/// A column's bound.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `boolean`.
    Boolean(bool),
    /// `bigint` and `int`.
    Int(i64),
    /// `double`, finite.
    Double(f64),
    /// `string`, possibly cut.
    String(String),
    /// `timestamp`: microseconds since 1970, UTC.
    Timestamp(i64),
    /// `date`: days since 1970.
    Date(i32),
}

/// What is known of one column of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnStats {
    /// Nothing in the column is smaller; absent where the column has only nulls or none is known.
    pub min: Option<Value>,
    /// Nothing in the column is larger; absent like `min`.
    pub max: Option<Value>,
    /// How many of its values are null, where known.
    pub null_count: Option<u64>,
}

/// What is known of the columns of a file, by name. Partition columns, lists and maps are not in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileStats {
    /// Columns, by name.
    pub columns: BTreeMap<String, ColumnStats>,
}

impl FileStats {
    /// Statistics of one column.
    pub fn column(&self, name: &str) -> Option<&ColumnStats> {
        self.columns.get(name)
    }

    /// Reads them from the footer of a file that has just been written.
    pub(crate) fn from_footer(schema: &TableSchema, footer: &ParquetMetaData) -> Self {
        let mut stats = Self::default();
        let described = footer.file_metadata().schema_descr();
        for (index, leaf) in described.columns().iter().enumerate() {
            let [name] = leaf.path().parts() else {
                continue;
            };
            let Some(column) = schema.column(name) else {
                continue;
            };
            let groups = footer.row_groups().iter().map(|group| group.column(index).statistics());
            stats.columns.insert(name.clone(), ColumnStats::over(column.data_type, groups));
        }
        stats
    }

    /// The JSON of the Delta protocol.
    pub(crate) fn to_json(&self, rows: u64) -> String {
        let (mut min, mut max, mut nulls) = (Map::new(), Map::new(), Map::new());
        for (name, column) in &self.columns {
            if let Some(value) = column.min.as_ref().and_then(Value::to_json) {
                min.insert(name.clone(), value);
            }
            if let Some(value) = column.max.as_ref().and_then(Value::to_json) {
                max.insert(name.clone(), value);
            }
            if let Some(count) = column.null_count {
                nulls.insert(name.clone(), json!(count));
            }
        }
        json!({"numRecords": rows, "minValues": min, "maxValues": max, "nullCount": nulls}).to_string()
    }

    /// Reads the JSON of the Delta protocol: number of rows and statistics. What it says of columns
    /// that the schema does not know, or in a form that it does not have, is passed over.
    pub(crate) fn from_json(schema: &TableSchema, text: &str) -> Option<(u64, Self)> {
        let json: serde_json::Value = serde_json::from_str(text).ok()?;
        let rows = json.get("numRecords")?.as_u64()?;
        let mut stats = Self::default();
        for column in &schema.columns {
            let of = |what: &str| json.get(what).and_then(|values| values.get(&column.name));
            let found = ColumnStats {
                min: of("minValues").and_then(|v| Value::from_json(column.data_type, v)),
                max: of("maxValues").and_then(|v| Value::from_json(column.data_type, v)),
                null_count: of("nullCount").and_then(serde_json::Value::as_u64),
            };
            if found != ColumnStats::default() {
                stats.columns.insert(column.name.clone(), found);
            }
        }
        Some((rows, stats))
    }
}

impl ColumnStats {
    /// Joins the statistics of a file's row groups; a bound that one group lacks is lacking, unless
    /// the group holds nothing but nulls.
    fn over<'a>(data_type: ColumnType, groups: impl Iterator<Item = Option<&'a Statistics>>) -> Self {
        let mut joined: Option<Self> = None;
        for group in groups {
            let Some(stats) = group else {
                return Self::default();
            };
            let (min, max) = Value::bounds(data_type, stats);
            let next = Self { min, max, null_count: stats.null_count_opt() };
            joined = Some(match joined {
                None => next,
                Some(before) => Self {
                    min: tighter(before.min, next.min, Ordering::Less),
                    max: tighter(before.max, next.max, Ordering::Greater),
                    null_count: before.null_count.zip(next.null_count).map(|(a, b)| a + b),
                },
            });
        }
        joined.unwrap_or_default()
    }
}

/// Of two bounds, the one further out.
fn tighter(a: Option<Value>, b: Option<Value>, wanted: Ordering) -> Option<Value> {
    let (a, b) = (a?, b?);
    Some(if b.compare(&a) == Some(wanted) { b } else { a })
}

impl Value {
    /// Order of two values of one type.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) | (Self::Timestamp(a), Self::Timestamp(b)) => Some(a.cmp(b)),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(b),
            (Self::String(a), Self::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Self::Date(a), Self::Date(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    fn bounds(data_type: ColumnType, stats: &Statistics) -> (Option<Self>, Option<Self>) {
        let text = |bytes: Option<&[u8]>| {
            bytes.and_then(|b| std::str::from_utf8(b).ok()).map(|s| Self::String(s.to_owned()))
        };
        let double = |v: Option<&f64>| v.filter(|v| v.is_finite()).map(|v| Self::Double(*v));
        match (data_type, stats) {
            (ColumnType::Boolean, Statistics::Boolean(s)) => {
                (s.min_opt().copied().map(Self::Boolean), s.max_opt().copied().map(Self::Boolean))
            }
            (ColumnType::BigInt, Statistics::Int64(s)) => {
                (s.min_opt().copied().map(Self::Int), s.max_opt().copied().map(Self::Int))
            }
            (ColumnType::Int, Statistics::Int32(s)) => {
                (s.min_opt().map(|v| Self::Int(i64::from(*v))), s.max_opt().map(|v| Self::Int(i64::from(*v))))
            }
            (ColumnType::Double, Statistics::Double(s)) => (double(s.min_opt()), double(s.max_opt())),
            (ColumnType::Timestamp, Statistics::Int64(s)) => {
                (s.min_opt().copied().map(Self::Timestamp), s.max_opt().copied().map(Self::Timestamp))
            }
            (ColumnType::Date, Statistics::Int32(s)) => {
                (s.min_opt().copied().map(Self::Date), s.max_opt().copied().map(Self::Date))
            }
            (ColumnType::String, Statistics::ByteArray(s)) => {
                (text(s.min_bytes_opt()), text(s.max_bytes_opt()))
            }
            _ => (None, None),
        }
    }

    fn to_json(&self) -> Option<serde_json::Value> {
        Some(match self {
            Self::Boolean(v) => json!(v),
            Self::Int(v) => json!(v),
            Self::Double(v) => serde_json::Value::Number(serde_json::Number::from_f64(*v)?),
            Self::String(v) => json!(v),
            Self::Timestamp(v) => json!(Timestamp::from_microsecond(*v).ok()?.to_string()),
            Self::Date(v) => json!(day_text(*v)?),
        })
    }

    fn from_json(data_type: ColumnType, json: &serde_json::Value) -> Option<Self> {
        match data_type {
            ColumnType::Boolean => json.as_bool().map(Self::Boolean),
            ColumnType::BigInt | ColumnType::Int => json.as_i64().map(Self::Int),
            ColumnType::Double => json.as_f64().map(Self::Double),
            ColumnType::String => json.as_str().map(|s| Self::String(s.to_owned())),
            ColumnType::Timestamp => {
                let at: Timestamp = json.as_str()?.parse().ok()?;
                Some(Self::Timestamp(at.as_microsecond()))
            }
            ColumnType::Date => day_number(json.as_str()?).map(Self::Date),
            ColumnType::Decimal | ColumnType::StringList | ColumnType::StringMap | ColumnType::BigIntMap => {
                None
            }
        }
    }
}

/// Day 0 of `DATE` columns.
const EPOCH: Date = Date::constant(1970, 1, 1);

/// A day as `YYYY-MM-DD`; none where it is outside the years that can be written so.
pub(crate) fn day_text(days: i32) -> Option<String> {
    let date = EPOCH.checked_add(Span::new().try_days(days).ok()?).ok()?;
    (date.year() >= 0).then(|| date.to_string())
}

/// The days since 1970 of `YYYY-MM-DD`.
pub(crate) fn day_number(text: &str) -> Option<i32> {
    text.parse().ok().map(days_since_1970)
}

/// The days since 1970 of a day.
pub(crate) fn days_since_1970(day: Date) -> i32 {
    day.duration_since(EPOCH).as_hours().div_euclid(24).try_into().unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schemas;

    fn schema() -> TableSchema {
        let text = r#"
            description = "d"
            columns = [
              { name = "s", type = "string", doc = "" },
              { name = "n", type = "bigint", doc = "" },
              { name = "d", type = "double", doc = "" },
              { name = "t", type = "timestamp", doc = "" },
              { name = "day", type = "date", doc = "" },
            ]"#;
        let schemas = Schemas::load([("x.toml".to_owned(), text.to_owned())]);
        schemas.ok().and_then(|s| s.get("x").cloned()).unwrap_or_else(|| unreachable!())
    }

    /// What is written to the log is what is read from it, to the microsecond.
    #[test]
    fn json_round_trip() {
        let mut stats = FileStats::default();
        let mut put = |name: &str, min: Value, max: Value| {
            let column = ColumnStats { min: Some(min), max: Some(max), null_count: Some(3) };
            stats.columns.insert(name.to_owned(), column);
        };
        put("s", Value::String("a".into()), Value::String("\u{e9}\"".into()));
        put("n", Value::Int(i64::MIN), Value::Int(i64::MAX));
        put("d", Value::Double(-0.1), Value::Double(1e300));
        put("t", Value::Timestamp(1_764_453_163_123_456), Value::Timestamp(1_764_453_163_123_457));
        put("day", Value::Date(-1), Value::Date(20_786));
        let text = stats.to_json(7);
        assert_eq!(FileStats::from_json(&schema(), &text), Some((7, stats)));
        assert!(text.contains("2025-11-29T21:52:43.123456Z"), "{text}");
        assert!(text.contains("1969-12-31"), "{text}");
    }

    /// Known days, so that partitions are named as other engines name them.
    #[test]
    fn days() {
        assert_eq!(day_text(20_786).as_deref(), Some("2026-11-29"));
        assert_eq!(day_number("2026-11-29"), Some(20_786));
        assert_eq!(day_number("yesterday"), None);
        assert_eq!(day_text(i32::MAX), None);
    }
}
