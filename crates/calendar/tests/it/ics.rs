//! Calendar files as clients write them: zones, exceptions, changes, and what is refused.

use jiff::Timestamp;
use plimsoll_calendar::{CalendarError, Feed};

use crate::us_federal;

fn feed(lines: &[&str]) -> Result<Feed, CalendarError> {
    let text = format!("BEGIN:VCALENDAR\r\n{}\r\nEND:VCALENDAR\r\n", lines.join("\r\n"));
    Feed::read("in.ics", text.as_bytes())
}

/// Starts and ends in 2026, read in New York.
fn windows(feed: &Feed) -> Vec<String> {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let calendar = us_federal("America/New_York");
    let (from, to) = (at("2026-01-01T05:00:00Z"), at("2027-01-01T05:00:00Z"));
    let windows = feed.occurrences(&calendar, None, from, to).unwrap();
    windows.iter().map(|window| format!("{}/{}", window.start, window.end)).collect()
}

fn event(lines: &[&str]) -> Vec<String> {
    let all = [&["BEGIN:VEVENT", "UID:1", "SUMMARY:Close"], lines, &["END:VEVENT"]].concat();
    windows(&feed(&all).unwrap())
}

/// Protects UNTIL against the RFC's own example: 9 a.m. in New York until midnight UTC on the 24th ends on
/// the 23rd (erratum 6212 was rejected).
#[test]
fn until_is_an_instant() {
    let found = event(&[
        "DTSTART;TZID=America/New_York:20261220T090000",
        "DURATION:PT1H",
        "RRULE:FREQ=DAILY;UNTIL=20261224T000000Z",
    ]);
    assert_eq!(found.last().unwrap(), "2026-12-23T14:00:00Z/2026-12-23T15:00:00Z");
    assert_eq!(found.len(), 4);
}

/// Protects exceptions whose type is not that of the series: a date among times, a zoned time (as Exchange
/// writes it) among whole days.
#[test]
fn exceptions_of_the_other_type() {
    let times = [
        "DTSTART:20260105T120000Z",
        "DURATION:PT1H",
        "RRULE:FREQ=DAILY;COUNT=3",
        "EXDATE;VALUE=DATE:20260106",
    ];
    assert_eq!(
        event(&times),
        ["2026-01-05T12:00:00Z/2026-01-05T13:00:00Z", "2026-01-07T12:00:00Z/2026-01-07T13:00:00Z"]
    );
    let days = [
        "DTSTART;VALUE=DATE:20260105",
        "RRULE:FREQ=DAILY;COUNT=2",
        "EXDATE;TZID=W. Europe Standard Time:20260105T000000",
    ];
    assert_eq!(event(&days), ["2026-01-06T05:00:00Z/2026-01-07T05:00:00Z"]);
}

