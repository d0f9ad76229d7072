//! A calendar file as a whole.
//!
//! Invariant: every event of the file is in it, or the file is refused with the line of the one that
//! cannot be understood; what was put right is in [`Feed::notes`].

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Series, content, event::Event, zones::Zones};
use crate::{Calendar, CalendarError, Occurrence};

/// The events of a calendar file.
///
/// ```
/// use jiff::civil::date;
/// use plimsoll_calendar::{Calendar, Feed};
/// # use plimsoll_calendar::HolidaySet;
/// # let weekdays = include_str!("../../../../schemas/calendars/weekdays.toml");
/// # let set = HolidaySet::read("weekdays.toml", weekdays)?;
/// # let berlin = jiff::tz::TimeZoneDatabase::bundled().get("Europe/Berlin")?;
/// # let calendar = Calendar::new(set, berlin);
/// // Outlook: a Windows zone name, and an exception by date and time.
/// let text = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Payroll\r\n\
///     DTSTART;TZID=W. Europe Standard Time:20260325T090000\r\nDURATION:PT2H\r\n\
///     RRULE:FREQ=WEEKLY;BYDAY=WE\r\nEXDATE;TZID=W. Europe Standard Time:20260401T090000\r\n\
///     END:VEVENT\r\nEND:VCALENDAR\r\n";
/// let feed = Feed::read("payroll.ics", text.as_bytes())?;
/// let from = calendar.start_of_day(date(2026, 3, 20))?;
/// let to = calendar.start_of_day(date(2026, 4, 10))?;
/// let windows = feed.occurrences(&calendar, None, from, to)?;
/// // 09:00 in Berlin before and after the clocks change on 29 March.
/// let starts: Vec<String> = windows.iter().map(|window| window.start.to_string()).collect();
/// assert_eq!(starts, ["2026-03-25T08:00:00Z", "2026-04-08T07:00:00Z"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Feed {
    file: String,
    name: Option<String>,
    zone_hint: Option<String>,
    series: Vec<Series>,
    notes: Vec<String>,
}

impl Feed {
    /// Reads the bytes of an iCalendar file; `file` is only how messages call it.
    ///
    /// # Errors
    /// File, line and remedy where it is damaged, or where an event's time cannot be told: a day that
    /// does not exist, a zone that is unknown, a rule that never happens.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self, CalendarError> {
        let calendars = content::read(file, bytes)?;
        let mut feed = Self {
            file: file.to_owned(),
            name: None,
            zone_hint: None,
            series: Vec::new(),
            notes: Vec::new(),
        };
        for calendar in &calendars {
            let zones = Zones::read(calendar);
            let text = |name| calendar.get(name).map(content::Property::text).filter(|text| !text.is_empty());
            feed.name = feed.name.take().or_else(|| text("X-WR-CALNAME"));
            feed.zone_hint = feed.zone_hint.take().or_else(|| text("X-WR-TIMEZONE"));
            let mut events = Vec::new();
            for component in calendar.children.iter().filter(|child| child.name == "VEVENT") {
                events.push(Event::read(file, component, &zones)?);
            }
            feed.series.extend(together(events));
            feed.notes.extend(zones.into_notes());
        }
        let points = feed.series.iter().filter(|series| series.is_empty()).count();
        if points > 0 {
            feed.notes.push(format!("events without a length take no time and are left out: {points}"));
        }
        Ok(feed)
    }

    /// What the file is called.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The name that it gives itself, else that of the file.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.file)
    }

    /// The zone that it hints at for times without one (`X-WR-TIMEZONE`).
    pub fn zone_hint(&self) -> Option<&str> {
        self.zone_hint.as_deref()
    }

    /// Its events, in the order of the file.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// What its reader should know: zones that differ from the database, events that were left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Events of that name (`SUMMARY`), whatever its case; all where there is none.
    pub fn select<'a>(&'a self, name: Option<&'a str>) -> impl Iterator<Item = &'a Series> {
        let is_meant = move |series: &&Series| {
            name.is_none_or(|name| series.summary().to_lowercase() == name.to_lowercase())
        };
        self.series.iter().filter(is_meant)
    }

    /// Windows of its events (of those of one name, where given) that overlap `from..to`, in order.
    ///
    /// # Errors
    /// [`CalendarError::NoSuchEvent`] where no event has that name, [`CalendarError::Range`] at the ends
    /// of time.
    pub fn occurrences(
        &self,
        calendar: &Calendar,
        name: Option<&str>,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Occurrence>, CalendarError> {
        let mut windows = Vec::new();
        let mut any = false;
        for series in self.select(name) {
            any = true;
            windows.extend(series.occurrences(calendar, from, to)?);
        }
        if let (Some(name), false) = (name, any) {
            return Err(self.no_such_event(name));
        }
        windows.sort_by(|one, other| (one.start, one.end, &one.id).cmp(&(other.start, other.end, &other.id)));
        windows.dedup();
        Ok(windows)
    }

    fn no_such_event(&self, name: &str) -> CalendarError {
        let known = self.series.iter().map(Series::summary);
        let suggestion = plimsoll_toml::meant(name, known);
        CalendarError::NoSuchEvent { file: self.file.clone(), name: name.to_owned(), suggestion }
    }
}

/// Events of one `UID` belong together: one that repeats, and those that take the place of some of its
/// instances. Of two versions of the same the newer (`SEQUENCE`) counts.
fn together(events: Vec<Event>) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    let mut by_uid: BTreeMap<String, usize> = BTreeMap::new();
    let mut changes = Vec::new();
    for event in events {
        if event.replaces.is_some() {
            changes.push(event);
            continue;
        }
        let known = by_uid.get(&event.uid).copied().filter(|_| !event.uid.is_empty());
        match known.and_then(|at| series.get_mut(at)) {
            Some(before) if before.event.sequence < event.sequence => before.event = event,
            Some(before) if before.event.sequence > event.sequence => {}
            _ => {
                by_uid.insert(event.uid.clone(), series.len());
                series.push(Series { event, changes: Vec::new() });
            }
        }
    }
    for change in changes {
        let of = by_uid.get(&change.uid).copied().and_then(|at| series.get_mut(at));
        match of {
            // A change with a rule of its own ends what it changes and goes on by itself.
            Some(before) if change.and_following && !change.rules.is_empty() => {
                let mut ended = change.clone();
                ended.cancelled = true;
                before.changes.push(ended);
                series.push(Series { event: Event { replaces: None, ..change }, changes: Vec::new() });
            }
            Some(before) => replace(&mut before.changes, change),
            // An invitation to one instance only.
            None => series.push(Series { event: Event { replaces: None, ..change }, changes: Vec::new() }),
        }
    }
    series
}

fn replace(changes: &mut Vec<Event>, change: Event) {
    match changes.iter_mut().find(|before| before.replaces == change.replaces) {
        Some(before) if before.sequence <= change.sequence => *before = change,
        Some(_) => {}
        None => changes.push(change),
    }
}
