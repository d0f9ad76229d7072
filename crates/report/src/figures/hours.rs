//! When a pool is busy: the typical busiest minute of every hour of the week.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::{Figure, Table, series, series::Drawn, whereabouts};
use crate::{
    charts::{HeatMap, Label},
    format::{NONE, compact, count, group},
    local::Local,
    names,
};

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Typical values by weekday from Monday and local hour.
type Week = [[Option<f64>; 24]; 7];

pub(super) fn figure(
    number: usize,
    drawn: &Drawn<'_>,
    known: &BTreeSet<Date>,
    local: &Local,
) -> Option<Figure> {
    let dimension = drawn.dimension;
    let (week, weeks) = week(drawn, known, local);
    let (weekday, hour, most) = busiest(&week)?;
    let words = names::dimension(&dimension.dimension);
    let when = format!("{weekday} {hour:02}:00");
    let label = Label {
        id: format!("hours-{number}"),
        title: format!("{} is busiest on {when}", names::model(&drawn.plan.pool)),
        desc: format!(
            "By weekday and hour, {} time: the busiest minute of the hour, median of {}. Most on {when}: {} {words}; {}.",
            local.city(),
            count(weeks as u64, "week", "weeks"),
            compact(most),
            quiet(&week),
        ),
    };
    let chart = HeatMap {
        cells: week,
        caption: format!(
            "hour, {} time \u{b7} median of {}",
            local.city(),
            count(weeks as u64, "week", "weeks")
        ),
    };
    Some(Figure {
        subtitle: format!(
            "Busiest minute of the hour, {words} ({}) \u{b7} {}",
            dimension.basis,
            whereabouts(drawn.plan),
        ),
        svg: chart.svg(&label),
        table: table(&week),
        source: series::query(drawn),
        label,
    })
}

/// The median over the weeks of each hour's busiest minute, and the number of weeks. An hour without
/// a row counts as zero on a day with telemetry, unless no week has a row for it.
fn week(drawn: &Drawn<'_>, known: &BTreeSet<Date>, local: &Local) -> (Week, usize) {
    // An hour that a change of clocks repeats counts once, with its busier half.
    let mut seen: BTreeMap<(usize, usize), BTreeMap<Date, u64>> = BTreeMap::new();
    for hour in series::hours(drawn.pool, &drawn.measure) {
        let days = seen.entry(local.hour_of_week(hour.hour)).or_default();
        let most = days.entry(local.day(hour.hour)).or_default();
        *most = (*most).max(hour.busiest_minute);
    }
    let mut days_of: [usize; 7] = [0; 7];
    for date in known {
        let weekday = usize::from(date.weekday().to_monday_zero_offset().unsigned_abs());
        if let Some(days) = days_of.get_mut(weekday) {
            *days += 1;
        }
    }
    let mut week: Week = [[None; 24]; 7];
    for ((weekday, hour), days) in seen {
        let all = days_of.get(weekday).copied().unwrap_or_default();
        let mut values: Vec<u64> = days.into_values().collect();
        values.resize(all.max(values.len()), 0);
        if let Some(cell) = week.get_mut(weekday).and_then(|h| h.get_mut(hour)) {
            *cell = series::median(&mut values);
        }
    }
    (week, days_of.into_iter().max().unwrap_or_default())
}

fn busiest(week: &Week) -> Option<(&'static str, usize, f64)> {
    let mut best: Option<(&'static str, usize, f64)> = None;
    for (name, hours) in WEEKDAYS.iter().zip(week) {
        for (hour, value) in hours.iter().enumerate() {
            if let Some(value) = value.filter(|v| best.is_none_or(|b| *v > b.2)) {
                best = Some((name, hour, value));
            }
        }
    }
    best
}

/// How many hours of the week nothing was measured in.
fn quiet(week: &Week) -> String {
    match week.iter().flatten().filter(|v| v.is_none()).count() {
        0 => "something was measured in every hour of the week".to_owned(),
        n => format!("nothing was measured in {n} of the week\u{2019}s 168 hours"),
    }
}

/// Each weekday's busiest hour, and the whole week in its figures would be 168 numbers: too many.
fn table(week: &Week) -> Table {
    let rows = WEEKDAYS.iter().zip(week).map(|(name, hours)| {
        let mut best: Option<(usize, f64)> = None;
        for (hour, value) in hours.iter().enumerate() {
            if let Some(value) = value.filter(|v| best.is_none_or(|b| *v > b.1)) {
                best = Some((hour, value));
            }
        }
        let (hour, most) = match best {
            Some((hour, value)) => (format!("{hour:02}:00"), group(value.round() as u64)),
            None => (NONE.to_owned(), NONE.to_owned()),
        };
        vec![(*name).to_owned(), hour, most]
    });
    Table {
        head: vec!["weekday", "busiest hour", "busiest minute in it, median"],
        text_columns: 1,
        rows: rows.collect(),
    }
}
