//! The golden dates G1 to G30 of the request facts, in one table.

use jiff::{
    Timestamp,
    civil::{Date, date},
    tz::TimeZone,
};
use plimsoll_calendar::{Calendar, Feed, Fiscal, HolidaySet, Period, Rule, YearEnd};

use crate::texts;

fn built_in(name: &str, zone: &str) -> Calendar {
    Calendar::named(texts(), name, zone).unwrap()
}

/// A calendar that does not come with us, through a file.
fn from_file(name: &str) -> Calendar {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    let set = match name.ends_with(".ics") {
        true => HolidaySet::read_ics(name, &bytes).unwrap(),
        false => HolidaySet::read(name, &String::from_utf8(bytes).unwrap()).unwrap(),
    };
    Calendar::new(set, TimeZone::UTC)
}

fn open(calendar: &Calendar, day: Date) -> &'static str {
    if calendar.is_business_day(day).unwrap() { "yes" } else { "no" }
}

fn last(calendar: &Calendar, year: i16, month: i8) -> String {
    calendar.last_business_day(date(year, month, 1), Period::Month).unwrap().to_string()
}

fn wd(calendar: &Calendar, year: i16, month: i8, nth: i32) -> String {
    calendar.nth_business_day(date(year, month, 1), Period::Month, nth).unwrap().to_string()
}

/// Days off in a range, however they are called.
fn off(calendar: &Calendar, from: Date, through: Date) -> String {
    let days: Vec<String> = calendar.holidays(from, through).map(|(day, _)| day.to_string()).collect();
    days.join(" ")
}

/// Local days on which a rule begins within `from..to`.
fn days(rule: &str, calendar: &Calendar, from: Date, to: Date) -> String {
    let (from, to) = (calendar.start_of_day(from).unwrap(), calendar.start_of_day(to).unwrap());
    let windows = Rule::parse(rule).unwrap().occurrences(calendar, from, to).unwrap();
    let days = windows.iter().map(|window| calendar.local_date(window.start).to_string());
    days.collect::<Vec<_>>().join(" ")
}

/// First and last day of a rule's first window within `from..to`.
fn run(rule: &str, calendar: &Calendar, from: Date, to: Date) -> String {
    let (from, to) = (calendar.start_of_day(from).unwrap(), calendar.start_of_day(to).unwrap());
    let windows = Rule::parse(rule).unwrap().occurrences(calendar, from, to).unwrap();
    let window = windows.first().unwrap();
    let end = calendar.local_date(window.end).yesterday().unwrap();
    format!("{}..{end}", calendar.local_date(window.start))
}

fn bounds(period: Period, day: Date) -> String {
    let (first, last) = period.bounds(day);
    format!("{first}..{last}")
}

