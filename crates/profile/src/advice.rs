//! What to mend in the telemetry: the queries of `sql/doctor` and the words in their headers.
//!
//! A query gives a row per service, dialect and fault: `service`, `dialect`, `n` of the `of` that the
//! service has, and whatever its words name in braces, beside `{share}` and `{whose}` (the service's).
//! The header says what it `counts`, what one of them `costs` in trust, what the advice
//! `says` and how to `mend` it, also for some dialects apart. `keeps: NAME` instead keeps rows for the
//! queries after it. Invariant: advice is ordered by what it costs, then by its words, so that the same
//! lake gives the same page.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow::{
    array::RecordBatch,
    compute::concat_batches,
    json::{ArrayWriter, writer::JsonArray, writer::WriterBuilder},
};
use datafusion::{common::ScalarValue, error::DataFusionError};
use jiff::civil::Date;
use serde_json::{Map, Value};

use crate::{
    error::ProfileError,
    session::{Reader, SessionFactory},
};

/// Days that are looked at where none is named, up to the latest that there is.
const DAYS: i32 = 30;
/// Day 0 of a date column.
const EPOCH: Date = Date::constant(1970, 1, 1);
/// What stands for a service that has no name.
const UNNAMED: &str = "an unnamed service";

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Advice {
    /// Name of the query, without its number.
    pub check: String,
    /// Service; `None` where it has no name.
    pub service: Option<String>,
    /// Dialects, parted by commas; `None` where the fault is no dialect's.
    pub dialect: Option<String>,
    /// What was counted: calls, runs or spans.
    pub counted: String,
    /// Those that have the fault.
    pub n: u64,
    /// All of the service's, whatever their dialect.
    pub of: u64,
    /// What it costs in trust: `n` times the price of one.
    pub cost: u64,
    /// What is wrong.
    pub says: String,
    /// What to do.
    pub mend: String,
}

/// What was looked at, and what there is to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// First day whose runs were looked at; `None` where the lake knows nothing.
    pub since: Option<Date>,
    /// The advice, what costs most trust first.
    pub advice: Vec<Advice>,
}

/// Looks for what to mend since a day, or in the latest 30 days; of one service or all.
///
/// # Errors
/// A query that fails, or whose header or rows are not advice.
#[tracing::instrument(skip_all)]
pub async fn advise(
    reader: &Reader,
    factory: &SessionFactory,
    service: Option<&str>,
    since: Option<Date>,
) -> Result<Findings, ProfileError> {
    let [started, received] = latest_days(reader).await?;
    let (Some(started), Some(received)) = (started.or(received), received.or(started)) else {
        return Ok(Findings { since: None, advice: Vec::new() });
    };
    let from =
        |latest: i32| since.map_or(latest - DAYS, |day| EPOCH.until(day).map_or(0, |span| span.get_days()));
    let day = |day: i32| ScalarValue::Date32(Some(day));
    let parameters = BTreeMap::from([("since", day(from(started))), ("received_since", day(from(received)))]);
    let mut advice = Vec::new();
    for (file, sql) in factory.sql().folder("doctor") {
        let name = format!("doctor/{file}");
        let words = Words::parse(&name, sql)?;
        let frame = reader.plan_with(&name, sql, &parameters).await?;
        let schema = Arc::clone(frame.schema().inner());
        let batches = frame.collect().await.map_err(ProfileError::query(&name))?;
        let batch = concat_batches(&schema, &batches).map_err(DataFusionError::from)?;
        match words {
            Words::Keeps(table) => reader.register_rows(&table, batch)?,
            Words::Says(words) => {
                let mut found = words.advice(&name, objects(&batch)?)?;
                found.retain(|found| service.is_none() || found.service.as_deref() == service);
                advice.append(&mut found);
            }
        }
    }
    advice.sort_by(|a, b| (b.cost, &a.check, &a.says).cmp(&(a.cost, &b.check, &b.says)));
    let since = EPOCH.checked_add(jiff::Span::new().days(from(started))).ok();
    Ok(Findings { since, advice })
}

/// The latest days, since 1970, on which runs started and on which spans were received: telemetry that is
/// read from old files has its starts long before its receipt.
async fn latest_days(reader: &Reader) -> Result<[Option<i32>; 2], ProfileError> {
    let sql = "SELECT max(CASE WHEN counted = 'spans' THEN NULL ELSE start_day END) AS started, \
               max(CASE WHEN counted = 'spans' THEN start_day END) AS received FROM quality";
    let batches = reader.query(sql).await?;
    let of = |column: usize| {
        batches.iter().find_map(|batch| match ScalarValue::try_from_array(batch.column(column), 0) {
            Ok(ScalarValue::Date32(day)) => day,
            _ => None,
        })
    };
    Ok([of(0), of(1)])
}

