//! Local days and instants: T21 and G30.

use jiff::{SignedDuration, Timestamp, civil::date};
use plimsoll_calendar::CalendarError;

use crate::us_federal;

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// T21 a, b: the local date decides the month and the day, not the UTC one and not 24-hour bins.
#[test]
fn t21_local_dates() {
    let kolkata = us_federal("Asia/Kolkata");
    assert_eq!(kolkata.local_date(instant("2026-03-31T18:40:00Z")), date(2026, 4, 1));
    let denver = us_federal("America/Denver");
    assert_eq!(denver.local_date(instant("2024-03-11T06:30:00Z")), date(2024, 3, 11));
}

/// T21 c, G30: a day on which clocks change has 23 or 25 hours; a local time that occurs twice is two
/// instants, of which the first is meant.
#[test]
fn t21_days_of_23_and_25_hours() -> Result<(), CalendarError> {
    for (zone, days) in [
        ("America/Denver", [(date(2024, 3, 10), 23), (date(2024, 11, 3), 25), (date(2024, 11, 4), 24)]),
        ("America/New_York", [(date(2026, 3, 8), 23), (date(2026, 11, 1), 25), (date(2026, 11, 2), 24)]),
    ] {
        let calendar = us_federal(zone);
        for (day, hours) in days {
            assert_eq!(calendar.day_length(day)?, SignedDuration::from_hours(hours), "{zone} {day}");
        }
    }
    let denver = us_federal("America/Denver");
    let twice = denver.instant(date(2024, 11, 3).at(1, 30, 0, 0))?;
    assert_eq!(twice, instant("2024-11-03T07:30:00Z"));
    let skipped = denver.instant(date(2024, 3, 10).at(2, 30, 0, 0))?;
    assert_eq!(skipped, instant("2024-03-10T09:30:00Z"));
    Ok(())
}

/// G30: London is four hours ahead of New York from 8 to 28 March 2026, else five.
#[test]
fn clocks_change_on_different_days() -> Result<(), CalendarError> {
    let (new_york, london) = (us_federal("America/New_York"), us_federal("Europe/London"));
    for (day, hours) in [(7, 5), (9, 4), (28, 4), (29, 5)] {
        let noon = date(2026, 3, day).at(12, 0, 0, 0);
        let gap = london.instant(noon)?.duration_until(new_york.instant(noon)?);
        assert_eq!(gap, SignedDuration::from_hours(hours), "{day} March");
    }
    Ok(())
}