/// Whole days of the only event of a file.
fn event_days(lines: &str) -> String {
    let text = format!("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n{lines}END:VEVENT\r\nEND:VCALENDAR\r\n");
    let calendar = built_in("weekdays", "America/New_York");
    let feed = Feed::read("g29.ics", text.as_bytes()).unwrap();
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let windows =
        feed.occurrences(&calendar, None, at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z")).unwrap();
    let window = windows.first().unwrap();
    format!("{} {} h", calendar.local_date(window.start), window.start.duration_until(window.end).as_hours())
}

type Row = (&'static str, &'static str, &'static str, String);

fn business_days() -> Vec<Row> {
    let (us, nyse) = (built_in("US-federal", "America/New_York"), built_in("NYSE", "America/New_York"));
    let (uk, target) = (built_in("UK", "Europe/London"), built_in("TARGET", "Europe/Berlin"));
    let weekdays = built_in("weekdays", "UTC");
    let (fed, sifma) = (from_file("fed.toml"), from_file("sifma.toml"));
    let japan = from_file("japan.toml");
    let (nse, china) = (from_file("nse.ics"), from_file("china.toml"));
    let (three, four) = (date(2026, 7, 3), [&us, &nyse, &sifma, &fed]);
    let june = date(2027, 6, 18);
    let all = |calendars: &[&Calendar], day| {
        calendars.iter().map(|one| open(one, day)).collect::<Vec<_>>().join(" ")
    };
    let ends = [&us, &nyse, &uk, &target].map(|one| last(one, 2027, 12)).join(" ");
    let rrule = "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1 09:00-17:00";
    let end_of_2021 = (date(2021, 12, 1), date(2022, 1, 1));
    let (boxing, christmas) = (date(2022, 12, 25), date(2022, 12, 31));
    vec![
        (
            "G1",
            "last business day Dec 2021, federal / NYSE",
            "2021-12-30 2021-12-31",
            format!("{} {}", last(&us, 2021, 12), last(&nyse, 2021, 12)),
        ),
        (
            "G2",
            "RRULE last weekday, Dec 2021",
            "2021-12-31",
            days(rrule, &weekdays, end_of_2021.0, end_of_2021.1),
        ),
        ("G3", "open on 2026-07-03: federal, NYSE, SIFMA, Fed", "no no no yes", all(&four, three)),
        ("G4", "open on 2027-06-18: federal, NYSE, Fed", "no no yes", all(&[&us, &nyse, &fed], june)),
        (
            "G5",
            "last business day Dec 2027: federal, NYSE, UK, TARGET",
            "2027-12-30 2027-12-31 2027-12-31 2027-12-31",
            ends,
        ),
        (
            "G6",
            "WD+1 Jan 2028: federal / UK",
            "2028-01-03 2028-01-04",
            format!("{} {}", wd(&us, 2028, 1, 1), wd(&uk, 2028, 1, 1)),
        ),
        ("G7", "UK substitute, Christmas 2022", "2022-12-26 2022-12-27", off(&uk, boxing, christmas)),
        (
            "G8",
            "UK substitutes 2021 and 2027",
            "2021-12-27 2021-12-28 2027-12-27 2027-12-28",
            format!(
                "{} {}",
                off(&uk, date(2021, 12, 25), date(2021, 12, 31)),
                off(&uk, date(2027, 12, 25), date(2027, 12, 31))
            ),
        ),
        (
            "G9",
            "Scotland 2 Jan 2027 substitute",
            "2027-01-01 2027-01-04",
            off(&from_file("scotland.toml"), date(2027, 1, 1), date(2027, 1, 31)),
        ),
        ("G10", "UK early-May holiday 2020", "2020-05-08", off(&uk, date(2020, 5, 1), date(2020, 5, 15))),
        (
            "G11",
            "TARGET: last business day Mar 2024; next",
            "2024-03-28 2024-04-02",
            format!("{} {}", last(&target, 2024, 3), wd(&target, 2024, 4, 1)),
        ),
        ("G12", "open on 2027-12-27: TARGET, UK", "yes no", all(&[&target, &uk], date(2027, 12, 27))),
        (
            "G13",
            "WD+3 April 2029: UK / federal",
            "2029-04-05 2029-04-04",
            format!("{} {}", wd(&uk, 2029, 4, 3), wd(&us, 2029, 4, 3)),
        ),
        (
            "G14",
            "Japan substitute May 2026",
            "2026-05-04 2026-05-05 2026-05-06",
            off(&japan, date(2026, 5, 1), date(2026, 5, 31)),
        ),
        (
            "G15",
            "Japan citizens' holidays Sept 2026, 2032, 2015",
            "no no no",
            [date(2026, 9, 22), date(2032, 9, 21), date(2015, 9, 22)].map(|day| open(&japan, day)).join(" "),
        ),
        (
            "G16",
            "Japan 2027 equinox substitute",
            "2027-03-22",
            off(&japan, date(2027, 3, 1), date(2027, 3, 31)),
        ),
        (
            "G17",
            "Japan Golden Week 2019: 30 Apr, 2 May",
            "no no",
            [date(2019, 4, 30), date(2019, 5, 2)].map(|day| open(&japan, day)).join(" "),
        ),
        (
            "G18",
            "WD+1, WD+2 May 2026 Japan",
            "2026-05-01 2026-05-07",
            format!("{} {}", wd(&japan, 2026, 5, 1), wd(&japan, 2026, 5, 2)),
        ),
        (
            "G25",
            "NSE open 2026-01-15, 2026-03-03, 2026-03-04",
            "no no yes",
            [date(2026, 1, 15), date(2026, 3, 3), date(2026, 3, 4)].map(|day| open(&nse, day)).join(" "),
        ),
        (
            "G26",
            "China business day Sat 2026-02-14, Sat 2026-02-28",
            "yes yes",
            [date(2026, 2, 14), date(2026, 2, 28)].map(|day| open(&china, day)).join(" "),
        ),
    ]
}

fn events() -> Vec<Row> {
    let nyse = built_in("NYSE", "America/New_York");
    let weekdays = built_in("weekdays", "America/New_York");
    let expiry = "third friday of month else previous business day";
    let expiries = [(2025, 4), (2026, 6), (2027, 6)];
    let expiries =
        expiries.map(|(year, month)| days(expiry, &nyse, date(year, month, 10), date(year, month, 28)));
    let washington = from_file("washington.toml");
    let tax_day = "april 15 else next business day";
    let tax =
        [2022, 2023, 2026, 2028].map(|year| days(tax_day, &washington, date(year, 4, 1), date(year, 5, 1)));
    let enrolment = "november 1 to january 15 until 2026-06-30; november 1 to december 15 since 2026-07-01";
    let nrf = Period::FiscalYear(Fiscal::NRF);
    let years = [date(2023, 6, 1), date(2026, 6, 1), date(2028, 6, 1)];
    let years = years.map(|day| format!("{} {}", bounds(nrf, day), Fiscal::NRF.weeks_in_year(day)));
    let months = [date(2026, 2, 14), date(2026, 3, 14), date(2026, 4, 14)];
    let months = months.map(|day| bounds(Period::FiscalMonth(Fiscal::NRF), day));
    let september = Fiscal::weeks([4, 4, 5], YearEnd::Last(jiff::civil::Weekday::Saturday, 9)).unwrap();
    let october = Period::FiscalYear(september);
    let day = date(2023, 6, 1);
    let (thanksgiving, monday) = ("fourth thursday of november", "4 days after fourth thursday of november");
    let hours =
        [date(2026, 3, 8), date(2026, 11, 1)].map(|day| nyse.day_length(day).unwrap().as_hours().to_string());
    vec![
        (
            "G19",
            "options expiry Apr 2025, Jun 2026, Jun 2027",
            "2025-04-17 2026-06-18 2027-06-17",
            expiries.join(" "),
        ),
        (
            "G20",
            "US tax day 2022, 2023, 2026, 2028",
            "2022-04-18 2023-04-18 2026-04-15 2028-04-18",
            tax.join(" "),
        ),
        (
            "G21",
            "Thanksgiving 2028; Cyber Monday 2025",
            "2028-11-23 2025-12-01",
            format!(
                "{} {}",
                days(thanksgiving, &weekdays, date(2028, 11, 1), date(2028, 12, 5)),
                days(monday, &weekdays, date(2025, 11, 1), date(2025, 12, 5))
            ),
        ),
        (
            "G22",
            "NRF FY2023, FY2026, FY2028 and their weeks",
            "2023-01-29..2024-02-03 53 2026-02-01..2027-01-30 52 2028-01-30..2029-02-03 53",
            years.join(" "),
        ),
        (
            "G23",
            "NRF FY2026 February, March, April",
            "2026-02-01..2026-02-28 2026-03-01..2026-04-04 2026-04-05..2026-05-02",
            months.join(" "),
        ),
        (
            "G24",
            "year that ends on the last Saturday of September, FY2023",
            "FY2023 2022-09-25..2023-09-30 53",
            format!("{} {} {}", october.label(day), bounds(october, day), september.weeks_in_year(day)),
        ),
        (
            "G27",
            "ACA enrolment for 2026; 2027",
            "2025-11-01..2026-01-15 2026-11-01..2026-12-15",
            [2025, 2026]
                .map(|year| run(enrolment, &weekdays, date(year, 9, 1), date(year + 1, 6, 1)))
                .join(" "),
        ),
        (
            "G28",
            "BYMONTHDAY=31 from 2026-01-31, seven in the year",
            "2026-01-31 2026-03-31 2026-05-31 2026-07-31 2026-08-31 2026-10-31 2026-12-31",
            days(
                "DTSTART:20260131 RRULE:FREQ=MONTHLY;BYMONTHDAY=31;COUNT=7",
                &weekdays,
                date(2026, 1, 1),
                date(2028, 1, 1),
            ),
        ),
        (
            "G29",
            "all day, DTEND next day",
            "2026-06-10 24 h",
            event_days("DTSTART;VALUE=DATE:20260610\r\nDTEND;VALUE=DATE:20260611\r\n"),
        ),
        (
            "G29",
            "all day, DTEND the same day",
            "2026-06-10 24 h",
            event_days("DTSTART;VALUE=DATE:20260610\r\nDTEND;VALUE=DATE:20260610\r\n"),
        ),
        ("G29", "all day, no DTEND", "2026-06-10 24 h", event_days("DTSTART;VALUE=DATE:20260610\r\n")),
        ("G30", "New York wall hours 2026-03-08, 2026-11-01", "23 25", hours.join(" ")),
        ("G30", "hours between New York and London 7, 8, 28, 29 Mar 2026", "5 4 4 5", london()),
    ]
}

/// Hours from New York noon to London noon around the weeks in which only one of them has changed.
fn london() -> String {
    let (new_york, london) = (built_in("NYSE", "America/New_York"), built_in("UK", "Europe/London"));
    let gaps = [7, 8, 28, 29].map(|day| {
        let noon = date(2026, 3, day).at(12, 0, 0, 0);
        let gap = london.instant(noon).unwrap().duration_until(new_york.instant(noon).unwrap());
        gap.as_hours().to_string()
    });
    gaps.join(" ")
}

/// Protects every date that the facts hold for golden; prints id, what is asked, expected and got.
#[test]
fn g1_to_g30() {
    let mut rows = business_days();
    rows.extend(events());
    let number = |id: &str| id.trim_start_matches('G').parse::<u8>().unwrap();
    rows.sort_by_key(|(id, ..)| number(id));
    for (id, what, expected, got) in &rows {
        println!("{id:<4} {what:<58} expected {expected}\n{:<63} got      {got}", "");
    }
    let wrong: Vec<_> = rows.iter().filter(|(_, _, expected, got)| expected != got).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mut ids: Vec<u8> = rows.iter().map(|(id, ..)| number(id)).collect();
    ids.dedup();
    assert_eq!(ids, (1..=30).collect::<Vec<u8>>());
}
