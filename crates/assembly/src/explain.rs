//! What each span of a run was taken for, and why: the election, told span by span.
//!
//! It asks the same modules that count, so it cannot tell another story than the rows. What the
//! attributes of a span mean is told by `plimsoll-otlp`.

use std::collections::BTreeMap;

use crate::assemble::Elected;
use crate::forest::Forest;
use crate::kinds::{Kind, UsageSource};
use crate::runs;
use crate::span::Span;
use crate::unique::unique;

/// What became of one span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// Run that it belongs to.
    pub run_id: &'a str,
    /// Trace.
    pub trace_id: &'a str,
    /// Span.
    pub span_id: &'a str,
    /// How far below the run's outermost spans it stands.
    pub depth: usize,
    /// Kind as counted; `Other` for what only looked like a call.
    pub kind: Kind,
    /// What it counts as.
    pub role: Role<'a>,
}

/// What a span counts as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role<'a> {
    /// A request to a provider.
    Attempt {
        /// Number of its operation in the run, by start, from 1.
        operation: usize,
        /// Number among the operation's requests that spans show, from 1.
        attempt: usize,
        /// Where its token counts come from.
        usage: UsageSource,
    },
    /// The same request as another span tells of, by another instrumentation.
    Double {
        /// That span.
        of: &'a str,
    },
    /// A model span above requests: it lends them what they don't tell, and is none itself.
    Wrapper {
        /// Requests below it.
        requests: usize,
    },
    /// A total over calls below that tell their own usage: not counted.
    Repeated,
    /// A total that counts for calls below which tell no usage.
    Lent,
    /// A total that counts as a call of its own, since nothing below it was recorded.
    StandIn {
        /// Number of its operation.
        operation: usize,
    },
    /// A tool's execution.
    Tool {
        /// Number in the run, by start, from 1.
        number: usize,
    },
    /// The same execution as another span tells of.
    ToolAgain,
    /// Looks like a call or a tool and is none: a batch, a handoff, a record of another span's life, or
    /// what logs tell already.
    NotCounted,
    /// No call and no tool: part of the tree.
    Structure,
}

/// Tells what each unique span of some traces counts as, run by run, outer spans first.
#[must_use]
pub fn explain(spans: Vec<Span<'_>>) -> Vec<Verdict<'_>> {
    let mut verdicts = Vec::with_capacity(spans.len());
    for (run_id, spans) in runs::part(spans) {
        let unique = unique(&spans);
        let forest = Forest::new(&unique);
        let elected = Elected::new(&forest, &mut Vec::new());
        let told = Telling::new(&forest, &elected);
        for (node, depth) in depth_first(&forest) {
            let span = forest.nodes[node];
            verdicts.push(Verdict {
                run_id,
                trace_id: span.trace_id,
                span_id: span.span_id,
                depth,
                kind: elected.kinds[node],
                role: told.role(node),
            });
        }
    }
    verdicts
}

/// The nodes, each before what is below it, by start.
fn depth_first(forest: &Forest<'_, '_>) -> Vec<(usize, usize)> {
    let mut order = Vec::with_capacity(forest.len());
    let down = |node: usize, depth: usize| {
        forest.children(node).iter().rev().map(move |&child| (child as usize, depth))
    };
    let mut waiting: Vec<(usize, usize)> = down(forest.len(), 0).collect();
    while let Some((node, depth)) = waiting.pop() {
        order.push((node, depth));
        waiting.extend(down(node, depth + 1));
    }
    order
}

struct Telling<'t, 's, 'a> {
    forest: &'t Forest<'s, 'a>,
    elected: &'t Elected<'a>,
    /// Operation and attempt of each call, from 1.
    place: BTreeMap<usize, (usize, usize)>,
    /// Calls that stand for those that nobody recorded, by the node whose total they tell.
    stand_ins: BTreeMap<usize, usize>,
    /// Number of each execution, from 1, by trace and span.
    tools: BTreeMap<(&'a str, &'a str), usize>,
    /// Requests at or below each node.
    below: Vec<usize>,
    /// Requests at or below each node whose usage is a total's.
    lent: Vec<usize>,
}