/// Protects changes of one instance (its id in UTC, as Google writes it), of one and all that follow, and
/// cancellations.
#[test]
fn changes_take_the_place_of_instances() {
    let series = [
        "BEGIN:VEVENT",
        "UID:1",
        "DTSTART;TZID=America/New_York:20260105T090000",
        "DURATION:PT1H",
        "RRULE:FREQ=DAILY;COUNT=4",
        "END:VEVENT",
    ];
    let change = |lines: &[&'static str]| [&["BEGIN:VEVENT", "UID:1"], lines, &["END:VEVENT"]].concat();
    let with = |change: Vec<&'static str>| windows(&feed(&[&series[..], &change[..]].concat()).unwrap());
    let moved =
        with(change(&["RECURRENCE-ID:20260106T140000Z", "DTSTART:20260220T100000Z", "DURATION:PT2H"]));
    assert_eq!(moved.len(), 4);
    assert_eq!(moved.last().unwrap(), "2026-02-20T10:00:00Z/2026-02-20T12:00:00Z");
    let cancelled = with(change(&["RECURRENCE-ID:20260106T140000Z", "STATUS:CANCELLED"]));
    assert_eq!(cancelled.len(), 3);
    let later = with(change(&[
        "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=America/New_York:20260107T090000",
        "DTSTART;TZID=America/New_York:20260107T110000",
        "DURATION:PT1H",
    ]));
    assert_eq!(
        later,
        [
            "2026-01-05T14:00:00Z/2026-01-05T15:00:00Z",
            "2026-01-06T14:00:00Z/2026-01-06T15:00:00Z",
            "2026-01-07T16:00:00Z/2026-01-07T17:00:00Z",
            "2026-01-08T16:00:00Z/2026-01-08T17:00:00Z",
        ]
    );
}

/// Protects zones: Outlook's free text by the file's own rules of 1601, a vendor's path, a name with a
/// colon; own rules that differ from the database are used and said.
#[test]
fn zones_by_other_names() {
    let rules = |id: &str, month: u8| {
        format!(
            "BEGIN:VTIMEZONE\r\nTZID:{id}\r\nBEGIN:STANDARD\r\nDTSTART:16010101T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\n\
             RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\r\nEND:STANDARD\r\nBEGIN:DAYLIGHT\r\nDTSTART:16010101T020000\r\nTZOFFSETFROM:+0100\r\n\
             TZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH={month}\r\nEND:DAYLIGHT\r\nEND:VTIMEZONE"
        )
    };
    let at = |id: &str, rules: &str| {
        let start = format!("DTSTART;TZID={id}:20260410T090000");
        feed(&[rules, "BEGIN:VEVENT", &start, "DURATION:PT1H", "END:VEVENT"]).unwrap()
    };
    for id in ["Customized Time Zone", "(UTC+01:00) Amsterdam, Berlin"] {
        assert_eq!(windows(&at(id, &rules(id, 3))), ["2026-04-10T07:00:00Z/2026-04-10T08:00:00Z"], "{id}");
    }
    let vendor = at("/freeassociation.sourceforge.net/Europe/Berlin", "X-A:1");
    assert_eq!(windows(&vendor), ["2026-04-10T07:00:00Z/2026-04-10T08:00:00Z"]);
    // Its own summer begins in May, so April is winter.
    let own = at("Europe/Berlin", &rules("Europe/Berlin", 5));
    assert_eq!(windows(&own), ["2026-04-10T08:00:00Z/2026-04-10T09:00:00Z"]);
    assert!(own.notes()[0].contains("differ from the IANA database"), "{:?}", own.notes());
}

/// Protects times without a zone: they are the reading calendar's, and the file says that it has some.
#[test]
fn floating_times_are_the_readers() {
    let lines = [
        "X-WR-TIMEZONE:Europe/Berlin",
        "BEGIN:VEVENT",
        "DTSTART:20260708T090000",
        "DURATION:PT1H",
        "END:VEVENT",
    ];
    let feed = feed(&lines).unwrap();
    assert_eq!(windows(&feed), ["2026-07-08T13:00:00Z/2026-07-08T14:00:00Z"]);
    assert!(feed.series()[0].is_floating());
    assert_eq!(feed.zone_hint(), Some("Europe/Berlin"));
}

/// Protects the place of a mistake: the line of the property, and what to do.
#[test]
fn mistakes_are_placed() {
    for (line, said) in [
        (
            "DTSTART;VALUE=DATE:20260230",
            "in.ics:3: DTSTART: `20260230` is no day of the calendar: it never happens",
        ),
        ("DTSTART;TZID=Nowhere:20260105T090000", "in.ics:3: DTSTART: the zone `Nowhere` is unknown"),
        ("X:1", "in.ics:2: the event has no DTSTART"),
        ("no colon", "in.ics:3: `no colon` is no content line"),
        ("END:VTODO", "in.ics:3: END:VTODO where VEVENT of line 2 is open"),
    ] {
        let error = feed(&["BEGIN:VEVENT", line, "END:VEVENT"]).unwrap_err().to_string();
        assert!(error.starts_with(said), "{line}: {error}");
    }
}

/// Protects reading bytes: a byte order mark, bare line feeds, and a line folded within a character.
#[test]
fn bytes_as_clients_fold_them() {
    let (mut bytes, text) = (
        b"\xef\xbb\xbf".to_vec(),
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Cl\u{f4}ture\\, mois\nDTSTART:20260105T090000Z\nDURATION:PT1H\nEND:VEVENT\nEND:VCALENDAR\n",
    );
    let inside = text.find('\u{f4}').unwrap() + 1;
    bytes.extend_from_slice(&text.as_bytes()[..inside]);
    bytes.extend_from_slice(b"\n ");
    bytes.extend_from_slice(&text.as_bytes()[inside..]);
    let feed = Feed::read("in.ics", &bytes).unwrap();
    assert_eq!(feed.series()[0].summary(), "Cl\u{f4}ture, mois");
    assert_eq!(windows(&feed), ["2026-01-05T09:00:00Z/2026-01-05T10:00:00Z"]);
}
