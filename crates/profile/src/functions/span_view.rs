//! Spans as the pure crate `assembly` takes them, borrowed from a struct array of the columns that
//! `sql/jobs/10_assembled.sql` names.
//!
//! Invariant: no text is copied here; a column that the SQL leaves out or gives another type is an
//! error that names it.

use arrow::{
    array::{
        Array, ArrowPrimitiveType, AsArray, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray,
        PrimitiveArray, StringArray, StructArray, TimestampMicrosecondArray,
    },
    datatypes::DataType,
};
use datafusion::common::{Result, exec_err};
use plimsoll_assembly::{Kind, Limits, Span, Status, Tokens};

macro_rules! span_columns {
    ($($name:ident: $array:ty),+ $(,)?) => {
        /// The columns of one batch of spans.
        pub(crate) struct SpanColumns<'a> { $($name: &'a $array),+ }

        impl<'a> SpanColumns<'a> {
            /// Finds every column in a struct array.
            pub(crate) fn of(spans: &'a StructArray) -> Result<Self> {
                Ok(Self { $($name: column::<$array>(spans, stringify!($name))?),+ })
            }
        }
    };
}

span_columns! {
    trace_id: StringArray, span_id: StringArray, parent_span_id: StringArray, kind: StringArray,
    name: StringArray, service: StringArray, start_unix_nano: Int64Array, duration_ms: Float64Array,
    status: StringArray, error_type: StringArray, http_status: Int32Array, provider: StringArray,
    region: StringArray, endpoint: StringArray, model: StringArray, response_model: StringArray,
    service_tier: StringArray, operation: StringArray, workflow: StringArray, workflow_by_rule: StringArray, step: StringArray,
    tenant: StringArray, request_class: StringArray, tier: Int32Array, session_id: StringArray,
    run_key: StringArray,
    response_id: StringArray, scope: StringArray, scope_version: StringArray, dialect: StringArray, account: StringArray, pool: StringArray,
    input_tokens: Int64Array, input_uncached: Int64Array, cache_read: Int64Array,
    cache_write: Int64Array, cache_write_1h: Int64Array, audio_tokens: Int64Array, output_tokens: Int64Array, reasoning_tokens: Int64Array,
    retrieved_tokens: Int64Array, history_tokens: Int64Array, tool_result_tokens: Int64Array,
    max_output_tokens: Int64Array, input_basis: StringArray, ttft_ms: Float64Array,
    queue_wait_ms: Float64Array, stall_ms: Float64Array, streaming: BooleanArray, attempt: Int32Array,
    finish_reason: StringArray, tool: StringArray, tool_call_id: StringArray,
    concurrency_at_dispatch: Int32Array, retries: Int32Array, payload_bytes: Int64Array,
    idempotency_replayed: BooleanArray, degraded: StringArray, outcome: StringArray,
    parked: BooleanArray, resumed_from_step: Int32Array, prompt_version: StringArray,
    limit_requests: Int64Array, remaining_requests: Int64Array, limit_tokens: Int64Array,
    remaining_tokens: Int64Array, limit_output_tokens: Int64Array,
    remaining_output_tokens: Int64Array, retry_after_ms: Float64Array, weight: Float64Array,
    quality: ListArray, signal: StringArray, received_at: TimestampMicrosecondArray,
}

