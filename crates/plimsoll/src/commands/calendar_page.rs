//! What `plimsoll calendar` prints.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plimsoll_calendar::Calendar;
use serde::Serialize;

/// The answer: which calendar, what was understood, when it comes.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    calendar: About,
    /// Each event and how it was understood.
    understood: BTreeMap<String, String>,
    pub(super) occurrences: Vec<Row>,
    pub(super) notes: Vec<String>,
}

/// The calendar that was asked.
#[derive(Debug, Serialize)]
struct About {
    name: String,
    title: String,
    source: String,
    url: Option<String>,
    read_on: Option<String>,
    valid_from: String,
    valid_through: String,
    zone: String,
}

/// One occurrence, in local time with its offset and in UTC.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) event: String,
    id: String,
    start: String,
    end: String,
    start_utc: Timestamp,
    end_utc: Timestamp,
    hours: f64,
}

impl Row {
    pub(super) fn new(event: &str, id: &str, start: Timestamp, end: Timestamp, calendar: &Calendar) -> Self {
        let local = |at: Timestamp| {
            let offset = calendar.zone().to_offset(at);
            format!("{}{}", calendar.zone().to_datetime(at), offset_text(offset.seconds()))
        };
        Self {
            event: event.to_owned(),
            id: id.to_owned(),
            start: local(start),
            end: local(end),
            start_utc: start,
            end_utc: end,
            hours: start.duration_until(end).as_secs_f64() / 3600.0,
        }
    }
}

/// `-05:00`
fn offset_text(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

impl Page {
    pub(super) fn new(calendar: &Calendar) -> Self {
        let (source, (from, through)) = (calendar.source(), calendar.valid());
        Self {
            calendar: About {
                name: calendar.name().to_owned(),
                title: calendar.title().to_owned(),
                source: source.title.clone(),
                url: source.url.clone(),
                read_on: source.read_on.map(|day| day.to_string()),
                valid_from: from.to_string(),
                valid_through: through.to_string(),
                zone: calendar.zone_name().to_owned(),
            },
            understood: BTreeMap::new(),
            occurrences: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The first so many, in order of start.
    pub(super) fn keep_first(&mut self, count: usize) {
        self.occurrences.sort_by(|one, other| {
            (one.start_utc, one.end_utc, &one.event).cmp(&(other.start_utc, other.end_utc, &other.event))
        });
        self.occurrences.truncate(count);
    }

    pub(super) fn understood(&mut self, event: String, said: String) {
        self.understood.insert(event, said);
    }

    /// The table twin.
    pub(super) fn lines(&self) -> Vec<(String, String)> {
        let about = &self.calendar;
        let read = about.read_on.as_ref().map(|day| format!(", read {day}")).unwrap_or_default();
        let mut lines = vec![
            ("calendar".to_owned(), format!("{}: {}", about.name, about.title)),
            ("source".to_owned(), format!("{}{read}", about.source)),
            ("known".to_owned(), format!("{} through {}", about.valid_from, about.valid_through)),
            ("zone".to_owned(), about.zone.clone()),
        ];
        lines.extend(self.understood.iter().map(|(event, said)| (event.clone(), said.clone())));
        lines.extend(self.occurrences.iter().map(|row| {
            let when = format!("{} .. {}", row.start, row.end);
            (row.id.clone(), format!("{when}   {} .. {}   {}", row.start_utc, row.end_utc, row.event))
        }));
        lines.extend(self.notes.iter().map(|note| ("note".to_owned(), note.clone())));
        lines
    }
}
