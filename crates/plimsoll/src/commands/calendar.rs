//! `plimsoll calendar`: what a rule, a calendar file or a plan's events mean, and when they come.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use jiff::{Timestamp, ToSpan, civil::Date};
use plimsoll_calendar::{Calendar as Business, CalendarError, Feed, Rule, Series};
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
            return self.days_off(&calendars::calendar(settings, &absolute(file), zone, here)?);
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
        for _ in 0..YEARS {
            let to = self.later(calendar, chunk, 1.year())?;
            for (event, known) in &mut open {
                if !*known {
                    continue;
                }
                let (rows, end) = event.within(calendar, chunk, to, chunk == from)?;
                page.occurrences.extend(rows);
                if let Some(end) = end {
                    (*known, stopped) = (false, Some(end));
                }
                notes.extend(event.gaps(calendar, chunk, to));
            }
            if page.occurrences.len() >= self.next || open.iter().all(|(_, known)| !known) {
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
        if page.occurrences.is_empty() {
            return Err(match stopped {
                Some(end) => Failure::input(end),
                None => nothing(&events, calendar, from),
            });
        }
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
            Some(text) => match (text.parse::<Timestamp>(), text.parse::<Date>()) {
                (Ok(instant), _) => Ok(instant),
                (_, Ok(day)) => calendar.start_of_day(day).map_err(Failure::input),
                _ => Err(Failure::input(format!(
                    "--from {text}: write a day (2026-11-02) or an instant (2026-11-02T09:00:00Z)"
                ))),
            },
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
        let mut rows = Vec::new();
        let mut add = |from: Timestamp, to: Timestamp, first: bool| -> Result<(), CalendarError> {
            let windows = match &self.source {
                Source::Rule(rule) => rule.occurrences(calendar, from, to)?,
                Source::Series(series) => series.occurrences(calendar, from, to)?,
            };
            let begins = windows.into_iter().filter(|window| first || window.start >= from);
            rows.extend(
                begins.map(|window| Row::new(&self.name, &window.id, window.start, window.end, calendar)),
            );
            Ok(())
        };
        let whole = add(from, to, first);
        match whole {
            Ok(()) => Ok((rows, None)),
            Err(CalendarError::Unknown { .. }) => {
                // The known days end in this year: week by week as far as they go.
                let mut week = from;
                while week < to {
                    let next = week
                        .saturating_add(jiff::SignedDuration::from_hours(7 * 24))
                        .map_err(Failure::input)?;
                    if let Err(end) = add(week, next.min(to), first && week == from) {
                        return Ok((rows, Some(end)));
                    }
                    week = next;
                }
                Ok((rows, None))
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

/// Nothing is to come: the events are over, or never were.
fn nothing(events: &[Event<'_>], calendar: &Business, from: Timestamp) -> Failure {
    let (first, last) = calendar.valid();
    let ever = |event: &Event<'_>| match &event.source {
        Source::Rule(rule) => {
            let bounds =
                calendar.start_of_day(first).and_then(|first| Ok((first, calendar.start_of_day(last)?)));
            // What cannot be known for all years may well have happened.
            bounds
                .and_then(|(first, last)| rule.occurrences(calendar, first, last))
                .is_ok_and(|found| found.is_empty())
        }
        Source::Series(_) => false,
    };
    match events.iter().find(|event| ever(event)) {
        Some(event) => Failure::input(format!(
            "the rule `{}` never happens: on the {} calendar no day from {first} through {last} meets it",
            event.name,
            calendar.name()
        )),
        None => Failure::no_data(format!(
            "nothing takes place from {} on, within {YEARS} years; give an earlier --from",
            calendar.local_date(from)
        )),
    }
}

/// A holiday file says how long it is known for; a spec doesn't.
fn is_holiday_file(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("valid_through"))
}

fn absolute(file: &Path) -> String {
    file.display().to_string()
}
