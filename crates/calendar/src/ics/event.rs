//! One `VEVENT`: its properties as typed values.
//!
//! It leaves what follows from several of them (exceptions, changes) to `series`. Invariant: an event
//! that exists has a start whose zone is known, and rules that happen.

use jiff::{SignedDuration, Span, civil::Time};
use plimsoll_toml::Fault;

use super::{
    content::{Component, Property, at},
    moment::{Moment, Place},
    zones::Zones,
};
use crate::recurrence::Recurrence;

/// How long each occurrence is.
#[derive(Debug, Clone)]
pub(crate) enum Length {
    /// Whole days.
    Days(i64),
    /// From start to end by the clock on the wall, so that an event of 09:00 to 17:00 stays one.
    Wall(Span),
    /// So much time.
    Exact(SignedDuration),
}

impl Length {
    /// Not less than its time, for bounding a search.
    pub(crate) fn at_most(&self) -> SignedDuration {
        match self {
            Self::Days(days) => SignedDuration::from_hours(days.saturating_mul(24).saturating_add(24)),
            Self::Wall(span) => {
                let hours = i64::from(span.get_days()) * 24 + i64::from(span.get_hours());
                SignedDuration::from_hours(hours.saturating_add(26))
            }
            Self::Exact(time) => time.saturating_add(SignedDuration::from_hours(1)),
        }
    }
}

/// A `VEVENT`.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) line: usize,
    pub(crate) uid: String,
    pub(crate) summary: String,
    pub(crate) cancelled: bool,
    pub(crate) sequence: u32,
    pub(crate) start: Moment,
    /// Whether the start was written, and not only chosen where the rules tell their days.
    pub(crate) start_told: bool,
    pub(crate) length: Length,
    pub(crate) rules: Vec<Recurrence>,
    pub(crate) more: Vec<Moment>,
    pub(crate) except: Vec<Moment>,
    /// The occurrence of another event that this one takes the place of.
    pub(crate) replaces: Option<Moment>,
    /// And of all that follow it.
    pub(crate) and_following: bool,
}

impl Event {
    /// Reads an event.
    pub(crate) fn read(file: &str, component: &Component, zones: &Zones) -> Result<Self, Fault> {
        let text = |name| component.get(name).map(Property::text).unwrap_or_default();
        let replaces = match component.get("RECURRENCE-ID") {
            Some(property) => Some(Moment::read(file, property, &property.value, zones)?),
            None => None,
        };
        let start = match (component.get("DTSTART"), &replaces) {
            (Some(property), _) => Moment::read(file, property, &property.value, zones)?,
            // A cancellation need not say when it would have been.
            (None, Some(replaced)) => replaced.clone(),
            (None, None) => return Err(at(file, component.line, "the event has no DTSTART, and so no time")),
        };
        let mut rules = Vec::new();
        for property in component.all("RRULE") {
            let rule = Recurrence::read(&property.value)
                .map_err(|why| at(file, property.line, why).field("RRULE"))?;
            if !rule.happens(start.local) {
                let message = format!("`{}` never happens", rule.text);
                return Err(at(file, property.line, message).field("RRULE"));
            }
            rules.push(rule);
        }
        let and_following = component.get("RECURRENCE-ID").and_then(|property| property.parameter("RANGE"))
            == Some("THISANDFUTURE");
        Ok(Self {
            line: component.line,
            uid: text("UID"),
            summary: text("SUMMARY"),
            cancelled: text("STATUS").eq_ignore_ascii_case("CANCELLED"),
            sequence: text("SEQUENCE").trim().parse().unwrap_or(0),
            length: length(file, component, &start, zones)?,
            rules,
            more: moments(file, component, "RDATE", zones)?,
            except: moments(file, component, "EXDATE", zones)?,
            replaces,
            and_following,
            start_told: true,
            start,
        })
    }
}

/// All values of the properties of that name; of a period its start.
fn moments(file: &str, component: &Component, name: &str, zones: &Zones) -> Result<Vec<Moment>, Fault> {
    let mut found = Vec::new();
    for property in component.all(name) {
        for value in property.value.split(',').filter(|value| !value.trim().is_empty()) {
            let start = value.split_once('/').map_or(value, |(start, _)| start);
            found.push(Moment::read(file, property, start, zones)?);
        }
    }
    Ok(found)
}

