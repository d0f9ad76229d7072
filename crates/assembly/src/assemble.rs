//! The whole of assembly, in order: once each, trees, calls, operations, tools, rows.
//!
//! Every step is a module of its own; this one only passes the run along. The result depends on the
//! set of spans alone, not on their order, their batches or how often each came.

use crate::calls::Calls;
use crate::classify::kinds_of;
use crate::forest::Forest;
use crate::kinds::Kind;
use crate::operations::Operation;
use crate::rows::Assembled;
use crate::run::Parts;
use crate::runs;
use crate::span::Span;
use crate::tools::Tool;
use crate::unique::unique;
use crate::{doubles, operations, quality, tools, usage};

/// Makes the rows of every run that the spans of some traces belong to, ordered by run id.
///
/// The spans are all that was received for these traces, in any order, repeats included; see
/// [`part`](crate::part) for what makes a run.
#[must_use]
pub fn assemble_runs(spans: Vec<Span<'_>>) -> Vec<Assembled<'_>> {
    runs::part(spans).into_iter().map(|(run_id, spans)| assemble(run_id, spans)).collect()
}

/// Makes one run's rows from every span received for it, in any order, repeats included.
///
/// Never fails: what is odd is said in `quality`. Without spans the run is an empty, open one.
#[must_use]
pub fn assemble<'a>(run_id: &'a str, spans: Vec<Span<'a>>) -> Assembled<'a> {
    let mut codes: Vec<&'a str> = Vec::new();
    let unique = unique(&spans);
    let forest = Forest::new(&unique);
    for (found, code) in [
        (unique.conflict, quality::SPAN_ID_CONFLICT),
        (forest.cycle, quality::PARENT_CYCLE),
        (forest.orphans, quality::PARENT_MISSING),
    ] {
        if found {
            codes.push(code);
        }
    }
    for span in &forest.nodes {
        codes.extend_from_slice(&span.quality);
    }
    let found = Elected::new(&forest, &mut codes);

    let trace_ids = traces(run_id, &spans);
    let received = spans.iter().map(|span| span.received_at);
    let (first_received, last_received) = (received.clone().min().unwrap_or(0), received.max().unwrap_or(0));
    Parts {
        run_id,
        trace_ids,
        forest: &forest,
        kinds: &found.kinds,
        calls: &found.calls,
        operations: &found.operations,
        tools: &found.tools,
        codes,
    }
    .into_rows(first_received, last_received)
}

/// The traces of a run, where it isn't just the one that it is called by.
fn traces<'a>(run_id: &str, spans: &[Span<'a>]) -> Vec<&'a str> {
    if spans.iter().all(|span| span.trace_id == run_id) {
        return Vec::new();
    }
    let mut traces: Vec<&'a str> = spans.iter().map(|span| span.trace_id).collect();
    traces.sort_unstable();
    traces.dedup();
    traces
}

/// What the spans of a run were elected to be.
pub(crate) struct Elected<'a> {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) calls: Calls<'a>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) tools: Vec<Tool<'a>>,
}

impl<'a> Elected<'a> {
    /// Holds the election.
    pub(crate) fn new(forest: &Forest<'_, 'a>, codes: &mut Vec<&'a str>) -> Self {
        let kinds = kinds_of(forest, codes);
        let mut calls = Calls::innermost(forest, &kinds, codes);
        calls.inherit_steps(forest);
        doubles::merge(&mut calls, codes);
        calls.fill_from_wrappers(forest, &kinds);
        calls.find_requests(forest, &kinds);
        calls.find_cached(forest, &kinds, codes);
        usage::settle(&mut calls, forest, &kinds, codes);
        usage::fill_details(&mut calls, forest, &kinds);
        usage::doubt_loops(&mut calls, forest, &kinds, codes);
        let operations = operations::group(&calls, forest, &kinds, codes);
        let tools = tools::executions(forest, &kinds);
        Self { kinds, calls, operations, tools }
    }
}
