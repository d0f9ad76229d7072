//! The kind of a span as counting sees it.
//!
//! The dialect tables (`plimsoll-otlp`) have classed each span by itself; what is corrected here are
//! the spans that look like a call and are none. Each rule is named, with the dialect that needs it.

use crate::forest::Forest;
use crate::kinds::Kind;
use crate::quality::{LIFECYCLE_SPAN, LOGS_PREFERRED, PENDING_SPAN};
use crate::span::Span;

/// Kinds of a run's spans, by node.
///
/// Where logs tell of model calls (or of tools), spans that tell of them, too, are no calls: one source
/// counts, and of these the logs are the fuller. Source: `facts/dialects.md` 2, rule 6.
pub(crate) fn kinds_of<'a>(forest: &Forest<'_, 'a>, codes: &mut Vec<&'a str>) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = forest.nodes.iter().map(|span| kind_of(span)).collect();
    if !forest.nodes.iter().any(|span| span.from_log) {
        return kinds;
    }
    let same: [fn(Kind) -> bool; 2] = [Kind::is_model, |kind| kind == Kind::ToolCall];
    for same in same {
        let told = forest.nodes.iter().zip(&kinds);
        if !told.clone().any(|(span, kind)| span.from_log && same(*kind)) {
            continue;
        }
        for (span, kind) in forest.nodes.iter().zip(&mut kinds) {
            if !span.from_log && same(*kind) {
                *kind = Kind::Other;
                codes.push(LOGS_PREFERRED);
            }
        }
    }
    kinds
}

/// Kind of a span, or `Other` where it only looks like a call.
pub(crate) fn kind_of(span: &Span<'_>) -> Kind {
    if shadow(span)
        || (span.kind == Kind::ToolCall && (batch_of_tools(span) || handoff(span)))
        || (span.operation == Some("fetch_response"))
        || (span.operation == Some("create_agent"))
    {
        Kind::Other
    } else {
        span.kind
    }
}

/// A record of another span's life: it tells of no call, and its counts are not counts.
pub(crate) fn shadow(span: &Span<'_>) -> bool {
    (!span.quality.is_empty() && (span.has(PENDING_SPAN) || span.has(LIFECYCLE_SPAN)))
        || span.name.is_some_and(life_event)
}

/// BeeAI writes a span `x.start-N` for a call, then `x.success-N` and `x.finish-N` elsewhere in the tree.
fn life_event(name: &str) -> bool {
    let Some((stem, number)) = name.rsplit_once('-') else {
        return false;
    };
    let event = stem.rsplit_once('.').map(|(_, event)| event);
    matches!(event, Some("success" | "finish"))
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
}

/// Google ADK and Pydantic AI wrap tools that run together into one more tool span.
fn batch_of_tools(span: &Span<'_>) -> bool {
    let of = |name: &str| name == "(merged tools)" || name == "(merged)";
    span.tool.is_some_and(of)
        || span.name.is_some_and(|name| {
            name == "execute_tool (merged)"
                || name
                    .strip_prefix("running ")
                    .and_then(|rest| rest.strip_suffix(" tools").or_else(|| rest.strip_suffix(" tool")))
                    .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
        })
}

/// OpenAI Agents hands over to another agent by what OpenInference calls a tool.
fn handoff(span: &Span<'_>) -> bool {
    span.operation == Some("handoff")
        || (span.scope.is_some_and(|scope| scope.contains("agents"))
            && span.name.is_some_and(|name| name.starts_with("handoff to ") || name.starts_with("Handoff: ")))
}

/// Whether a scope instruments a framework, whose calls go out through a provider's client library
/// that another scope may instrument too.
pub(crate) fn framework_scope(scope: &str) -> bool {
    const WORDS: [&str; 24] = [
        "langchain",
        "langgraph",
        "llama_index",
        "llamaindex",
        "llama-index",
        "crewai",
        "autogen",
        "agno",
        "smolagents",
        "haystack",
        "dspy",
        "pydantic",
        "agents",
        "semantic_kernel",
        "SemanticKernel",
        "vertex.agent",
        "google_adk",
        "genkit",
        "koog",
        "livekit",
        "spring",
        "beeai",
        "mastra",
        "litellm",
    ];
    scope == "ai" || WORDS.iter().any(|word| scope.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool<'a>(name: &'a str, scope: &'a str) -> Span<'a> {
        Span { kind: Kind::ToolCall, name: Some(name), scope: Some(scope), ..Span::default() }
    }

    /// Spans that look like calls and are none: batch wrappers, handoffs, life events, pending records.
    #[test]
    fn what_only_looks_like_a_call() {
        for (name, scope) in [
            ("execute_tool (merged)", "gcp.vertex.agent"),
            ("running 3 tools", "pydantic-ai"),
            ("handoff to Auditor", "openinference.instrumentation.openai_agents"),
            ("tool.search.wikipedia.finish-12", "beeai"),
        ] {
            assert_eq!(kind_of(&tool(name, scope)), Kind::Other, "{name}");
        }
        for (name, scope) in [
            ("running late", "app"),
            ("handoff to Auditor", "app"),
            ("tool.search.wikipedia.start-12", "beeai"),
            ("execute_tool finish-12", "app"),
        ] {
            assert_eq!(kind_of(&tool(name, scope)), Kind::ToolCall, "{name}");
        }
        let pending = Span { kind: Kind::ModelCall, quality: vec![PENDING_SPAN], ..Span::default() };
        assert_eq!(kind_of(&pending), Kind::Other);
    }
}
