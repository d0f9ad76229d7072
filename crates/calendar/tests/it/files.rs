//! Holiday files: names, zones, and how a mistake is answered.

use plimsoll_calendar::{Calendar, CalendarError, HolidaySet};

use crate::texts;

const SMALL: &str = r#"name = "small"
title = "one day"
source = { title = "by hand", read_on = "2026-11-01" }
valid_from = "2026-01-01"
valid_through = "2026-12-31"
weekend = ["saturday", "sunday"]

[[holiday]]
name = "May Day"
on = "05-01"
"#;

/// Protects the answer to a mistake: line, field, remedy.
#[test]
fn mistakes_are_placed_and_explained() {
    for (old, new, place, remedy) in [
        ("\non =", "\nonn =", "small.toml:10: holiday", "did you mean `on`?"),
        ("05-01", "first of may", "small.toml:10: holiday.on", "write a day such as"),
        ("\"sunday\"", "\"sun\"", "small.toml:6: weekend", "is no weekday"),
        ("\"2026-12-31\"", "\"2025-12-31\"", "small.toml: valid_through", "before valid_from"),
        ("\"2026-12-31\"", "\"2026-12-32\"", "small.toml:5: valid_through", "day"),
    ] {
        let text = SMALL.replacen(old, new, 1);
        let said = HolidaySet::read("small.toml", &text).unwrap_err().to_string();
        assert!(said.starts_with(place) && said.contains(remedy), "`{new}`: {said}");
    }
}

/// Protects the choice of a set and a zone: a typo is met with what exists, and a user's own file
/// stands in for a shipped one of the same name.
#[test]
fn sets_and_zones_are_found_by_name() -> Result<(), CalendarError> {
    let said = Calendar::named(texts(), "US-fedral", "UTC").unwrap_err().to_string();
    assert!(
        said.contains(
            "known are `NYSE`, `TARGET`, `UK`, `US-federal`, `weekdays`; did you mean `US-federal`?"
        ),
        "{said}"
    );
    let said = Calendar::named(texts(), "weekdays", "America/New_Yorck").unwrap_err().to_string();
    assert!(said.contains("is no IANA time zone"), "{said}");
    let own = SMALL.replacen("small", "weekdays", 1);
    let files = texts().into_iter().chain([("own.toml".to_owned(), own)]);
    let calendar = Calendar::named(files, "weekdays", "Europe/Berlin")?;
    assert_eq!((calendar.title(), calendar.zone_name()), ("one day", "Europe/Berlin"));
    Ok(())
}
