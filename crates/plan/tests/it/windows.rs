//! Which windows a profile must measure.

use jiff::Timestamp;
use plimsoll_plan::{Spec, windows};

use crate::spec::CONTRACT;
use crate::world::new_york;

/// Protects the count of occurrences: the three days of one close are one occurrence, those before
/// `as_of` are past, and the one under way keeps only what is left of it.
#[test]
fn the_days_of_one_close_are_one_occurrence() {
    let spec = Spec::parse(CONTRACT).unwrap();
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let found = windows(&spec, &new_york(), at("2026-11-27T20:00:00Z")).unwrap();
    assert_eq!(found.history, (at("2026-10-30T20:00:00Z"), at("2026-11-27T20:00:00Z")));

    let close = &found.coming[0];
    // Thanksgiving is the 26th: the last three business days are 25, 27 and 30 November.
    assert_eq!((close.event.as_str(), close.occurrence.as_str()), ("month-end close", "2026-11"));
    assert_eq!(
        close.windows,
        [
            (at("2026-11-27T14:00:00Z"), at("2026-11-27T23:00:00Z")),
            (at("2026-11-30T14:00:00Z"), at("2026-11-30T23:00:00Z")),
        ]
    );
    assert!(close.contains(at("2026-11-30T22:59:59Z")) && !close.contains(at("2026-11-30T23:00:00Z")));

    let october = found.past.last().unwrap();
    assert_eq!((october.occurrence.as_str(), october.windows.len()), ("2026-10", 3));
    assert_eq!(
        october.start(),
        at("2026-10-28T13:00:00Z"),
        "09:00 in New York is 13:00 before clocks change"
    );
    assert!(found.past.iter().all(|past| past.end() <= at("2026-11-27T20:00:00Z")));
}