fn length(file: &str, component: &Component, start: &Moment, zones: &Zones) -> Result<Length, Fault> {
    let day = start.place == Place::Day;
    if let Some(property) = component.get("DTEND") {
        let end = Moment::read(file, property, &property.value, zones)?;
        if day {
            // The end is not in it; feeds that write it so that it is mean one day.
            let days = start.local.date().duration_until(end.local.date()).as_hours() / 24;
            return match days {
                0 => Ok(Length::Days(1)),
                days if days > 0 => Ok(Length::Days(days)),
                _ => Err(at(file, property.line, "the event ends before it begins").field("DTEND")),
            };
        }
        let wall = || Ok::<_, jiff::Error>(Length::Wall(start.local.until((jiff::Unit::Day, end.local))?));
        let exact = || {
            let zone = |moment: &Moment| match &moment.place {
                Place::Zone(zone) => zone.clone(),
                Place::Day | Place::Floating => jiff::tz::TimeZone::UTC,
            };
            let from = zone(start).to_timestamp(start.local)?;
            Ok::<_, jiff::Error>(Length::Exact(from.duration_until(zone(&end).to_timestamp(end.local)?)))
        };
        let length = if start.place == end.place { wall() } else { exact() };
        let backwards = match &length {
            Ok(Length::Wall(span)) => span.is_negative(),
            Ok(Length::Exact(time)) => time.is_negative(),
            _ => false,
        };
        return match length {
            Ok(length) if !backwards => Ok(length),
            _ => Err(at(file, property.line, "the event ends before it begins").field("DTEND")),
        };
    }
    match component.get("DURATION") {
        Some(property) => {
            let (days, time) = duration(property.value.trim()).ok_or_else(|| {
                let message = format!("`{}` is no duration; write PT2H, PT90M or P1D", property.value);
                at(file, property.line, message).field("DURATION")
            })?;
            Ok(match (day, days) {
                (true, days) => Length::Days((days + i64::from(!time.is_zero())).max(1)),
                (false, 0) => Length::Exact(time),
                (false, days) => Length::Wall(
                    Span::new()
                        .try_days(days)
                        .and_then(|span| span.try_seconds(time.as_secs()))
                        .unwrap_or_default(),
                ),
            })
        }
        None if day => Ok(Length::Days(1)),
        None => Ok(Length::Exact(SignedDuration::ZERO)),
    }
}

/// `P1DT2H30M`, `P2W` -> days, and time besides. Negative ones are refused: an event does not end
/// before it begins.
fn duration(text: &str) -> Option<(i64, SignedDuration)> {
    let text = text.strip_prefix('+').unwrap_or(text).strip_prefix('P')?;
    let (days, time) = text.split_once('T').unwrap_or((text, ""));
    let (mut whole, mut seconds) = (0_i64, 0_i64);
    for (part, units) in
        [(days, &[('W', 604_800), ('D', 86_400)][..]), (time, &[('H', 3600), ('M', 60), ('S', 1)][..])]
    {
        let mut rest = part;
        while !rest.is_empty() {
            let end = rest.find(|character: char| !character.is_ascii_digit())?;
            let (number, after) = rest.split_at_checked(end)?;
            let unit = after.chars().next()?;
            let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
            let time = number.parse::<i64>().ok()?.checked_mul(*size)?;
            if *size >= 86_400 {
                whole += time / 86_400
            } else {
                seconds += time
            }
            rest = after.get(1..)?;
        }
    }
    (whole < 36_500 && seconds < 3_153_600_000).then_some((whole, SignedDuration::from_secs(seconds)))
}

/// The start with hours of its own, for rules in the text of a plan.
pub(crate) fn with_hours(moment: &Moment, time: Time) -> Moment {
    let place = match &moment.place {
        Place::Day => Place::Floating,
        other => other.clone(),
    };
    Moment { local: moment.local.date().to_datetime(time), place }
}
