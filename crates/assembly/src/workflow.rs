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
const DEFAULTS: [&str; 24] = [
    "LangGraph",
    "RunnableSequence",
    "AgentExecutor",
    "CompiledStateGraph",
    "Agent workflow",
    "Agent Workflow",
    "agent run",
    "Agent run",
    "Agent",
    "agent",
    "invoke_agent",
    "invoke_workflow",
    "ai.generateText",
    "ai.streamText",
    "chat",
    "call_llm",
    "litellm_request",
    "spring_ai chat_client",
    "enter_ai_application_system",
    "invocation",
    "agent_session",
    "RunnableLambda",
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
        // One that nobody named leaves the word to those below it.
        let name = agent_name(forest.nodes[node]).filter(|_| kinds[node] == Kind::Agent);
        below_agent[node] = below || name.is_some();
        if name.is_some() && !below {
            if only.is_some() && name != only {
                return None;
            }
            only = name;
        }
    }
    only
}

fn agent_name<'a>(span: &Span<'a>) -> Option<&'a str> {
    span.step.and_then(meaningful).or_else(|| span.name.and_then(bare))
}

/// A name that says something: no framework's default, and no id of a single run.
fn meaningful(name: &str) -> Option<&str> {
    let default = DEFAULTS.contains(&name) || name.starts_with("unknown_service");
    (!default && !holds_uuid(name)).then_some(name)
}

/// Whether a UUID stands in the name: Koog and Microsoft's Agent Framework put one where a name belongs.
fn holds_uuid(name: &str) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let uuid = |bytes: &[u8]| {
        bytes.iter().enumerate().all(|(i, byte)| match DASHES.contains(&i) {
            true => *byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
    };
    name.as_bytes().windows(36).any(uuid)
}

/// A span name without what the conventions put around the workflow's or agent's own.
fn bare(name: &str) -> Option<&str> {
    let name =
        name.strip_prefix("invoke_workflow ").or_else(|| name.strip_prefix("invoke_agent ")).unwrap_or(name);
    let name =
        [".kickoff", ".workflow", ".agent"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    meaningful(name)
}
