//! The whole of assembly, in order: once each, trees, calls, operations, tools, rows.
//!
//! Every step is a module of its own; this one only passes the run along. The result depends on the
//! set of spans alone, not on their order, their batches or how often each came.

use crate::calls::Calls;
use crate::classify::kind_of;
use crate::forest::Forest;
use crate::kinds::Kind;
use crate::rows::Assembled;
use crate::run::Parts;
use crate::span::Span;
use crate::unique::unique;
use crate::{doubles, operations, quality, tools, usage};

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

    let kinds: Vec<Kind> = forest.nodes.iter().map(|span| kind_of(span)).collect();
    let mut calls = Calls::innermost(&forest, &kinds, &mut codes);
    calls.inherit_steps(&forest);
    doubles::merge(&mut calls, &mut codes);
    calls.fill_from_wrappers(&forest, &kinds);
    usage::settle(&mut calls, &forest, &kinds, &mut codes);
    usage::fill_details(&mut calls, &forest, &kinds);
    let operations = operations::group(&calls, &forest, &kinds, &mut codes);
    let tools = tools::executions(&forest, &kinds);

    let received = spans.iter().map(|span| span.received_at);
    let (first_received, last_received) = (received.clone().min().unwrap_or(0), received.max().unwrap_or(0));
    Parts {
        run_id,
        forest: &forest,
        kinds: &kinds,
        calls: &calls,
        operations: &operations,
        tools: &tools,
        codes,
    }
    .into_rows(first_received, last_received)
}
