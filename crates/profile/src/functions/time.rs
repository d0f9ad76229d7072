//! Time in SQL: `local_trunc(grain, t)`, `utc_second(n)` and `plus_ms(t, ms)`.
//!
//! Instants are UTC microseconds throughout; only `local_trunc` knows the business time zone, and it
//! goes through the civil date, so that a day that loses or gains an hour is still one day.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, TimestampMicrosecondArray},
    datatypes::{DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, exec_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility},
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// The three functions, for registration.
pub(super) fn udfs(time_zone: &TimeZone) -> [ScalarUDF; 3] {
    [
        Function::LocalTrunc(Zone(time_zone.clone())).udf(vec![DataType::Utf8, instant()]),
        Function::UtcSecond.udf(vec![DataType::Int64]),
        Function::PlusMs.udf(vec![instant(), DataType::Float64]),
    ]
}

/// The one type that instants have in the lake.
pub(crate) fn instant() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// Start of the local day or month that an instant lies in, and of the next one, in UTC
/// microseconds; null for another grain.
pub(crate) fn local_window(zone: &TimeZone, grain: &str, micros: i64) -> Option<(i64, i64)> {
    let date = Timestamp::from_microsecond(micros).ok()?.to_zoned_datetime(zone.clone()).date();
    let (first, next) = match grain {
        "day" => (date, date.tomorrow().ok()?),
        "month" => (date.first_of_month(), date.last_of_month().tomorrow().ok()?),
        _ => return None,
    };
    Some((midnight(zone, first)?, midnight(zone, next)?))
}

fn midnight(zone: &TimeZone, date: Date) -> Option<i64> {
    let start = date.to_zoned_datetime(zone.clone()).ok()?;
    Some(start.timestamp().as_microsecond())
}

/// A time zone that compares by name, as the engine wants of functions.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Zone(TimeZone);

impl std::hash::Hash for Zone {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.iana_name().hash(state);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Function {
    LocalTrunc(Zone),
    UtcSecond,
    PlusMs,
}

impl Function {
    fn udf(self, arguments: Vec<DataType>) -> ScalarUDF {
        ScalarUDF::from(TimeFunction {
            function: self,
            signature: Signature::exact(arguments, Volatility::Immutable),
        })
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeFunction {
    function: Function,
    signature: Signature,
}

impl ScalarUDFImpl for TimeFunction {
    fn name(&self) -> &str {
        match self.function {
            Function::LocalTrunc(_) => "local_trunc",
            Function::UtcSecond => "utc_second",
            Function::PlusMs => "plus_ms",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(instant())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let micros: TimestampMicrosecondArray = match (&self.function, arrays.as_slice()) {
            (Function::LocalTrunc(zone), [grains, times]) => truncate(&zone.0, grains, times)?,
            (Function::UtcSecond, [seconds]) => seconds
                .as_primitive::<Int64Type>()
                .iter()
                .map(|s| s.and_then(|s| s.checked_mul(1_000_000)))
                .collect(),
            (Function::PlusMs, [times, ms]) => times
                .as_primitive::<TimestampMicrosecondType>()
                .iter()
                .zip(ms.as_primitive::<Float64Type>())
                .map(|(time, ms)| time?.checked_add((ms? * 1000.0).round() as i64))
                .collect(),
            _ => return exec_err!("{} got {} arguments", self.name(), arrays.len()),
        };
        let array: ArrayRef = Arc::new(micros.with_timezone("UTC"));
        Ok(ColumnarValue::Array(array))
    }
}

fn truncate(zone: &TimeZone, grains: &ArrayRef, times: &ArrayRef) -> Result<TimestampMicrosecondArray> {
    let grains = grains.as_string::<i32>();
    let times = times.as_primitive::<TimestampMicrosecondType>();
    // Rows come in runs of the same window; the last one found answers most of them.
    let mut last: [(&str, i64, i64); 2] = [("", 0, 0); 2];
    let rows = (0..times.len()).map(|row| {
        if times.is_null(row) || grains.is_null(row) {
            return None;
        }
        let (grain, time) = (grains.value(row), times.value(row));
        let slot = usize::from(grain == "month");
        let (known, from, to) = last[slot];
        if known == grain && (from..to).contains(&time) {
            return Some(from);
        }
        let (from, to) = local_window(zone, grain, time)?;
        last[slot] = (grain, from, to);
        Some(from)
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(zone: &str, grain: &str, instant: &str) -> (String, String) {
        let micros = instant.parse::<Timestamp>().map(Timestamp::as_microsecond).unwrap_or_default();
        let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
        let (from, to) = local_window(&zone, grain, micros).unwrap_or_default();
        let text = |m| Timestamp::from_microsecond(m).map(|t| t.to_string()).unwrap_or_default();
        (text(from), text(to))
    }

    /// T21 a: half past midnight in Kolkata on 1 April is still March in UTC.
    #[test]
    fn half_hour_offsets() {
        let (from, _) = window("Asia/Kolkata", "month", "2026-03-31T18:40:00Z");
        assert_eq!(from, "2026-03-31T18:30:00Z");
    }

    /// T21 b and c: local days hold 23 and 25 hours where the clocks change.
    #[test]
    fn daylight_saving() {
        assert_eq!(
            window("America/Denver", "day", "2024-03-11T06:30:00Z"),
            ("2024-03-11T06:00:00Z".into(), "2024-03-12T06:00:00Z".into())
        );
        assert_eq!(
            window("America/Denver", "day", "2024-03-10T12:00:00Z"),
            ("2024-03-10T07:00:00Z".into(), "2024-03-11T06:00:00Z".into())
        );
        assert_eq!(
            window("America/Denver", "day", "2024-11-03T08:30:00Z"),
            ("2024-11-03T06:00:00Z".into(), "2024-11-04T07:00:00Z".into())
        );
    }
}
