//! Runs made by hand, with answers worked out by hand.

use plimsoll_assembly::{Kind, Outcome, Span, Status, Tokens, UsageSource, assemble, quality};

use crate::make::{T0, chat, refused, silent_chat, span, tokens, tool};

/// The corpus's shape: request, workflow and agents that repeat their calls' usage, parallel tools, a
/// nested agent whose first try is throttled, an embedding. Every column of the run.
#[test]
fn an_agent_run_in_full() {
    let workflow = Span {
        workflow: Some("invoice-reconciliation"),
        tokens: tokens(7_100, 450),
        ..span("w", "r", Kind::Workflow, 0, 1_000)
    };
    let spans = vec![
        Span {
            tenant: Some("acme"),
            tier: Some(1),
            queue_wait_ms: Some(5.0),
            ..span("r", "", Kind::Request, 0, 1_010)
        },
        workflow,
        Span { step: Some("reconciler"), tokens: tokens(7_000, 450), ..span("ag", "w", Kind::Agent, 0, 900) },
        Span { queue_wait_ms: Some(2.0), ..chat("c1", "ag", 10, 110, 2_000, 100) },
        tool("t1", "ag", 120, 170, "match_ledger"),
        tool("t2", "ag", 130, 160, "check_fx"),
        Span { ttft_ms: Some(30.0), streaming: Some(true), ..chat("c2", "ag", 200, 300, 3_000, 150) },
        Span { step: Some("auditor"), tokens: tokens(2_000, 200), ..span("au", "ag", Kind::Agent, 300, 900) },
        refused("x1", "au", 310, 320, 429),
        refused("x2", "au", 400, 410, 529),
        chat("c3", "au", 600, 900, 2_000, 200),
        Span {
            tokens: Tokens { output_tokens: None, ..tokens(100, 0) },
            ..span("e", "w", Kind::Embedding, 910, 930)
        },
    ];
    let got = assemble("run", spans);
    let run = &got.run;
    assert_eq!(run.workflow.as_deref(), Some("invoice-reconciliation"));
    assert_eq!((run.tenant, run.tier, run.service), (Some("acme"), Some(1), Some("agents")));
    assert_eq!((run.outcome, run.complete, run.spans), (Outcome::Ok, true, 12));
    assert_eq!((run.start_time, run.end_time), (T0 / 1_000, Some(T0 / 1_000 + 1_010_000)));
    assert_eq!(run.duration_ms, Some(1_010.0));
    assert_eq!((run.model_calls, run.model_attempts, run.throttled_attempts), (Some(3), Some(5), Some(1)));
    assert_eq!((run.retries, run.tool_calls, run.embedding_calls), (Some(2), Some(2), Some(1)));
    assert_eq!((run.max_parallel_model_calls, run.max_parallel_tools), (Some(1), Some(2)));
    assert_eq!(run.tokens, tokens(7_000, 450));
    assert_eq!((run.embedding_tokens, run.usage_coverage), (Some(100), Some(1.0)));
    // 100 + 100 + 10 + 10 + 300 + 20 of models, 120..170 of tools, the rest of 1,010.
    assert_eq!((run.model_ms, run.tool_ms, run.own_ms), (Some(540.0), Some(50.0), Some(420.0)));
    assert_eq!((run.queue_wait_ms, run.ttft_ms, run.expansion), (Some(7.0), Some(230.0), Some(5.0)));
    let steps: Vec<_> =
        got.model_calls.iter().map(|call| (call.step, call.step_index, call.attempts)).collect();
    assert_eq!(
        steps,
        [
            (Some("reconciler"), Some(1), Some(1)),
            (Some("reconciler"), Some(2), Some(1)),
            (Some("auditor"), Some(3), Some(3)),
            (None, None, Some(1))
        ]
    );
    assert_eq!(got.tool_calls.iter().map(|call| call.step_index).collect::<Vec<_>>(), [Some(1), Some(1)]);
    assert!(got.attempts.iter().all(|attempt| attempt.tier == Some(1)));
}

/// An agent's total stands in, marked, only where nothing below it told.
#[test]
fn totals_stand_in_for_silence() {
    let agent = |tokens| Span { tokens, ..span("a", "", Kind::Agent, 0, 100) };
    let alone = assemble("r", vec![agent(tokens(900, 90))]);
    assert_eq!((alone.run.tokens.input_tokens, alone.run.model_calls), (Some(900), None));
    assert_eq!(
        (alone.model_calls[0].usage_source, alone.model_calls[0].attempts),
        (UsageSource::Aggregate, None)
    );
    assert!(alone.run.quality.contains(&quality::USAGE_AGGREGATE));

    let silent = assemble(
        "r",
        vec![agent(tokens(900, 90)), silent_chat("b", "a", 0, 9), silent_chat("c", "a", 10, 19)],
    );
    assert_eq!((silent.run.tokens.input_tokens, silent.run.model_calls), (Some(900), Some(2)));
    let sources: Vec<_> = silent.model_calls.iter().map(|call| call.usage_source).collect();
    assert_eq!(sources, [UsageSource::Missing, UsageSource::Aggregate]);

    let partly = assemble(
        "r",
        vec![agent(tokens(900, 90)), silent_chat("b", "a", 0, 9), chat("c", "a", 10, 19, 400, 40)],
    );
    assert_eq!((partly.run.tokens.input_tokens, partly.run.known_input_tokens), (None, Some(400)));
}

