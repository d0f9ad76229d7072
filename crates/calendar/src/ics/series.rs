//! An event with its repetitions, exceptions and changes, as occurrences.
//!
//! Invariants: repetitions are found on local times alone and only then given their zone; an instance
//! that a rule puts into a daylight saving gap is left out and not counted (RFC 5545, 3.3.10), one that
//! somebody wrote there is read with the offset before the gap (3.3.5).

use std::collections::BTreeSet;

use jiff::{
    SignedDuration, Timestamp,
    civil::{DateTime, Time},
    tz::TimeZone,
};

use super::{
    event::{Event, Length},
    moment::{Moment, Place},
};
use crate::{Calendar, CalendarError, Occurrence, recurrence::Until};

/// An event of a calendar file, with everything that belongs to it.
#[derive(Debug, Clone)]
pub struct Series {
    pub(crate) event: Event,
    /// Events that take the place of one of its instances, or of one and all that follow.
    pub(crate) changes: Vec<Event>,
}

/// Instances of a series, on local times.
#[derive(Debug, Default)]
struct Instances {
    taking_place: BTreeSet<DateTime>,
    skipped: Vec<DateTime>,
}

impl Series {
    /// Its name (`SUMMARY`); empty where it has none.
    pub fn summary(&self) -> &str {
        &self.event.summary
    }

    /// The line of the file on which it begins.
    pub fn line(&self) -> usize {
        self.event.line
    }

    /// Whether it takes whole days.
    pub fn is_all_day(&self) -> bool {
        self.event.start.place == Place::Day
    }

    /// Whether its times have no zone of their own, and so are the reading calendar's.
    pub fn is_floating(&self) -> bool {
        let mut all = std::iter::once(&self.event).chain(&self.changes);
        all.any(|event| event.start.place == Place::Floating)
    }

    /// Whether it is a point in time, which takes none.
    pub fn is_empty(&self) -> bool {
        match &self.event.length {
            Length::Days(days) => *days == 0,
            Length::Wall(span) => span.is_zero(),
            Length::Exact(time) => time.is_zero(),
        }
    }

    /// Whether it has no last occurrence.
    pub fn is_endless(&self) -> bool {
        self.event.rules.iter().any(|rule| rule.count.is_none() && rule.until.is_none())
    }

