//! Windows of profiles: the days and months of the jobs' time zone.
//!
//! Which days are touched is `touched`'s to say, what a window holds is SQL's. Invariant: whatever is
//! replaced under the date on which a window starts is here whole, a month with its first day.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow::{
    array::{ArrayRef, Date32Array, RecordBatch, StringArray, TimestampMicrosecondArray},
    datatypes::{DataType, Field, Schema},
};
use datafusion::error::DataFusionError;
use jiff::{Timestamp, ToSpan, civil, tz::TimeZone};

use crate::{
    error::ProfileError,
    functions::{instant, local_window},
};

/// Microseconds of a UTC day.
pub(crate) const DAY_MICROS: i64 = 86_400_000_000;

/// Local days and months, each with its start, end and the local date of its start.
#[derive(Debug)]
pub(crate) struct Windows(BTreeMap<(&'static str, i64), (i64, i32)>);

impl Windows {
    /// The windows that runs of these UTC days lie in. Rows are replaced by the date on which their
    /// window starts, so a month brings the day window of its first, and a first brings its month.
    pub(crate) fn over(days: &BTreeSet<i32>, zone: &TimeZone) -> Self {
        let mut windows = Self(BTreeMap::new());
        // A UTC day touches two local days, whichever way the zone lies.
        let instants = days.iter().flat_map(|&day| {
            let start = i64::from(day) * DAY_MICROS;
            [start, start + DAY_MICROS - 1]
        });
        for micros in instants {
            for grain in ["day", "month"] {
                windows.add(zone, grain, micros);
            }
        }
        let starts: Vec<i64> = windows.0.keys().map(|(_, from)| *from).collect();
        for from in starts {
            windows.add(zone, "day", from);
            if civil_day(zone, from).is_some_and(|date| date.day() == 1) {
                windows.add(zone, "month", from);
            }
        }
        windows
    }

    fn add(&mut self, zone: &TimeZone, grain: &'static str, micros: i64) {
        if let Some((from, to)) = local_window(zone, grain, micros)
            && let Some(date) = civil_day(zone, from)
        {
            self.0.insert((grain, from), (to, days_of(date)));
        }
    }

    /// Whether one of them starts on this local date.
    pub(crate) fn holds_day(&self, day: i32) -> bool {
        self.0.values().any(|(_, start)| *start == day)
    }

    /// The windows of each month; one part without windows where there are none.
    pub(crate) fn by_month(&self, zone: &TimeZone) -> Vec<Self> {
        let mut months: BTreeMap<i64, Self> = BTreeMap::new();
        for (&(grain, from), &window) in &self.0 {
            let month = local_window(zone, "month", from).map_or(from, |(start, _)| start);
            months.entry(month).or_insert_with(|| Self(BTreeMap::new())).0.insert((grain, from), window);
        }
        if months.is_empty() { vec![Self(BTreeMap::new())] } else { months.into_values().collect() }
    }

    /// First and last UTC day on which a run of these windows can have started.
    pub(crate) fn span_of_days(&self) -> (i32, i32) {
        let from = self.0.keys().map(|(_, from)| *from).min().unwrap_or(0);
        let to = self.0.values().map(|(to, _)| *to).max().unwrap_or(0);
        ((from.div_euclid(DAY_MICROS)) as i32, (to.div_euclid(DAY_MICROS)) as i32)
    }

    pub(crate) fn rows(&self) -> Result<RecordBatch, ProfileError> {
        let at = |micros: Vec<i64>| -> ArrayRef {
            Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC"))
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.0.keys().map(|(grain, _)| Some(*grain)).collect::<StringArray>()),
            at(self.0.keys().map(|(_, from)| *from).collect()),
            at(self.0.values().map(|(to, _)| *to).collect()),
            Arc::new(self.0.values().map(|(_, day)| Some(*day)).collect::<Date32Array>()),
        ];
        let schema = Schema::new(vec![
            Field::new("grain", DataType::Utf8, false),
            Field::new("window_start", instant(), false),
            Field::new("window_end", instant(), false),
            Field::new("start_day", DataType::Date32, false),
        ]);
        Ok(RecordBatch::try_new(Arc::new(schema), columns).map_err(DataFusionError::from)?)
    }
}

/// The day of an instant in a zone; none beyond what can be reckoned with.
pub(crate) fn civil_day(zone: &TimeZone, micros: i64) -> Option<civil::Date> {
    Some(Timestamp::from_microsecond(micros).ok()?.to_zoned_datetime(zone.clone()).date())
}

fn days_of(date: civil::Date) -> i32 {
    let since = date.since(civil::date(1970, 1, 1));
    since.map_or(0, |span| span.get_days())
}

/// The date of a day since 1970.
pub(crate) fn day_date(day: i32) -> civil::Date {
    civil::date(1970, 1, 1).checked_add(day.days()).unwrap_or(civil::Date::MIN)
}

/// The first local date that begins with or after a UTC day.
pub(crate) fn first_date_within(zone: &TimeZone, day: i32) -> i32 {
    let from = i64::from(day) * DAY_MICROS;
    match (civil_day(zone, from), local_window(zone, "day", from)) {
        (Some(date), Some((start, _))) => days_of(date) + i32::from(start < from),
        _ => day,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UTC day mostly begins within a local date, of which it then holds only a part.
    #[test]
    fn dates_within_a_day() -> Result<(), jiff::Error> {
        let first = |zone: &str| Ok::<_, jiff::Error>(first_date_within(&TimeZone::get(zone)?, 20_000));
        assert_eq!(first("UTC")?, 20_000);
        assert_eq!(first("America/New_York")?, 20_000);
        assert_eq!(first("Asia/Kolkata")?, 20_001);
        Ok(())
    }
}
