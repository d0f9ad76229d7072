//! The workflow that a run belongs to.
//!
//! Precedence: a match rule's name, the outermost measured name, the outermost workflow span, the
//! outermost agent where there is one, the request's route, service and root span. Default names of
//! frameworks name nothing. Source: `facts/dialects.md` 1.1.

use std::borrow::Cow;

use crate::forest::Forest;
use crate::kinds::Kind;
use crate::span::Span;

/// Names that frameworks give when nobody names anything.
const DEFAULTS: [&str; 16] = [
    "LangGraph",
    "RunnableSequence",
    "AgentExecutor",
    "CompiledStateGraph",
    "Agent workflow",
    "Agent Workflow",
    "agent run",
    "invoke_agent",
    "invoke_workflow",
    "ai.generateText",
    "ai.streamText",
    "chat",
    "call_llm",
    "litellm_request",
    "unknown",
    "",
];

/// Names the run; `root` is its root, where that has been seen.
pub(crate) fn name_of<'a>(
    forest: &Forest<'_, 'a>,
    kinds: &[Kind],
    root: Option<usize>,
) -> Option<Cow<'a, str>> {
    let outermost = || root.into_iter().chain(forest.top_down.iter().map(|&node| node as usize));
    let span = |node: usize| forest.nodes[node];
    let by_rule = || outermost().map(span).find(|span| span.workflow_by_rule).and_then(|span| span.workflow);
    let measured = || outermost().find_map(|node| span(node).workflow.and_then(meaningful));
    let workflow_span = || {
        outermost()
            .filter(|&node| kinds[node] == Kind::Workflow)
            .find_map(|node| span(node).name.and_then(bare))
    };
    if let Some(name) =
        by_rule().or_else(measured).or_else(workflow_span).or_else(|| only_agent(forest, kinds))
    {
        return Some(Cow::Borrowed(name));
    }
    let root_name = root.and_then(|root| span(root).name).and_then(meaningful);
    if let (Some(root), Some(route)) = (root, root_name)
        && kinds[root] == Kind::Request
    {
        return Some(Cow::Borrowed(route));
    }
    let service =
        outermost().find_map(|node| span(node).service).filter(|name| !name.starts_with("unknown_service"));
    match (service, root_name.filter(|_| root.is_none_or(|root| !kinds[root].is_model()))) {
        (Some(service), Some(root_name)) => Some(Cow::Owned(format!("{service}/{root_name}"))),
        (Some(service), None) => Some(Cow::Borrowed(service)),
        (None, root_name) => root_name.map(Cow::Borrowed),
    }
}

/// The agent above all others; `None` where several stand side by side, as the steps of a pipeline.
fn only_agent<'a>(forest: &Forest<'_, 'a>, kinds: &[Kind]) -> Option<&'a str> {
    if !kinds.contains(&Kind::Agent) {
        return None;
    }
    let mut below_agent = vec![false; forest.len() + 1];
    let mut only = None;
    for &node in &forest.top_down {
        let node = node as usize;
        let below = below_agent[forest.parents[node] as usize];
        below_agent[node] = below || kinds[node] == Kind::Agent;
        if kinds[node] == Kind::Agent && !below {
            let name = agent_name(forest.nodes[node]);
            if only.is_some() && name != only {
                return None;
            }
            only = only.or(name);
        }
    }
    only
}

fn agent_name<'a>(span: &Span<'a>) -> Option<&'a str> {
    span.step.and_then(meaningful).or_else(|| span.name.and_then(bare))
}

/// A name that says something.
fn meaningful(name: &str) -> Option<&str> {
    (!DEFAULTS.contains(&name) && !name.starts_with("unknown_service")).then_some(name)
}

/// A span name without what the conventions put around the workflow's or agent's own.
fn bare(name: &str) -> Option<&str> {
    let name =
        name.strip_prefix("invoke_workflow ").or_else(|| name.strip_prefix("invoke_agent ")).unwrap_or(name);
    let name =
        [".kickoff", ".workflow", ".agent"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    meaningful(name)
}
