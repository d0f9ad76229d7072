//! The same span twice is one span.
//!
//! Identity is trace id + span id. Of several records the one with the later end wins, then the one
//! with the larger token counts; nothing is ever added up. A log record that bears the id of a span is
//! an event of that very call, which the span tells better: it stands only where the span never came.
//! Two records that cannot be snapshots of one span are a conflict: both stay. Source: `DESIGN.md`
//! counting rule 12, `facts/torture.md` T28.

use std::cmp::Ordering;

use crate::span::Span;

/// Clocks that cut to milliseconds move a start by less than this; a resend is not farther off.
const SAME_START_NANOS: u64 = 1_000_000;

/// Conflicting spans under one id that a further record is compared with.
const CONFLICTS_COMPARED: usize = 64;

/// Unique spans, ordered by id; conflicting ones stand side by side.
pub(crate) struct Unique<'s, 'a> {
    pub(crate) spans: Vec<&'s Span<'a>>,
    pub(crate) conflict: bool,
}

/// Keeps one record a span. The result does not depend on the order of `spans`.
pub(crate) fn unique<'s, 'a>(spans: &'s [Span<'a>]) -> Unique<'s, 'a> {
    let mut records: Vec<&Span<'a>> = spans.iter().collect();
    records
        .sort_unstable_by(|a, b| by_id(a, b).then(a.from_log.cmp(&b.from_log)).then_with(|| preferred(a, b)));
    let mut kept: Vec<&Span<'a>> = Vec::with_capacity(records.len());
    let mut first_of_id = 0;
    let mut conflict = false;
    for record in records {
        let fresh = kept.last().is_none_or(|last| by_id(last, record) != Ordering::Equal);
        if fresh {
            first_of_id = kept.len();
        } else if kept[first_of_id..]
            .iter()
            .take(CONFLICTS_COMPARED)
            .any(|other| (record.from_log && !other.from_log) || snapshots_of_one(other, record))
        {
            continue;
        } else {
            conflict = true;
        }
        kept.push(record);
    }
    Unique { spans: kept, conflict }
}

/// Orders by id; the span id first, since a run's spans mostly share the trace id.
pub(crate) fn by_id(a: &Span<'_>, b: &Span<'_>) -> Ordering {
    a.span_id.cmp(b.span_id).then_with(|| a.trace_id.cmp(b.trace_id))
}

/// The record to keep first. What follows the token counts only makes the choice independent of
/// the order of arrival.
fn preferred(a: &Span<'_>, b: &Span<'_>) -> Ordering {
    b.end_unix_nano()
        .cmp(&a.end_unix_nano())
        .then_with(|| b.tokens.rank().cmp(&a.tokens.rank()))
        .then_with(|| b.start_unix_nano.cmp(&a.start_unix_nano))
        .then_with(|| (b.name, b.kind, b.status).cmp(&(a.name, a.kind, a.status)))
        .then_with(|| (b.http_status, b.error_type).cmp(&(a.http_status, a.error_type)))
        .then_with(|| (b.parent_span_id, b.response_id).cmp(&(a.parent_span_id, a.response_id)))
        .then_with(|| (b.model, b.scope, b.service).cmp(&(a.model, a.scope, a.service)))
        .then_with(|| a.received_at.cmp(&b.received_at))
}

/// Whether two records under one id can be the same span, sent again or updated.
fn snapshots_of_one(a: &Span<'_>, b: &Span<'_>) -> bool {
    fn agree<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
        a.is_none() || b.is_none() || a == b
    }
    // A first snapshot may lack the attributes that tell its kind; then at least the start is exact.
    let moved = a.start_unix_nano.abs_diff(b.start_unix_nano);
    (moved == 0 || (moved < SAME_START_NANOS && a.kind == b.kind))
        && agree(a.name, b.name)
        && agree(a.service, b.service)
        && agree(a.parent_span_id, b.parent_span_id)
        && agree(a.response_id, b.response_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event of a call never stands beside the call's span, whichever came first and ended later; it
    /// stands for the call where there is no such span.
    #[test]
    fn an_event_of_a_span() {
        let span = Span { span_id: "a", start_unix_nano: 1, duration_ms: Some(10.0), ..Span::default() };
        let event = Span { from_log: true, start_unix_nano: 99_000_000, duration_ms: None, ..span.clone() };
        for spans in [[span.clone(), event.clone()], [event.clone(), span]] {
            let unique = unique(&spans);
            assert!(!unique.conflict);
            assert_eq!(unique.spans.iter().map(|span| span.from_log).collect::<Vec<_>>(), [false]);
        }
        assert_eq!(unique(&[event.clone(), event]).spans.len(), 1);
    }
}
