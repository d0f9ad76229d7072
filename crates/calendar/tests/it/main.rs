//! What the calendar must answer: golden dates, time zones, rules, refusals and properties.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod days;
mod files;
mod golden;
mod grammar;
mod ics;
mod properties;
mod rules;
mod zones;

use plimsoll_calendar::Calendar;

/// The shipped holiday files, by name, in order of name.
fn texts() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/calendars");
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let text = |path| std::fs::read_to_string(path).unwrap();
    let mut texts: Vec<(String, String)> = files
        .filter(|file| file.path().extension().is_some_and(|ending| ending == "toml"))
        .map(|file| (file.file_name().to_string_lossy().into_owned(), text(file.path())))
        .collect();
    texts.sort();
    texts
}

/// US federal holidays in a zone.
fn us_federal(zone: &str) -> Calendar {
    Calendar::named(texts(), "US-federal", zone).unwrap()
}