/// A framework's span lends its usage and its answer's model to the client's span below it.
#[test]
fn wrappers_lend_what_the_inner_call_lacks() {
    let outer = Span {
        response_model: Some("gpt-4.1-2025-04-14"),
        pool: Some("p"),
        ..chat("a", "", 0, 100, 163, 20)
    };
    let got = assemble("r", vec![outer, Span { model: None, ..silent_chat("b", "a", 5, 95) }]);
    let call = &got.model_calls[0];
    assert_eq!((got.run.model_calls, got.run.tokens.input_tokens), (Some(1), Some(163)));
    assert_eq!((call.span_id, call.usage_source), ("b", UsageSource::Reported));
    assert_eq!(
        (call.response_model, call.pool, call.duration_ms),
        (Some("gpt-4.1-2025-04-14"), Some("p"), Some(90.0))
    );
}

/// A tool seen by the framework, the MCP client and the MCP server ran once; a retried one ran twice.
#[test]
fn tools_run_once() {
    let with_id = |id, span| Span { tool_call_id: Some(id), ..span };
    let spans = vec![
        span("r", "", Kind::Agent, 0, 1_000),
        with_id("1", tool("a", "r", 0, 100, "search")),
        with_id("1", tool("b", "a", 5, 95, "search")),
        Span { payload_bytes: Some(512), ..tool("c", "b", 10, 90, "search") },
        with_id("2", tool("d", "r", 200, 300, "search")),
        Span { name: Some("execute_tool (merged)"), ..tool("m", "r", 300, 300, "(merged tools)") },
        tool("o", "r", 400, 500, "ask_auditor"),
        tool("i", "o", 410, 490, "search"),
    ];
    let got = assemble("r", spans);
    let ran: Vec<_> = got.tool_calls.iter().map(|call| (call.span_id, call.payload_bytes)).collect();
    assert_eq!(ran, [("a", Some(512)), ("d", None), ("o", None), ("i", None)]);
}

/// A client that tells a detail of some calls leaves it out of others because it is zero.
#[test]
fn details_left_out_are_zero_where_they_are_told_at_all() {
    let told = |tokens| Span { tokens, ..silent_chat("a", "r", 0, 10) };
    let bare = Tokens { input_tokens: Some(100), output_tokens: Some(10), ..Tokens::default() };
    let with = Tokens {
        cache_read: Some(30),
        cache_write: Some(0),
        input_uncached: Some(70),
        reasoning_tokens: Some(4),
        ..bare
    };
    let never = assemble("r", vec![told(bare), Span { span_id: "b", ..told(bare) }]);
    assert_eq!(
        never.run.tokens,
        Tokens { input_tokens: Some(200), output_tokens: Some(20), ..Tokens::default() }
    );
    let sometimes = assemble("r", vec![told(bare), Span { span_id: "b", ..told(with) }]);
    assert_eq!(sometimes.run.tokens.input_uncached, Some(170));
    assert_eq!((sometimes.run.tokens.cache_read, sometimes.run.tokens.reasoning_tokens), (Some(30), Some(4)));
}

/// Names by precedence; default names of frameworks name nothing.
#[test]
fn workflow_names() {
    let name = |spans| assemble("r", spans).run.workflow.map(|name| name.into_owned());
    let root = |name| Span { name: Some(name), ..span("r", "", Kind::Request, 0, 100) };
    let agent = |id, step| Span { step: Some(step), ..span(id, "r", Kind::Agent, 0, 50) };
    assert_eq!(name(vec![root("POST /x")]).as_deref(), Some("POST /x"));
    assert_eq!(name(vec![root("POST /x"), agent("a", "copilot")]).as_deref(), Some("copilot"));
    assert_eq!(
        name(vec![root("POST /x"), agent("a", "planner"), agent("b", "writer")]).as_deref(),
        Some("POST /x")
    );
    let crew = Span { name: Some("invoices.kickoff"), ..span("w", "r", Kind::Workflow, 0, 50) };
    assert_eq!(name(vec![root("POST /x"), crew]).as_deref(), Some("invoices"));
    let measured = |workflow| Span { workflow: Some(workflow), ..agent("a", "copilot") };
    assert_eq!(name(vec![root("POST /x"), measured("LangGraph")]).as_deref(), Some("copilot"));
    assert_eq!(name(vec![root("POST /x"), measured("claims")]).as_deref(), Some("claims"));
    let ruled = Span { workflow_by_rule: true, ..measured("ruled") };
    assert_eq!(
        name(vec![Span { workflow: Some("own"), ..root("POST /x") }, ruled]).as_deref(),
        Some("ruled")
    );
    assert_eq!(name(vec![chat("a", "", 0, 1, 1, 1)]).as_deref(), Some("agents"));
    assert_eq!(
        name(vec![Span { name: Some("nightly"), ..span("r", "", Kind::Other, 0, 1) }]).as_deref(),
        Some("agents/nightly")
    );
}

