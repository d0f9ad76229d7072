//! Which run each span belongs to.
//!
//! A run is a trace, unless its spans carry a key (`run_key`, after the match rules): several traces
//! with one key are one run, and a trace with several keys is several. A span without a key belongs
//! with the nearest span above it that has one; where a trace has a single key, all its spans do.
//! Source: `facts/dialects.md` 1.6 and 2, rule 5. The caller brings together every trace that may
//! share a run (`plimsoll-profile`); this module only parts what it is given.

use std::collections::{BTreeMap, BTreeSet};

use crate::forest::{Forest, parent_id};
use crate::span::Span;
use crate::unique::unique;

/// Parts spans of one or several traces into runs, each with its id, ordered by id.
///
/// A span whose parent went to another run is a root of its own: a turn within a session's trace
/// ends when it ends, whatever is above it.
#[must_use]
pub fn part<'a>(spans: Vec<Span<'a>>) -> Vec<(&'a str, Vec<Span<'a>>)> {
    let Some(first) = spans.first() else {
        return Vec::new();
    };
    let trace = first.trace_id;
    if spans.iter().all(|span| span.trace_id == trace && key_of(span).is_none()) {
        return vec![(trace, spans)];
    }
    let run_of = RunOf::new(&spans);
    let mut runs: BTreeMap<&'a str, Vec<Span<'a>>> = BTreeMap::new();
    for mut span in spans {
        let run = run_of.span(&span);
        if let Some(parent) = parent_id(&span)
            && run_of.by_id.get(&(span.trace_id, parent)).is_some_and(|other| *other != run)
        {
            span.parent_span_id = None;
        }
        runs.entry(run).or_default().push(span);
    }
    runs.into_iter().collect()
}

/// The key of a span, if it has one.
fn key_of<'a>(span: &Span<'a>) -> Option<&'a str> {
    span.run_key.filter(|key| !key.is_empty())
}

/// The run of each span, by trace and span id.
struct RunOf<'a> {
    by_id: BTreeMap<(&'a str, &'a str), &'a str>,
}

impl<'a> RunOf<'a> {
    fn new(spans: &[Span<'a>]) -> Self {
        let unique = unique(spans);
        let forest = Forest::new(&unique);
        let mut keys: BTreeMap<&str, BTreeSet<&'a str>> = BTreeMap::new();
        for span in &forest.nodes {
            keys.entry(span.trace_id).or_default().extend(key_of(span));
        }
        // The key that each node hands down; the virtual root has none.
        let mut handed: Vec<Option<&'a str>> = vec![None; forest.len() + 1];
        let mut by_id = BTreeMap::new();
        for &node in &forest.top_down {
            let node = node as usize;
            let span = forest.nodes[node];
            handed[node] = key_of(span).or(handed[forest.parents[node] as usize]);
            let only = keys.get(span.trace_id).filter(|keys| keys.len() == 1);
            let only = only.and_then(|keys| keys.first().copied());
            by_id.insert((span.trace_id, span.span_id), handed[node].or(only).unwrap_or(span.trace_id));
        }
        Self { by_id }
    }

    fn span(&self, span: &Span<'a>) -> &'a str {
        self.by_id.get(&(span.trace_id, span.span_id)).copied().unwrap_or(span.trace_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span<'a>(trace_id: &'a str, span_id: &'a str, parent: &'a str, key: &'a str) -> Span<'a> {
        Span { trace_id, span_id, parent_span_id: Some(parent), run_key: Some(key), ..Span::default() }
    }

    fn ids<'a>(runs: &[(&'a str, Vec<Span<'a>>)]) -> Vec<(&'a str, Vec<&'a str>)> {
        runs.iter().map(|(run, spans)| (*run, spans.iter().map(|span| span.span_id).collect())).collect()
    }

    /// Without keys a trace is a run; traces that share a key are one.
    #[test]
    fn traces_and_keys() {
        assert!(part(Vec::new()).is_empty());
        let plain = part(vec![span("t", "a", "", ""), span("t", "b", "a", "")]);
        assert_eq!(ids(&plain), [("t", vec!["a", "b"])]);
        let joined = part(vec![
            span("t", "a", "", "order-7"),
            span("t", "b", "a", ""),
            span("u", "c", "", "order-7"),
            span("v", "d", "", ""),
        ]);
        assert_eq!(ids(&joined), [("order-7", vec!["a", "b", "c"]), ("v", vec!["d"])]);
    }

    /// Turns in one trace are runs of their own, each with a root; what is above them is none of theirs.
    #[test]
    fn turns_of_a_session() {
        let turns = part(vec![
            span("t", "session", "", ""),
            span("t", "turn-1", "session", "p1"),
            span("t", "call-1", "turn-1", ""),
            span("t", "turn-2", "session", "p2"),
            span("t", "call-2", "turn-2", ""),
        ]);
        assert_eq!(
            ids(&turns),
            [("p1", vec!["turn-1", "call-1"]), ("p2", vec!["turn-2", "call-2"]), ("t", vec!["session"])]
        );
        assert_eq!(turns[0].1[0].parent_span_id, None);
        assert_eq!(turns[0].1[1].parent_span_id, Some("turn-1"));
    }

    /// A trace that names one key names it for all its spans, wherever the key stands.
    #[test]
    fn one_key_in_a_trace() {
        let run = part(vec![span("t", "root", "", ""), span("t", "leaf", "root", "k")]);
        assert_eq!(ids(&run), [("k", vec!["root", "leaf"])]);
    }
}
