//! Tool executions, each once.
//!
//! A tool span under another of the same execution is that execution seen again (an MCP client's or
//! server's view of a framework's tool): the outermost stands, since the agent dispatched that one.
//! What a chat asked for is no execution and never gets here. Source: `facts/dialects.md` 1.8.

use crate::doubles::NEAR_NANOS;
use crate::failure::Failure;
use crate::forest::{Forest, NOBODY};
use crate::kinds::{Kind, Status};
use crate::span::Span;

/// Executions that start next, among which the same one is sought.
const NEIGHBOURS: usize = 64;

/// One execution.
#[derive(Debug)]
pub(crate) struct Tool<'a> {
    pub(crate) span: Span<'a>,
    pub(crate) end: i64,
    pub(crate) status: Status,
}

/// The executions of a run, by start.
pub(crate) fn executions<'a>(forest: &Forest<'_, 'a>, kinds: &[Kind]) -> Vec<Tool<'a>> {
    let n = forest.len();
    if !kinds.contains(&Kind::ToolCall) {
        return Vec::new();
    }
    // Nearest tool span at or above each node, while nothing between starts a dispatch of its own.
    let mut dispatched_by = vec![NOBODY; n + 1];
    let mut execution_of = vec![NOBODY; n];
    for &node in &forest.top_down {
        let node = node as usize;
        let above = dispatched_by[forest.parents[node] as usize];
        match kinds[node] {
            Kind::ToolCall => {
                let outer = (above != NOBODY).then(|| execution_of[above as usize]);
                execution_of[node] = match outer {
                    Some(outer) if same(forest.nodes[outer as usize], forest.nodes[node]) => outer,
                    _ => node as u32,
                };
                dispatched_by[node] = node as u32;
            }
            Kind::Agent | Kind::Workflow | Kind::ModelCall => dispatched_by[node] = NOBODY,
            _ => dispatched_by[node] = above,
        }
    }
    seen_side_by_side(forest, kinds, &mut execution_of);

    let mut place = vec![NOBODY; n];
    let mut tools: Vec<Tool<'a>> = Vec::new();
    for node in 0..n {
        if execution_of[node] == node as u32 {
            place[node] = tools.len() as u32;
            let span = forest.nodes[node].clone();
            let status = if Failure::of(&span).is_some() { Status::Error } else { Status::Ok };
            tools.push(Tool { span, end: forest.ends[node], status });
        }
    }
    for node in 0..n {
        if execution_of[node] != NOBODY && execution_of[node] != node as u32 {
            let inner = forest.nodes[node];
            let told = &mut tools[place[execution_of[node] as usize] as usize].span;
            told.tool = told.tool.or(inner.tool);
            told.error_type = told.error_type.or(inner.error_type);
            told.retries = told.retries.or(inner.retries);
            told.payload_bytes = told.payload_bytes.or(inner.payload_bytes);
            told.concurrency_at_dispatch = told.concurrency_at_dispatch.or(inner.concurrency_at_dispatch);
            told.idempotency_replayed = told.idempotency_replayed.or(inner.idempotency_replayed);
        }
    }
    tools
}

/// Whether a tool span below another is the same execution: the same call id, or no id to tell by
/// and the same tool.
fn same(outer: &Span<'_>, inner: &Span<'_>) -> bool {
    match (outer.tool_call_id, inner.tool_call_id) {
        (Some(a), Some(b)) => a == b,
        _ => outer.tool == inner.tool || outer.tool.is_none() || inner.tool.is_none(),
    }
}

/// Executions of one tool without call ids, which two scopes recorded side by side with the same start and
/// end: those of the scope that saw it later, each with the other's.
fn twice_without_id(forest: &Forest<'_, '_>, kinds: &[Kind], execution_of: &[u32]) -> Vec<(u32, u32)> {
    // Nodes are numbered by start.
    let told: Vec<u32> = (0..forest.len() as u32)
        .filter(|&node| kinds[node as usize] == Kind::ToolCall && execution_of[node as usize] == node)
        .filter(|&node| forest.nodes[node as usize].tool_call_id.is_none())
        .collect();
    let mut joined: Vec<(u32, u32)> = Vec::new();
    let mut taken = vec![false; told.len()];
    for first in 0..told.len() {
        let a = forest.nodes[told[first] as usize];
        for second in first + 1..told.len().min(first + 1 + NEIGHBOURS) {
            let b = forest.nodes[told[second] as usize];
            if b.start_unix_nano.saturating_sub(a.start_unix_nano) > NEAR_NANOS {
                break;
            }
            let ends = [told[first], told[second]].map(|node| forest.ends[node as usize]);
            let near = ends[0].abs_diff(ends[1]) <= NEAR_NANOS.unsigned_abs();
            let scopes_differ = a.scope.is_some() && b.scope.is_some() && a.scope != b.scope;
            if near
                && scopes_differ
                && a.tool.is_some()
                && a.tool == b.tool
                && !taken[first]
                && !taken[second]
            {
                (taken[first], taken[second]) = (true, true);
                joined.push((told[second], told[first]));
            }
        }
    }
    joined
}

/// Joins executions with one call id that different scopes recorded side by side at the same time.
fn seen_side_by_side(forest: &Forest<'_, '_>, kinds: &[Kind], execution_of: &mut [u32]) {
    let mut told: Vec<u32> = (0..forest.len() as u32)
        .filter(|&node| kinds[node as usize] == Kind::ToolCall && execution_of[node as usize] == node)
        .filter(|&node| forest.nodes[node as usize].tool_call_id.is_some())
        .collect();
    told.sort_by_key(|&node| (forest.nodes[node as usize].tool_call_id, node));
    let mut joined: Vec<(u32, u32)> = Vec::new();
    for pair in told.windows(2) {
        let (a, b) = (forest.nodes[pair[0] as usize], forest.nodes[pair[1] as usize]);
        if a.tool_call_id == b.tool_call_id
            && a.scope != b.scope
            && b.start_unix_nano < forest.ends[pair[0] as usize]
        {
            joined.push((pair[1], pair[0]));
        }
    }
    joined.extend(twice_without_id(forest, kinds, execution_of));
    for (gone, into) in joined {
        let into = execution_of[into as usize];
        execution_of[gone as usize] = into;
    }
    // Whatever hung on an execution that was joined hangs on the one that stands.
    for node in 0..execution_of.len() {
        let execution = execution_of[node];
        if execution != NOBODY {
            execution_of[node] = execution_of[execution as usize];
        }
    }
}
