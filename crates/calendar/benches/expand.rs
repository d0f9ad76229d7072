//! Speed of the calendar: `cargo bench -p plimsoll-calendar`. One core; the goal is a year of 400 events
//! in under 20 ms.

use jiff::{Timestamp, civil::date, tz::TimeZone};
use plimsoll_calendar::{Calendar, Feed, HolidaySet, Rule};

fn main() {
    divan::main();
}

fn calendar() -> Calendar {
    let text = include_str!("../../../schemas/calendars/us-federal.toml");
    let set = HolidaySet::read("us-federal.toml", text).unwrap_or_else(|fault| unreachable!("{fault}"));
    Calendar::new(set, TimeZone::UTC)
        .in_zone("America/New_York")
        .unwrap_or_else(|fault| unreachable!("{fault}"))
}

fn year(calendar: &Calendar) -> (Timestamp, Timestamp) {
    let at = |year| calendar.start_of_day(date(year, 1, 1)).unwrap_or(Timestamp::UNIX_EPOCH);
    (at(2026), at(2027))
}

/// Forms as plans have them, from one a year to one a day.
const RULES: [&str; 8] = [
    "last 3 business days of month, 09:00-18:00",
    "WD-2..WD+5 09:00-18:00",
    "last business day of quarter 14:00",
    "15th of month else previous business day",
    "every monday 08:00-10:00",
    "business days 09:00-17:00",
    "november 1 to december 15",
    "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1 09:00-18:00",
];

/// 400 events of a plan over a year, reading them included.
#[divan::bench]
fn four_hundred_rules(bencher: divan::Bencher) {
    let calendar = calendar();
    let (from, to) = year(&calendar);
    bencher.bench(|| {
        let mut windows = 0;
        for text in RULES.iter().cycle().take(400) {
            windows += Rule::parse(text)
                .and_then(|rule| rule.occurrences(&calendar, from, to))
                .map_or(0, |found| found.len());
        }
        windows
    });
}

/// A calendar file of 400 repeating events, as Outlook writes it.
fn file() -> String {
    let mut text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n".to_owned();
    for event in 0..400 {
        let rule =
            ["FREQ=WEEKLY;BYDAY=TU,TH", "FREQ=MONTHLY;BYDAY=-1FR", "FREQ=DAILY;INTERVAL=3", "FREQ=YEARLY"]
                [event % 4];
        text += &format!(
            "BEGIN:VEVENT\r\nUID:{event}\r\nSUMMARY:Event {event}\r\nDTSTART;TZID=Eastern Standard Time:20200{}0{}T090000\r\n\
             DTEND;TZID=Eastern Standard Time:20200{}0{}T110000\r\nRRULE:{rule}\r\nEND:VEVENT\r\n",
            1 + event % 9,
            1 + event % 7,
            1 + event % 9,
            1 + event % 7,
        );
    }
    text + "END:VCALENDAR\r\n"
}

/// The same from a file that is read once.
#[divan::bench]
fn four_hundred_events_of_a_file(bencher: divan::Bencher) {
    let calendar = calendar();
    let (from, to) = year(&calendar);
    let feed = Feed::read("bench.ics", file().as_bytes()).unwrap_or_else(|fault| unreachable!("{fault}"));
    bencher.bench(|| feed.occurrences(&calendar, None, from, to).map_or(0, |found| found.len()));
}

/// Reading that file.
#[divan::bench]
fn read_a_file(bencher: divan::Bencher) {
    let text = file();
    bencher
        .counter(divan::counter::BytesCount::of_str(&text))
        .bench(|| Feed::read("bench.ics", text.as_bytes()).map_or(0, |feed| feed.series().len()));
}