fn column<'a, T: Array + 'static>(spans: &'a StructArray, name: &str) -> Result<&'a T> {
    let found = spans.column_by_name(name);
    match found.map(|array| (array.as_any().downcast_ref::<T>(), array.data_type())) {
        Some((Some(array), _)) => Ok(array),
        Some((None, other)) => exec_err!("assemble cannot take {name} as {other}"),
        None => exec_err!("assemble wants a span with a field {name}"),
    }
}

fn text(array: &StringArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

fn number<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

fn truth(array: &BooleanArray, row: usize) -> Option<bool> {
    array.is_valid(row).then(|| array.value(row))
}

fn codes(array: &ListArray, row: usize) -> Vec<&str> {
    if array.is_null(row) {
        return Vec::new();
    }
    let offsets = array.value_offsets();
    let (Ok(from), Ok(to)) = (usize::try_from(offsets[row]), usize::try_from(offsets[row + 1])) else {
        return Vec::new();
    };
    match array.values().data_type() {
        DataType::Utf8 => (from..to).filter_map(|at| text(array.values().as_string(), at)).collect(),
        _ => Vec::new(),
    }
}

impl<'a> SpanColumns<'a> {
    /// The span in `row`.
    pub(crate) fn span(&self, row: usize) -> Span<'a> {
        let rule = text(self.workflow_by_rule, row);
        Span {
            trace_id: text(self.trace_id, row).unwrap_or_default(),
            span_id: text(self.span_id, row).unwrap_or_default(),
            parent_span_id: text(self.parent_span_id, row),
            kind: text(self.kind, row).map(Kind::parse).unwrap_or_default(),
            name: text(self.name, row),
            service: text(self.service, row),
            start_unix_nano: number(self.start_unix_nano, row).unwrap_or_default(),
            duration_ms: number(self.duration_ms, row),
            status: text(self.status, row).map(Status::parse).unwrap_or_default(),
            error_type: text(self.error_type, row),
            http_status: number(self.http_status, row),
            provider: text(self.provider, row),
            region: text(self.region, row),
            endpoint: text(self.endpoint, row),
            model: text(self.model, row),
            response_model: text(self.response_model, row),
            service_tier: text(self.service_tier, row),
            operation: text(self.operation, row),
            workflow: rule.or_else(|| text(self.workflow, row)),
            workflow_by_rule: rule.is_some(),
            step: text(self.step, row),
            tenant: text(self.tenant, row),
            request_class: text(self.request_class, row),
            tier: number(self.tier, row),
            session_id: text(self.session_id, row),
            run_key: text(self.run_key, row),
            response_id: text(self.response_id, row),
            scope: text(self.scope, row),
            scope_version: text(self.scope_version, row),
            dialect: text(self.dialect, row),
            account: text(self.account, row),
            pool: text(self.pool, row),
            tokens: Tokens {
                input_tokens: number(self.input_tokens, row),
                input_uncached: number(self.input_uncached, row),
                cache_read: number(self.cache_read, row),
                cache_write: number(self.cache_write, row),
                output_tokens: number(self.output_tokens, row),
                reasoning_tokens: number(self.reasoning_tokens, row),
            },
            cache_write_1h: number(self.cache_write_1h, row),
            audio_tokens: number(self.audio_tokens, row),
            retrieved_tokens: number(self.retrieved_tokens, row),
            history_tokens: number(self.history_tokens, row),
            tool_result_tokens: number(self.tool_result_tokens, row),
            max_output_tokens: number(self.max_output_tokens, row),
            input_basis: text(self.input_basis, row),
            ttft_ms: number(self.ttft_ms, row),
            queue_wait_ms: number(self.queue_wait_ms, row),
            stall_ms: number(self.stall_ms, row),
            streaming: truth(self.streaming, row),
            attempt: number(self.attempt, row),
            finish_reason: text(self.finish_reason, row),
            tool: text(self.tool, row),
            tool_call_id: text(self.tool_call_id, row),
            concurrency_at_dispatch: number(self.concurrency_at_dispatch, row),
            retries: number(self.retries, row),
            payload_bytes: number(self.payload_bytes, row),
            idempotency_replayed: truth(self.idempotency_replayed, row),
            degraded: text(self.degraded, row),
            outcome: text(self.outcome, row),
            parked: truth(self.parked, row),
            resumed_from_step: number(self.resumed_from_step, row),
            prompt_version: text(self.prompt_version, row),
            limits: Limits {
                limit_requests: number(self.limit_requests, row),
                remaining_requests: number(self.remaining_requests, row),
                limit_tokens: number(self.limit_tokens, row),
                remaining_tokens: number(self.remaining_tokens, row),
                limit_output_tokens: number(self.limit_output_tokens, row),
                remaining_output_tokens: number(self.remaining_output_tokens, row),
                retry_after_ms: number(self.retry_after_ms, row),
            },
            weight: number(self.weight, row).unwrap_or(1.0),
            quality: codes(self.quality, row),
            from_log: text(self.signal, row) == Some("log"),
            received_at: number(self.received_at, row).unwrap_or_default(),
        }
    }
}