impl<'t, 's, 'a> Telling<'t, 's, 'a> {
    fn new(forest: &'t Forest<'s, 'a>, elected: &'t Elected<'a>) -> Self {
        let mut place = BTreeMap::new();
        for (operation, tries) in elected.operations.iter().enumerate() {
            for (attempt, &call) in tries.calls.iter().enumerate() {
                place.insert(call as usize, (operation + 1, attempt + 1));
            }
        }
        let (mut below, mut lent) = (vec![0; forest.len() + 1], vec![0; forest.len() + 1]);
        for &node in forest.top_down.iter().rev() {
            let node = node as usize;
            if let Some(call) = elected.calls.stands_on(node) {
                below[node] += 1;
                lent[node] += usize::from(elected.calls.list[call].usage == UsageSource::Aggregate);
            }
            let parent = forest.parents[node] as usize;
            below[parent] += below[node];
            lent[parent] += lent[node];
        }
        let calls = elected.calls.list.iter().enumerate();
        let stand_ins = calls.filter(|(_, call)| call.stand_in).map(|(at, call)| (call.node, at)).collect();
        let mut tools = BTreeMap::new();
        for (number, tool) in (1..).zip(&elected.tools) {
            tools.entry((tool.span.trace_id, tool.span.span_id)).or_insert(number);
        }
        Self { forest, elected, place, stand_ins, tools, below, lent }
    }

    fn role(&self, node: usize) -> Role<'a> {
        let (span, kind) = (self.forest.nodes[node], self.elected.kinds[node]);
        let calls = &self.elected.calls;
        let place = |call: usize| self.place.get(&call).copied().unwrap_or_default();
        if let Some(call) = calls.at(node) {
            let stands_on = calls.list[call].node;
            if stands_on != node {
                return Role::Double { of: self.forest.nodes[stands_on].span_id };
            }
            let (operation, attempt) = place(call);
            return Role::Attempt { operation, attempt, usage: calls.list[call].usage };
        }
        if let Some(&call) = self.stand_ins.get(&node) {
            return Role::StandIn { operation: place(call).0 };
        }
        if kind == Kind::Other && (span.kind.is_model() || span.kind == Kind::ToolCall) {
            return Role::NotCounted;
        }
        if kind == Kind::ToolCall {
            let number = self.tools.get(&(span.trace_id, span.span_id));
            return number.map_or(Role::ToolAgain, |&number| Role::Tool { number });
        }
        if kind.is_model() {
            return Role::Wrapper { requests: self.below[node] };
        }
        match (span.tokens.any(), self.lent[node]) {
            (false, _) => Role::Structure,
            (true, 0) => Role::Repeated,
            (true, _) => Role::Lent,
        }
    }
}

impl std::fmt::Display for Role<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Attempt { operation, attempt, usage } => {
                write!(f, "operation {operation}, attempt {attempt}; usage {}", usage.as_str())
            }
            Self::Double { of } => write!(f, "the same request as span {of}: counted there"),
            Self::Wrapper { requests } => {
                write!(f, "wraps {requests} request(s): lends what they do not tell, not counted")
            }
            Self::Repeated => f.write_str("a total that its calls tell already: not counted"),
            Self::Lent => f.write_str("a total: counts for calls below that tell no usage"),
            Self::StandIn { operation } => {
                write!(f, "a total without calls below: counts as operation {operation}")
            }
            Self::Tool { number } => write!(f, "tool execution {number}"),
            Self::ToolAgain => f.write_str("an execution that another span tells of: counted there"),
            Self::NotCounted => f.write_str("looks like a call and is none: not counted"),
            Self::Structure => f.write_str("structure"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::Tokens;

    /// An agent's total is told apart from its calls', a retry from its first try, a tool from both.
    #[test]
    fn roles() {
        let usage = |n| Tokens { input_tokens: Some(n), output_tokens: Some(1), ..Tokens::default() };
        let span = |span_id, parent, kind, start, tokens| Span {
            trace_id: "t",
            span_id,
            parent_span_id: parent,
            kind,
            model: Some("m"),
            start_unix_nano: start,
            duration_ms: Some(1.0),
            tokens,
            weight: 1.0,
            ..Span::default()
        };
        let mut failed = span("b", Some("a"), Kind::ModelCall, 1, Tokens::default());
        failed.http_status = Some(429);
        let verdicts = explain(vec![
            span("d", Some("a"), Kind::ToolCall, 4_000_000, Tokens::default()),
            span("c", Some("a"), Kind::ModelCall, 2_000_000, usage(7)),
            failed,
            span("a", None, Kind::Agent, 0, usage(7)),
        ]);
        let told: Vec<_> = verdicts.iter().map(|v| (v.span_id, v.depth, v.role.to_string())).collect();
        assert_eq!(
            told,
            [
                ("a", 0, "a total that its calls tell already: not counted".to_owned()),
                ("b", 1, "operation 1, attempt 1; usage missing".to_owned()),
                ("c", 1, "operation 1, attempt 2; usage reported".to_owned()),
                ("d", 1, "tool execution 1".to_owned()),
            ]
        );
    }
}