    /// Windows that overlap `from..to`, in order of start; each bears its local date in the calendar's
    /// zone as its id.
    ///
    /// # Errors
    /// [`CalendarError::Range`] at the ends of time.
    pub fn occurrences(
        &self,
        calendar: &Calendar,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Occurrence>, CalendarError> {
        let mut windows = Vec::new();
        let mut add = |event: &Event, local: DateTime| -> Result<(), CalendarError> {
            let (start, end) = window(event, local, calendar)?;
            if start < end && start < to && end > from {
                let id = calendar.local_date(start).to_string();
                windows.push(Occurrence { id, start, end });
            }
            Ok(())
        };
        if !self.event.cancelled {
            for local in self.instances(calendar, from, to)?.taking_place {
                match self.change_from(local, calendar)? {
                    None => add(&self.event, local)?,
                    Some(change) if change.cancelled => {}
                    // All that follow a change are moved by as much as the first of them.
                    Some(change) => {
                        let replaced = change.replaces.as_ref().map_or(local, |moment| moment.local);
                        let moved = local.checked_add(replaced.duration_until(change.start.local))?;
                        add(change, moved)?;
                    }
                }
            }
        }
        for change in self.changes.iter().filter(|change| !change.and_following && !change.cancelled) {
            add(change, change.start.local)?;
        }
        windows.sort_by_key(|window| (window.start, window.end));
        windows.dedup();
        Ok(windows)
    }

    /// Local times within `from..to` that its rules give and daylight saving time skips.
    ///
    /// # Errors
    /// [`CalendarError::Range`] at the ends of time.
    pub fn skipped(
        &self,
        calendar: &Calendar,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<DateTime>, CalendarError> {
        Ok(self.instances(calendar, from, to)?.skipped)
    }

    /// Instances that are neither taken out nor replaced one by one.
    fn instances(
        &self,
        calendar: &Calendar,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Instances, CalendarError> {
        let event = &self.event;
        let zone = event.start.zone(calendar);
        let reach = self.reach();
        let local = |at: Timestamp, by: SignedDuration| {
            let moved =
                at.checked_add(by).unwrap_or(if by.is_negative() { Timestamp::MIN } else { Timestamp::MAX });
            zone.to_datetime(moved)
        };
        let (first, last) = (local(from, -reach), local(to, reach));
        let start = event.start.local;
        let mut found = Instances::default();
        // The start is an instance whether or not the rule meets it (RFC 5545, 3.8.5.3).
        found.taking_place.insert(start);
        for rule in &event.rules {
            let mut count = 0;
            for instance in rule.instances(start, first, last) {
                if rule.until.is_some_and(|until| self.is_past(until, instance, zone, calendar)) {
                    break;
                }
                if instance != start && self.is_in_gap(instance, zone) {
                    if instance >= first {
                        found.skipped.push(instance);
                    }
                    continue;
                }
                count += 1;
                if rule.count.is_some_and(|most| count > most) {
                    break;
                }
                if instance >= first {
                    found.taking_place.insert(instance);
                }
            }
        }
        for moment in &event.more {
            let same = moment.place == event.start.place;
            let local = if same { moment.local } else { zone.to_datetime(moment.instant(calendar)?) };
            found.taking_place.insert(match self.is_all_day() {
                true => local.date().to_datetime(Time::midnight()),
                false => local,
            });
        }
        let singles = self.changes.iter().filter(|change| !change.and_following);
        let gone: Vec<&Moment> =
            event.except.iter().chain(singles.filter_map(|change| change.replaces.as_ref())).collect();
        let mut kept = BTreeSet::new();
        for local in found.taking_place {
            let mut out = false;
            for moment in &gone {
                out |= self.is_same(moment, local, calendar)?;
            }
            if !out && (first..=last).contains(&local) {
                kept.insert(local);
            }
        }
        Ok(Instances { taking_place: kept, skipped: found.skipped })
    }

    /// How far an instance may lie from a window that it causes.
    fn reach(&self) -> SignedDuration {
        let length = self.changes.iter().map(|change| change.length.at_most()).max();
        let own = self.event.length.at_most();
        let moved = self.changes.iter().filter(|change| change.and_following).filter_map(|change| {
            Some(change.replaces.as_ref()?.local.duration_until(change.start.local).abs())
        });
        own.max(length.unwrap_or(own))
            .saturating_add(moved.max().unwrap_or(SignedDuration::ZERO))
            .saturating_add(SignedDuration::from_hours(48))
    }

    fn is_in_gap(&self, local: DateTime, zone: &TimeZone) -> bool {
        !self.is_all_day() && zone.to_timestamp(local).is_ok_and(|at| zone.to_datetime(at) != local)
    }

    fn is_past(&self, until: Until, instance: DateTime, zone: &TimeZone, calendar: &Calendar) -> bool {
        match until {
            Until::Date(date) => instance.date() > date,
            Until::Local(local) => instance > local,
            Until::Instant(at) if self.is_all_day() => {
                let utc = Moment { local: TimeZone::UTC.to_datetime(at), place: Place::Zone(TimeZone::UTC) };
                instance.date() > utc.day(calendar)
            }
            Until::Instant(at) => zone.to_timestamp(instance).is_ok_and(|instant| instant > at),
        }
    }

    /// Whether a written moment means the instance at `local`: by date where either is a whole day,
    /// since feeds mix both, else by instant.
    fn is_same(&self, moment: &Moment, local: DateTime, calendar: &Calendar) -> Result<bool, CalendarError> {
        if self.is_all_day() || moment.place == Place::Day {
            return Ok(moment.day(calendar) == local.date());
        }
        let zone = self.event.start.zone(calendar);
        Ok(moment.instant(calendar)? == zone.to_timestamp(local)?)
    }

    /// The latest change of it "and all that follow" that holds at `local`.
    fn change_from(&self, local: DateTime, calendar: &Calendar) -> Result<Option<&Event>, CalendarError> {
        let zone = self.event.start.zone(calendar);
        let mut latest: Option<(DateTime, &Event)> = None;
        for change in self.changes.iter().filter(|change| change.and_following) {
            let Some(replaces) = &change.replaces else { continue };
            let from = match self.is_all_day() || replaces.place == Place::Day {
                true => replaces.day(calendar).to_datetime(Time::midnight()),
                false => zone.to_datetime(replaces.instant(calendar)?),
            };
            if from <= local && latest.is_none_or(|(before, _)| before < from) {
                latest = Some((from, change));
            }
        }
        Ok(latest.map(|(_, change)| change))
    }
}

/// Start and end of an event at a local time.
fn window(
    event: &Event,
    local: DateTime,
    calendar: &Calendar,
) -> Result<(Timestamp, Timestamp), CalendarError> {
    let zone = event.start.zone(calendar);
    let start = zone.to_timestamp(local)?;
    let end = match &event.length {
        Length::Days(days) => zone.to_timestamp(local.checked_add(jiff::Span::new().try_days(*days)?)?)?,
        Length::Wall(span) => zone.to_timestamp(local.checked_add(*span)?)?,
        Length::Exact(time) => start.checked_add(*time)?,
    };
    Ok((start, end))
}
