//! A recurrence rule in the text of a plan: `RRULE:FREQ=MONTHLY;BYDAY=-1FR 09:00-18:00`.
//!
//! The words before the hours are properties of an event, as a calendar file has them, one a word or a
//! line. Invariant: where the days would come from a start that is not given, the rule is refused.

use jiff::{
    Span,
    civil::{DateTime, date},
    tz::TimeZone,
};

use super::{
    content::{Component, Property},
    event::{Event, Length, with_hours},
    moment::{Moment, Place},
    series::Series,
    zones::Zones,
};
use crate::{clause::Hours, grammar::read_hours};

/// Whether a text is meant as properties of an event.
pub(crate) fn is_inline(text: &str) -> bool {
    let text = text.trim_start().to_ascii_uppercase();
    ["RRULE:", "RRULE;", "DTSTART", "RDATE"].iter().any(|start| text.starts_with(start))
}

/// Reads such a text, or says why not.
pub(crate) fn read_inline(text: &str) -> Result<Series, String> {
    let mut component = Component { name: "VEVENT".to_owned(), line: 1, ..Component::default() };
    let mut hours = String::new();
    let mut zone = None;
    for word in text.split_whitespace().map(|word| word.replace(['\u{2013}', '\u{2014}'], "-")) {
        let time = word.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        if time {
            hours.push_str(word.trim_end_matches(','));
        } else if !word.contains(':') && (word.contains('/') || word.eq_ignore_ascii_case("UTC")) {
            zone = Some(Zones::default().find(&word)?);
        } else {
            let property = Property::read(1, word.trim_end_matches(',')).ok_or_else(|| {
                format!("`{word}` is no property; write RRULE:FREQ=..., DTSTART:20260105 or hours")
            })?;
            let known = ["RRULE", "DTSTART", "DTEND", "DURATION", "RDATE", "EXDATE"];
            if !known.contains(&property.name.as_str()) {
                return Err(format!("`{}` is not one of {}", property.name, known.join(", ")));
            }
            component.properties.push(property);
        }
    }
    let told = component.get("DTSTART").is_some();
    if !told {
        // Any day long past will do where the rule tells its days; whether it does is asked below.
        let start = Property::read(1, "DTSTART:19700101").into_iter();
        component.properties.splice(0..0, start);
    }
    // The place is the plan's, which names it: only what is wrong is said here.
    let mut event = Event::read("", &component, &Zones::default()).map_err(|fault| fault.message)?;
    if !told && !event.rules.iter().all(|rule| rule.tells_its_days()) {
        return Err(
            "it does not tell on which days it falls; add the first one before it, such as `DTSTART:20260105`".to_owned()
        );
    }
    if !hours.is_empty() {
        set_hours(&mut event, read_hours(&hours)?)?;
    }
    if let (Some(zone), Place::Day | Place::Floating) = (zone, &event.start.place) {
        event.start = Moment { local: event.start.local, place: Place::Zone(zone) };
        if let Length::Days(days) = event.length {
            event.length = Length::Wall(Span::new().try_days(days).map_err(|error| error.to_string())?);
        }
    }
    if !told {
        event.start.local = first_instance(&event);
        event.start_told = false;
    }
    let series = Series { event, changes: Vec::new() };
    match series.is_empty() {
        true => Err("it takes no time; add hours, such as `09:00-18:00`".to_owned()),
        false => Ok(series),
    }
}

fn set_hours(event: &mut Event, hours: Hours) -> Result<(), String> {
    event.start = with_hours(&event.start, hours.start);
    let day = date(2000, 1, 1);
    let end = hours.end_on(day).map_err(|error| error.to_string())?;
    let span =
        day.to_datetime(hours.start).until((jiff::Unit::Day, end)).map_err(|error| error.to_string())?;
    event.length = Length::Wall(span);
    for moment in event.except.iter_mut().chain(&mut event.more) {
        if moment.place == Place::Day {
            *moment = with_hours(moment, hours.start);
        }
    }
    Ok(())
}

/// The first day that the rules give, since a start that was not told is no instance.
fn first_instance(event: &Event) -> DateTime {
    let start = event.start.local;
    let firsts = event.rules.iter().filter_map(|rule| rule.instances(start, start, DateTime::MAX).next());
    firsts.min().unwrap_or(start)
}

/// The zone of a series that names one.
impl Series {
    /// IANA name of its own zone; none where its times are days, or the calendar's.
    pub fn zone_name(&self) -> Option<&str> {
        match &self.event.start.place {
            Place::Zone(zone) if *zone == TimeZone::UTC => Some("UTC"),
            Place::Zone(zone) => Some(zone.iana_name().unwrap_or("a zone of the file's own")),
            Place::Day | Place::Floating => None,
        }
    }
}
