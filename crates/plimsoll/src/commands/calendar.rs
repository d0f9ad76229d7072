//! `plimsoll calendar`: what a rule, a calendar file or a plan's events mean, and when they come.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use jiff::{SignedDuration, Timestamp, ToSpan, civil::Date};
use plimsoll_calendar::{Calendar as Business, CalendarError, Feed, Occurrence, Rule, Series};
use plimsoll_plan::Spec;

use super::calendar_page::{Page, Row};
use crate::{
    calendars,
    cli::Format,
    failure::{self, Failure},
    output,
    settings::Settings,
};

/// Options of `calendar`.
#[derive(Debug, clap::Args)]
pub(crate) struct Calendar {
    /// How many occurrences to print.
    #[arg(long, default_value_t = 12, value_name = "N")]
    next: usize,
    /// What to read: an .ics file, a plan's spec for its events, or a holiday file for its days off.
    #[arg(long = "in", value_name = "FILE", conflicts_with = "rule")]
    file: Option<PathBuf>,
    /// A rule, as in "last 3 business days of month, 09:00-18:00" or "RRULE:FREQ=MONTHLY;BYDAY=-1FR".
    #[arg(long, value_name = "TEXT")]
    rule: Option<String>,
    /// Holiday set by name (US-federal, NYSE, UK, TARGET, weekdays) or a .toml or .ics file; without it,
    /// the spec's, else weekdays.
    #[arg(long, value_name = "NAME|FILE")]
    holidays: Option<String>,
    /// IANA time zone; without it, the spec's, else the holiday set's, else UTC.
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// First day or instant to look at; without it, now.
    #[arg(long, value_name = "DATE|TIME")]
    from: Option<String>,
}

/// How far ahead is looked for the occurrences that were asked for.
const YEARS: i64 = 30;

/// How closely the end of the known days is looked for.
const SHORTEST: SignedDuration = SignedDuration::from_mins(30);

/// Something that takes place.
enum Source<'a> {
    Rule(Rule),
    Series(&'a Series),
}

struct Event<'a> {
    name: String,
    source: Source<'a>,
}

