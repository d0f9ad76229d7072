//! Business calendars from what the user names: a set that comes with Plimsoll, or a file.
//!
//! The one place where calendar files are opened; what they mean is the crate `calendar`'s business.

use std::{collections::BTreeSet, path::Path};

use jiff::Timestamp;
use plimsoll_calendar::{Calendar, Feed, HolidaySet, Rule};

use crate::{
    embedded,
    failure::{self, Failure},
    settings::Settings,
};

/// The calendar of a holiday set, by name or by the path of a `.toml` or `.ics` file (relative to
/// `folder`), in the named zone: else in the set's own, else in UTC.
pub(crate) fn calendar(
    settings: &Settings,
    holidays: &str,
    zone: Option<&str>,
    folder: &Path,
) -> Result<Calendar, Failure> {
    let path = folder.join(holidays);
    let set = match ending(holidays).as_str() {
        "toml" => {
            let text = std::fs::read_to_string(&path).map_err(failure::file(&path))?;
            HolidaySet::read(&path.display().to_string(), &text)?
        }
        "ics" => {
            let bytes = std::fs::read(&path).map_err(failure::file(&path))?;
            HolidaySet::read_ics(&path.display().to_string(), &bytes).map_err(Failure::input)?
        }
        _ => {
            let files = embedded::texts("calendars", settings.folders.calendars.as_deref())?;
            HolidaySet::named(files, holidays).map_err(Failure::input)?
        }
    };
    let zone = zone.or(set.zone()).unwrap_or("UTC").to_owned();
    Calendar::new(set, jiff::tz::TimeZone::UTC).in_zone(&zone).map_err(Failure::input)
}

/// The calendar with the files that rules name, each relative to `folder`.
pub(crate) fn with_feeds<'a>(
    mut calendar: Calendar,
    rules: impl IntoIterator<Item = &'a str>,
    folder: &Path,
) -> Result<Calendar, Failure> {
    let mut read = BTreeSet::new();
    for rule in rules {
        let rule = Rule::parse(rule).map_err(Failure::input)?;
        if let Some(file) = rule.file().filter(|file| read.insert((*file).to_owned())) {
            calendar = calendar.with_feed(file, feed(&folder.join(file))?);
        }
    }
    Ok(calendar)
}

/// The instant that a text tells, or the beginning of the day; `None` where it tells neither.
pub(crate) fn instant(calendar: &Calendar, text: &str) -> Result<Option<Timestamp>, Failure> {
    match (text.parse::<Timestamp>(), text.parse()) {
        (Ok(instant), _) => Ok(Some(instant)),
        (_, Ok(day)) => calendar.start_of_day(day).map(Some).map_err(Failure::input),
        _ => Ok(None),
    }
}

/// A calendar file.
pub(crate) fn feed(path: &Path) -> Result<Feed, Failure> {
    let bytes = std::fs::read(path).map_err(failure::file(path))?;
    Feed::read(&path.display().to_string(), &bytes).map_err(Failure::input)
}

/// The ending of a file's name, in lower case.
pub(crate) fn ending(name: &str) -> String {
    Path::new(name).extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default()
}