/// Rows as JSON objects, nulls included.
fn objects(batch: &RecordBatch) -> Result<Vec<Map<String, Value>>, ProfileError> {
    if batch.num_rows() == 0 {
        return Ok(Vec::new());
    }
    let mut writer: ArrayWriter<Vec<u8>> =
        WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(Vec::new());
    writer.write(batch).and_then(|()| writer.finish()).map_err(DataFusionError::from)?;
    serde_json::from_slice(&writer.into_inner())
        .map_err(|error| DataFusionError::External(Box::new(error)).into())
}

/// The header of a file.
enum Words {
    /// Its rows are a table for the files after it.
    Keeps(String),
    /// Its rows are advice.
    Says(Box<Says>),
}

/// How advice is worded and weighed.
struct Says {
    check: String,
    counts: String,
    costs: u64,
    says: String,
    mend: String,
    /// Mending by dialect.
    mends: BTreeMap<String, String>,
}

impl Words {
    /// Reads a header: `-- key: text`, a line that is indented goes on with the text before it.
    fn parse(file: &str, sql: &str) -> Result<Self, ProfileError> {
        let mut said: Vec<(String, String)> = Vec::new();
        for line in sql.lines().map_while(|line| line.strip_prefix("--")) {
            match (line.strip_prefix("   "), said.last_mut()) {
                (Some(more), Some((_, text))) => {
                    text.push(' ');
                    text.push_str(more.trim());
                }
                _ => {
                    if let Some((key, text)) = line.split_once(':') {
                        said.push((key.trim().to_owned(), text.trim().to_owned()));
                    }
                }
            }
        }
        let said: BTreeMap<String, String> = said.into_iter().collect();
        if let Some(table) = said.get("keeps") {
            return Ok(Self::Keeps(table.clone()));
        }
        let get = |key: &str| {
            said.get(key).cloned().ok_or_else(|| ProfileError::Header {
                file: file.to_owned(),
                problem: format!("say in a comment at the top what it {key}: `-- {key}: ...`"),
            })
        };
        let costs = get("costs")?.parse().map_err(|_| ProfileError::Header {
            file: file.to_owned(),
            problem: "`costs` is a whole number: what one of them costs in trust".to_owned(),
        })?;
        let check = file.trim_start_matches("doctor/").trim_end_matches(".sql");
        // A header has no line ends of its own.
        let lines = |text: String| text.replace("\\n", "\n");
        let mends = said.iter().filter_map(|(key, text)| Some((key.strip_prefix("mend ")?, text)));
        Ok(Self::Says(Box::new(Says {
            check: check.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').to_owned(),
            counts: get("counts")?,
            costs,
            says: get("says")?,
            mend: lines(get("mend")?),
            mends: mends.map(|(dialect, text)| (dialect.to_owned(), lines(text.clone()))).collect(),
        })))
    }
}

/// What rows say alike of several dialects.
struct Found {
    /// A row, without its counts and its dialect.
    row: Map<String, Value>,
    dialects: BTreeSet<String>,
    n: u64,
    of: u64,
}

impl Says {
    /// The advice of a query's rows; what is said alike of several dialects is said once.
    fn advice(&self, file: &str, rows: Vec<Map<String, Value>>) -> Result<Vec<Advice>, ProfileError> {
        let mut found: BTreeMap<(String, &str), Found> = BTreeMap::new();
        for mut row in rows {
            let mut number = |name: &str| {
                row.remove(name).as_ref().and_then(Value::as_u64).ok_or_else(|| ProfileError::Header {
                    file: file.to_owned(),
                    problem: format!(
                        "its query must give `service`, `dialect`, `n` and `of`: there is no {name}"
                    ),
                })
            };
            let (n, of) = (number("n")?, number("of")?);
            if n == 0 {
                continue;
            }
            let dialect = row.remove("dialect").and_then(|dialect| dialect.as_str().map(str::to_owned));
            let mend = dialect.as_ref().and_then(|dialect| self.mends.get(dialect)).unwrap_or(&self.mend);
            let alike = (Value::Object(row.clone()).to_string(), mend.as_str());
            let new = || Found { row, dialects: BTreeSet::new(), n: 0, of: 0 };
            let same = found.entry(alike).or_insert_with(new);
            same.dialects.extend(dialect);
            same.n += n;
            same.of = same.of.max(of).max(same.n);
        }
        Ok(found.iter().map(|((_, mend), found)| self.worded(mend, found)).collect())
    }