/// Several traces of one run: the roots together make its extent, the last to end its outcome.
#[test]
fn one_run_of_several_traces() {
    let of = |trace_id, span| Span { trace_id, ..span };
    let spans = vec![
        of("1", chat("a", "", 0, 100, 10, 1)),
        of("2", refused("a", "", 150, 160, 429)),
        of("3", chat("a", "", 200, 300, 20, 2)),
    ];
    let got = assemble("session", spans);
    assert_eq!((got.run.duration_ms, got.run.outcome, got.run.complete), (Some(300.0), Outcome::Ok, true));
    assert_eq!(
        (got.run.model_calls, got.run.model_attempts, got.run.tokens.input_tokens),
        (Some(2), Some(3), Some(30))
    );
}

/// Nothing in, an empty open run out.
#[test]
fn no_spans() {
    let got = assemble("r", Vec::new());
    assert_eq!((got.run.outcome, got.run.spans, got.run.end_time), (Outcome::Open, 0, None));
}

/// Names that hold an id name nothing; an agent that nobody named leaves the word to the one below.
#[test]
fn names_that_say_nothing() {
    let agent =
        |id, parent, name, step| Span { name: Some(name), step, ..span(id, parent, Kind::Agent, 0, 90) };
    let spans = vec![
        agent("a", "", "agent.5b8efff7-9803-4103-d269-b633813fc60c", Some("Agent workflow")),
        agent("b", "a", "invoke_agent Writer", None),
        chat("c", "b", 1, 80, 100, 10),
    ];
    assert_eq!(assemble("r", spans).run.workflow.as_deref(), Some("Writer"));
}

/// An agent without any model call had its calls go by unseen: their number and tokens are unknown. One that
/// failed before its first call made none.
#[test]
fn calls_not_traced() {
    let agent = span("a", "", Kind::Agent, 0, 90);
    let tool = span("t", "a", Kind::ToolCall, 10, 20);
    let unseen = assemble("r", vec![agent.clone(), tool]).run;
    assert_eq!((unseen.model_calls, unseen.tokens.input_tokens, unseen.tool_calls), (None, None, Some(1)));
    assert_eq!(unseen.quality, [quality::CALLS_NOT_TRACED]);
    let failed = assemble("r", vec![Span { status: Status::Error, ..agent }]).run;
    assert_eq!((failed.model_calls, failed.tokens.input_tokens), (Some(0), Some(0)));
}

/// Tools under a call that shows no further request: a loop under one span, whose requests nobody counted.
#[test]
fn a_loop_under_one_span() {
    let spans = vec![
        span("r", "", Kind::Request, 0, 100),
        Span {
            scope: Some("opentelemetry.instrumentation.google_genai"),
            ..chat("a", "r", 1, 90, 1_733, 207)
        },
        span("t", "a", Kind::ToolCall, 10, 20),
        span("u", "a", Kind::ToolCall, 30, 40),
    ];
    let got = assemble("r", spans);
    assert_eq!((got.run.model_calls, got.run.tokens.input_tokens, got.run.tool_calls), (None, None, Some(2)));
    assert_eq!(got.model_calls[0].usage_source, UsageSource::Estimated);
    assert!(got.run.quality.contains(&quality::CALLS_NOT_TRACED));
}

/// Two instrumentations of one framework show two trees: each call and each tool is one.
#[test]
fn one_framework_instrumented_twice() {
    let [one, two] = ["openinference.instrumentation.langchain", "opentelemetry.instrumentation.langchain"];
    let scoped = |scope, span| Span { scope: Some(scope), tool: Some("fetch"), ..span };
    let spans = vec![
        span("r", "", Kind::Request, 0, 1_000),
        scoped(one, chat("a", "r", 100, 220, 500, 50)),
        scoped(two, chat("b", "r", 99, 221, 500, 50)),
        scoped(one, span("t", "r", Kind::ToolCall, 230, 260)),
        scoped(two, span("u", "r", Kind::ToolCall, 229, 261)),
        scoped(one, span("v", "r", Kind::ToolCall, 231, 259)),
        scoped(two, span("w", "r", Kind::ToolCall, 230, 262)),
    ];
    let run = assemble("r", spans).run;
    assert_eq!((run.model_calls, run.tokens.input_tokens, run.tool_calls), (Some(1), Some(500), Some(2)));
}
