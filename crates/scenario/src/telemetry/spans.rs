//! Spans of the agent framework: the run, its agent, its tools and its searches.

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::attributes::Attributes;
use crate::sim::{Execution, RunFacts, Totals};

/// Sampled, and known not to come from a remote parent.
const FLAGS: u32 = 0x101;

/// A search that a run made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retrieval {
    pub(crate) span: [u8; 8],
    /// Place before the generations.
    pub(crate) step: usize,
    pub(crate) since: u64,
    pub(crate) chunks: u64,
    pub(crate) tokens: u64,
}

/// A span of a run; everything but its name and attributes.
pub(super) fn span(
    run: &RunFacts,
    id: [u8; 8],
    parent: &[u8],
    kind: SpanKind,
    (start, end): (u64, u64),
    failed: bool,
) -> Span {
    let status = failed.then(|| Status { code: StatusCode::Error as i32, ..Status::default() });
    Span {
        trace_id: run.trace.to_vec(),
        span_id: id.to_vec(),
        parent_span_id: parent.to_vec(),
        flags: FLAGS,
        kind: kind as i32,
        start_time_unix_nano: start,
        end_time_unix_nano: end,
        status,
        ..Span::default()
    }
}

/// Milliseconds, to the microsecond.
pub(super) fn millis(nanos: u64) -> f64 {
    (nanos / 1000) as f64 / 1000.0
}

/// The run as a whole.
pub(crate) fn root(run: &RunFacts, end: u64) -> Span {
    let workflow = &run.spec;
    let mut span = span(run, run.root, &[], SpanKind::Internal, (run.started, end), run.failure.is_some());
    span.name = format!("invoke_workflow {}", workflow.name);
    let mut attributes = Attributes::with_capacity(28);
    attributes.text("gen_ai.operation.name", "invoke_workflow");
    attributes.text("gen_ai.workflow.name", &workflow.name);
    if let Some((user, conversation)) = run.user {
        attributes.text("user.id", format!("customer-{user:05}"));
        attributes.text("gen_ai.conversation.id", format!("conv-{conversation:016x}"));
    }
    attributes.text("plimsoll.request_class", &workflow.classes[run.class].name);
    attributes.text("plimsoll.tenant", &workflow.tenants[run.tenant].name);
    attributes.whole("plimsoll.tier", workflow.tier);
    attributes.text("plimsoll.admission", if run.reduced { "reduced" } else { "full" });
    attributes.real("plimsoll.queue_wait_ms", millis(run.started - run.queued));
    attributes.truth("plimsoll.user.waiting", workflow.user_waiting);
    attributes.text("plimsoll.prompt_version", run.prompt_version());
    if !run.degraded.is_empty() {
        attributes.text("plimsoll.degraded", run.degraded.join(","));
    }
    attributes.truth("plimsoll.run.parked", run.parked.is_some());
    if let Some(parked) = run.parked {
        attributes.real("plimsoll.run.parked_ms", millis(parked));
    }
    if let Some(step) = run.resumed_from_step {
        attributes.whole("plimsoll.run.resumed_from_step", step);
    }
    attributes.whole("plimsoll.model_calls", run.totals.model_calls);
    attributes.whole("plimsoll.tool_calls", run.totals.tool_calls);
    attributes.whole("plimsoll.retries.model", run.totals.model_retries);
    attributes.whole("plimsoll.retries.tool", run.totals.tool_retries);
    if run.totals.retrieved > 0 {
        attributes.whole("plimsoll.retrieved_tokens", run.totals.retrieved);
    }
    match &run.failure {
        Some(failure) => {
            attributes.text("error.type", failure);
            attributes.text("plimsoll.outcome", "failed");
        }
        None => attributes.text("plimsoll.outcome", &workflow.outcomes[run.outcome].name),
    }
    usage(&mut attributes, &run.totals);
    span.attributes = attributes.into_inner();
    span
}

/// The agent's turn: from the start or a resumption to the end or to parking.
pub(crate) fn agent(run: &RunFacts, end: u64, parks: bool) -> Span {
    let workflow = &run.spec;
    let mut span =
        span(run, run.agent, &run.root, SpanKind::Internal, (run.agent_started, end), run.failure.is_some());
    span.name = format!("invoke_agent {}", workflow.agent);
    let mut attributes = Attributes::with_capacity(10);
    attributes.text("gen_ai.operation.name", "invoke_agent");
    attributes.text("gen_ai.agent.name", &workflow.agent);
    attributes.text("gen_ai.agent.version", &workflow.service_version);
    if parks {
        attributes.truth("plimsoll.run.parked", true);
    }
    if let Some(failure) = &run.failure {
        attributes.text("error.type", failure);
    }
    // As frameworks do: the sum of the calls below, which whoever counts must not count again.
    usage(&mut attributes, &run.agent_totals);
    span.attributes = attributes.into_inner();
    span
}

fn usage(attributes: &mut Attributes, totals: &Totals) {
    if totals.known_input > 0 {
        attributes.whole("gen_ai.usage.input_tokens", totals.known_input);
        attributes.whole("gen_ai.usage.output_tokens", totals.known_output);
    }
}

/// A search for context.
pub(crate) fn retrieval(run: &RunFacts, found: &Retrieval, end: u64) -> Span {
    let workflow = &run.spec;
    let source = &workflow.before[found.step].step;
    let mut span = span(run, found.span, &run.agent, SpanKind::Client, (found.since, end), false);
    span.name = format!("retrieval {source}");
    let mut attributes = Attributes::with_capacity(5);
    attributes.text("gen_ai.operation.name", "retrieval");
    attributes.text("gen_ai.data_source.id", source);
    attributes.text("plimsoll.step", source);
    attributes.whole("plimsoll.retrieved_chunks", found.chunks);
    attributes.whole("plimsoll.retrieved_tokens", found.tokens);
    span.attributes = attributes.into_inner();
    span
}

/// A tool that was executed.
pub(crate) fn tool(run: &RunFacts, execution: &Execution) -> Option<Span> {
    let workflow = &run.spec;
    let tools = workflow.tools.as_ref()?;
    let posts = execution.tool.is_none();
    let name = execution
        .tool
        .map_or_else(|| tools.post.as_deref().unwrap_or_default(), |tool| tools.names[tool].as_str());
    let mut span =
        span(run, execution.span, &run.agent, SpanKind::Internal, (execution.start, execution.end), false);
    span.name = format!("execute_tool {name}");
    let mut attributes = Attributes::with_capacity(9);
    attributes.text("gen_ai.operation.name", "execute_tool");
    attributes.text("gen_ai.tool.name", name);
    attributes.text("gen_ai.tool.type", "function");
    attributes.text("gen_ai.tool.call.id", format!("call_{:016x}", u64::from_be_bytes(execution.span)));
    attributes.text("gen_ai.agent.name", &workflow.agent);
    attributes.whole("plimsoll.tool.concurrency_at_dispatch", execution.concurrency);
    attributes.whole("plimsoll.retries", execution.retries);
    attributes.whole("plimsoll.tool.payload_bytes", execution.payload_bytes);
    if posts {
        attributes.truth("plimsoll.tool.idempotency_replayed", execution.replayed);
    }
    span.attributes = attributes.into_inner();
    Some(span)
}