    fn worded(&self, mend: &str, found: &Found) -> Advice {
        let text = |name: &str| found.row.get(name).and_then(Value::as_str).map(str::to_owned);
        let service = text("service").unwrap_or_else(|| UNNAMED.to_owned());
        let whose = format!("{service}{}", if service.ends_with('s') { "'" } else { "'s" });
        let mut values: BTreeMap<&str, String> =
            found.row.iter().map(|(key, value)| (&**key, plain(value))).collect();
        values.insert("n", found.n.to_string());
        values.insert("of", found.of.to_string());
        values.insert("share", share(found.n, found.of));
        values.insert("service", service);
        values.insert("whose", whose);
        let dialects = found.dialects.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        Advice {
            check: self.check.clone(),
            service: text("service"),
            dialect: (!dialects.is_empty()).then_some(dialects),
            counted: text("counted").unwrap_or_else(|| self.counts.clone()),
            n: found.n,
            of: found.of,
            cost: found.n.saturating_mul(self.costs),
            says: filled(&self.says, &values),
            mend: filled(mend, &values),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "unknown".to_owned(),
        other => other.to_string(),
    }
}

/// Puts values for their names in braces; other braces stay as they are. What was put in is not read
/// again, so a service's name cannot ask for another value.
fn filled(template: &str, values: &BTreeMap<&str, String>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let named = rest[1..].split_once('}').and_then(|(name, after)| Some((values.get(name)?, after)));
        match named {
            Some((value, after)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// A share in per cent: whole from ten, a tenth below; never rounded to nothing or to all.
fn share(n: u64, of: u64) -> String {
    if n == of {
        return "100 %".to_owned();
    }
    let share = 100.0 * n as f64 / of as f64;
    match share {
        share if share < 0.1 => "less than 0.1 %".to_owned(),
        share if share < 10.0 => format!("{share:.1} %"),
        share if share > 99.0 => "more than 99 %".to_owned(),
        share => format!("{share:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_files::SqlFiles;

    /// Every header that comes with Plimsoll can be followed, and its words name what its query gives.
    #[test]
    fn embedded_headers() -> Result<(), ProfileError> {
        let files = SqlFiles::embedded();
        let mut kept = 0;
        for (file, sql) in files.folder("doctor") {
            match Words::parse(file, sql)? {
                Words::Keeps(_) => kept += 1,
                Words::Says(words) => assert!(["calls", "runs", "spans"].contains(&words.counts.as_str())),
            }
        }
        assert_eq!(kept, 1);
        Ok(())
    }

    /// Names in braces are filled, other braces and what was filled in are left alone.
    #[test]
    fn templates() {
        let values = BTreeMap::from([("service", "a {n} b".to_owned()), ("n", "3".to_owned())]);
        let text = "{service}: {\"include_usage\": true}, { n = \"{n}\" }, {unknown}";
        let wanted = "a {n} b: {\"include_usage\": true}, { n = \"3\" }, {unknown}";
        assert_eq!(filled(text, &values), wanted);
    }

    /// A share is never rounded to nothing or to everything.
    #[test]
    fn shares() {
        for (n, of, wanted) in [
            (1_234, 11_218, "11 %"),
            (1, 1_000_000, "less than 0.1 %"),
            (5, 100, "5.0 %"),
            (999, 1_000, "more than 99 %"),
            (7, 7, "100 %"),
        ] {
            assert_eq!(share(n, of), wanted);
        }
    }

    /// Headers: text goes on over indented lines, a dialect may have words of its own, and what is
    /// missing is asked for.
    #[test]
    fn headers() {
        let sql = "-- Prose.\n-- counts: calls\n-- costs: 3\n-- says: {share} of\n--   them\n-- mend: x\n-- mend traceloop: y\nSELECT 1";
        let Ok(Words::Says(words)) = Words::parse("doctor/10_x.sql", sql) else {
            unreachable!("the header says all that is needed")
        };
        assert_eq!((words.check.as_str(), words.costs, words.says.as_str()), ("x", 3, "{share} of them"));
        assert_eq!(words.mends.get("traceloop").map(String::as_str), Some("y"));
        let refused = Words::parse("doctor/10_x.sql", "-- counts: calls\nSELECT 1").err();
        assert!(refused.is_some_and(|why| why.to_string().contains("what it costs")));
    }
}