impl Calendar {
    pub(crate) fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let page = self.page(settings)?;
        match format {
            Format::Csv => output::list(&page.occurrences, format)?,
            _ => output::answer(&page, &page.lines(), format)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn page(&self, settings: &Settings) -> Result<Page, Failure> {
        let here = Path::new("");
        let calendar = |holidays: &str, zone: Option<&str>| {
            let zone = self.zone.as_deref().or(zone);
            let holidays_here = self.holidays.as_deref();
            calendars::calendar(settings, holidays_here.unwrap_or(holidays), zone, here)
        };
        let Some(file) = &self.file else {
            let calendar = calendar("weekdays", None)?;
            let Some(text) = &self.rule else { return self.days_off(&calendar) };
            let calendar = calendars::with_feeds(calendar, [text.as_str()], here)?;
            let rule = Rule::parse(text).map_err(Failure::input)?;
            return self.events(
                &calendar,
                vec![Event { name: text.clone(), source: Source::Rule(rule) }],
                Vec::new(),
            );
        };
        let name = file.display().to_string();
        if calendars::ending(&name) == "ics" {
            let feed = calendars::feed(file)?;
            let calendar = calendar("weekdays", None)?;
            let notes = self.zone_notes(&feed, &calendar)?;
            let events = feed
                .series()
                .iter()
                .map(|series| Event { name: series.summary().to_owned(), source: Source::Series(series) });
            return self.events(&calendar, events.collect(), notes);
        }
        let text = std::fs::read_to_string(file).map_err(failure::file(file))?;
        if is_holiday_file(&text) {
            let zone = self.zone.as_deref();
            return self.days_off(&calendars::calendar(settings, &name, zone, here)?);
        }
        let spec = Spec::parse(&text).map_err(failure::in_file(file))?;
        let folder = file.parent().unwrap_or(here);
        let zone = self.zone.as_deref().unwrap_or(&spec.policy.time_zone);
        let calendar = match &self.holidays {
            Some(holidays) => calendars::calendar(settings, holidays, Some(zone), here)?,
            None => calendars::calendar(settings, &spec.policy.holidays, Some(zone), folder)?,
        };
        let calendar =
            calendars::with_feeds(calendar, spec.events.iter().map(|event| event.when.as_str()), folder)?;
        let mut events = Vec::new();
        for event in &spec.events {
            let rule = Rule::parse(&event.when).map_err(Failure::input)?;
            events.push(Event { name: event.name.clone(), source: Source::Rule(rule) });
        }
        if events.is_empty() {
            return Err(Failure::no_data(format!(
                "{name}: the spec has no [[event]], so there is nothing to show"
            )));
        }
        self.events(&calendar, events, Vec::new())
    }

    /// Refuses times whose zone nobody said; says where the calendar's is taken.
    fn zone_notes(&self, feed: &Feed, calendar: &Business) -> Result<Vec<String>, Failure> {
        let mut notes = feed.notes().to_vec();
        if let Some(floating) = feed.series().iter().find(|series| series.is_floating()) {
            if self.zone.is_none() {
                let zone = feed.zone_hint().unwrap_or("Europe/London");
                let hint = if feed.zone_hint().is_some() { "the file hints at" } else { "for example" };
                return Err(Failure::input(format!(
                    "{}:{}: the event `{}` has times without a zone, which mean another instant for each reader: say which is meant, {hint} --zone {zone}",
                    feed.file(),
                    floating.line(),
                    floating.summary(),
                )));
            }
            notes.push(format!("times without a zone are read in {}", calendar.zone_name()));
        }
        if feed.series().iter().any(Series::is_all_day) {
            notes.push(format!("whole days are days in {}", calendar.zone_name()));
        }
        Ok(notes)
    }

    fn events(
        &self,
        calendar: &Business,
        events: Vec<Event<'_>>,
        mut notes: Vec<String>,
    ) -> Result<Page, Failure> {
        let from = self.start(calendar)?;
        let mut page = Page::new(calendar);
        let mut open: Vec<(&Event<'_>, bool)> = events.iter().map(|event| (event, true)).collect();
        let mut stopped = None;
        let mut chunk = from;
        let end = self.later(calendar, from, YEARS.years())?;
        // A little first: of a large file only what is shown should be made.
        for length in [1.day(), 1.week(), 1.month()].into_iter().chain(std::iter::repeat(1.year())) {
            let to = self.later(calendar, chunk, length)?.min(end);
            for (event, known) in &mut open {
                if !*known {
                    continue;
                }
                let (rows, end) = event.within(calendar, chunk, to, chunk == from)?;
                page.occurrences.extend(rows);
                if let Some(end) = end {
                    (*known, stopped) = (false, Some(end));
                }
            }
            if page.occurrences.len() >= self.next || open.iter().all(|(_, known)| !known) || to == end {
                break;
            }
            chunk = to;
        }
        page.keep_first(self.next);
        for event in &events {
            if page.occurrences.iter().any(|row| row.event == event.name) {
                page.understood(event.name.clone(), event.said());
            }
        }
        let Some(last) = page.occurrences.last().map(Row::end) else {
            return Err(nothing(&events, calendar, from, stopped));
        };
        notes.extend(events.iter().flat_map(|event| event.gaps(calendar, from, last)));
        if page.occurrences.len() < self.next {
            notes.push(match stopped {
                Some(end) => end.to_string(),
                None => format!("nothing more takes place within {YEARS} years"),
            });
        }
        page.notes = notes;
        Ok(page)
    }

    fn days_off(&self, calendar: &Business) -> Result<Page, Failure> {
        let from = self.start(calendar)?;
        let mut page = Page::new(calendar);
        let (first, last) = (calendar.local_date(from), calendar.valid().1);
        let days = |worked: bool| -> Box<dyn Iterator<Item = (Date, &str)>> {
            match worked {
                true => Box::new(calendar.worked_weekends(first, last)),
                false => Box::new(calendar.holidays(first, last)),
            }
        };
        for (worked, said) in [(false, "day off"), (true, "worked weekend day")] {
            for (day, name) in days(worked).take(self.next) {
                let start = calendar.start_of_day(day).map_err(Failure::input)?;
                let end =
                    day.tomorrow().map_err(CalendarError::from).and_then(|day| calendar.start_of_day(day));
                let end = end.map_err(Failure::input)?;
                page.occurrences.push(Row::new(said, name, start, end, calendar));
            }
        }
        page.keep_first(self.next);
        if page.occurrences.is_empty() {
            return Err(Failure::input(format!(
                "the {} calendar knows no day off from {first} through {last}; what lies beyond is unknown",
                calendar.name()
            )));
        }
        Ok(page)
    }

    fn start(&self, calendar: &Business) -> Result<Timestamp, Failure> {
        match self.from.as_deref() {
            None => Ok(Timestamp::now()),
            Some(text) => calendars::instant(calendar, text)?.ok_or_else(|| {
                Failure::input(format!(
                    "--from {text}: write a day (2026-11-02) or an instant (2026-11-02T09:00:00Z)"
                ))
            }),
        }
    }

    fn later(&self, calendar: &Business, from: Timestamp, by: jiff::Span) -> Result<Timestamp, Failure> {
        let local = calendar.zone().to_datetime(from).checked_add(by);
        local.map_err(CalendarError::from).and_then(|local| calendar.instant(local)).map_err(Failure::input)
    }
}

impl Event<'_> {
    /// Rows that begin in `from..to` (or, at first, are under way), and why the calendar knows no more.
    fn within(
        &self,
        calendar: &Business,
        from: Timestamp,
        to: Timestamp,
        first: bool,
    ) -> Result<(Vec<Row>, Option<CalendarError>), Failure> {
        let windows = match &self.source {
            Source::Rule(rule) => rule.occurrences(calendar, from, to),
            Source::Series(series) => series.occurrences(calendar, from, to),
        };
        match windows {
            Ok(windows) => {
                let begins = windows.into_iter().filter(|window| first || window.start >= from);
                let row =
                    |window: Occurrence| Row::new(&self.name, &window.id, window.start, window.end, calendar);
                Ok((begins.map(row).collect(), None))
            }
            Err(end @ CalendarError::Unknown { .. }) => {
                // The known days end in this range: as far as they go.
                let half = from.duration_until(to) / 2;
                if half < SHORTEST {
                    return Ok((Vec::new(), Some(end)));
                }
                let middle = from.checked_add(half).map_err(Failure::input)?;
                let (mut rows, end) = self.within(calendar, from, middle, first)?;
                if end.is_some() {
                    return Ok((rows, end));
                }
                let (more, end) = self.within(calendar, middle, to, false)?;
                rows.extend(more);
                Ok((rows, end))
            }
            Err(error) => Err(Failure::input(error)),
        }
    }

    fn gaps(&self, calendar: &Business, from: Timestamp, to: Timestamp) -> Vec<String> {
        let skipped = match &self.source {
            Source::Rule(rule) => rule.skipped(calendar, from, to),
            Source::Series(series) => series.skipped(calendar, from, to),
        };
        let say = |local: jiff::civil::DateTime| {
            format!(
                "{}: clocks skip {}, so it begins after the gap there, or is left out",
                self.name,
                local.strftime("%Y-%m-%d %H:%M")
            )
        };
        skipped.unwrap_or_default().into_iter().map(say).collect()
    }

    fn said(&self) -> String {
        match &self.source {
            Source::Rule(rule) => rule.said(),
            Source::Series(series) => series.said(),
        }
    }
}

/// Nothing is to come: the events are over, were never, or cannot be known.
fn nothing(
    events: &[Event<'_>],
    calendar: &Business,
    from: Timestamp,
    stopped: Option<CalendarError>,
) -> Failure {
    let (first, last) = calendar.valid();
    let never = |event: &Event<'_>| match &event.source {
        Source::Rule(rule) => {
            // Periods that reach out of the known days are left out.
            let (first, last) = (first.saturating_add(400.days()), last.saturating_sub(400.days()));
            let bounds =
                calendar.start_of_day(first).and_then(|first| Ok((first, calendar.start_of_day(last)?)));
            // What cannot be known for all years may well have happened.
            bounds
                .and_then(|(first, last)| rule.occurrences(calendar, first, last))
                .is_ok_and(|found| found.is_empty())
        }
        Source::Series(_) => false,
    };
    match (events.iter().find(|event| never(event)), stopped) {
        (Some(event), _) => Failure::input(format!(
            "the rule `{}` never happens: on the {} calendar no day from {first} through {last} meets it",
            event.name,
            calendar.name()
        )),
        (None, Some(end)) => Failure::input(end),
        (None, None) => Failure::no_data(format!(
            "nothing takes place from {} on, within {YEARS} years; give an earlier --from",
            calendar.local_date(from)
        )),
    }
}

/// A holiday file says how long it is known for; a spec doesn't.
fn is_holiday_file(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("valid_through"))
}
