//! When an event takes place.
//!
//! Invariant: an occurrence is half-open and never empty.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// One window in which an event takes place. The windows of one close (three days of one month end,
/// say) share their `id`, so that they are counted as one occurrence of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The period that it belongs to: `2026-11`, `2026-Q4`, or a date.
    pub id: String,
    /// First instant.
    pub start: Timestamp,
    /// First instant after it.
    pub end: Timestamp,
}

/// One row per `id`, from its first window's start to its last one's end, in order of start.
pub fn whole(windows: &[Occurrence]) -> Vec<Occurrence> {
    let mut by_id: BTreeMap<&str, Occurrence> = BTreeMap::new();
    for window in windows {
        by_id
            .entry(&window.id)
            .and_modify(|all| {
                all.start = all.start.min(window.start);
                all.end = all.end.max(window.end);
            })
            .or_insert_with(|| window.clone());
    }
    let mut rows: Vec<Occurrence> = by_id.into_values().collect();
    rows.sort_by(|left, right| (left.start, &left.id).cmp(&(right.start, &right.id)));
    rows
}
