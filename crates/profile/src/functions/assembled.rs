//! Assembled runs as Arrow: the struct that `assemble` gives back to SQL.
//!
//! Field names are the columns of `schemas/tables/{runs,model_calls,attempts,tool_calls}.toml`; each
//! row type is written by one function, and the Arrow type is read off an empty row written by it,
//! so that names, types and values cannot drift apart.

use std::sync::Arc;

use arrow::{
    array::{
        ArrayRef, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListArray, ListBuilder,
        StringBuilder, StructArray, TimestampMicrosecondBuilder,
    },
    buffer::OffsetBuffer,
    datatypes::{DataType, Field, Fields},
};
use datafusion::common::Result;
use plimsoll_assembly::{Assembled, Attempt, Limits, ModelCall, RetryLayer, Run, Tokens, ToolCall};

use super::time::instant;

/// The type of a group's assembled runs.
pub(super) fn data_type() -> DataType {
    DataType::Struct(AssembledBuilder::default().fields())
}

/// Collects assembled runs.
#[derive(Default)]
pub(super) struct AssembledBuilder {
    runs: Rows,
    model_calls: Rows,
    attempts: Rows,
    tool_calls: Rows,
    lengths: [Vec<usize>; 4],
}

impl AssembledBuilder {
    /// Adds the runs of one group.
    pub(super) fn push(&mut self, group: &[Assembled<'_>]) {
        let mut lengths = [group.len(), 0, 0, 0];
        for assembled in group {
            write_run(&mut self.runs, &assembled.run);
            for call in &assembled.model_calls {
                write_model_call(&mut self.model_calls, call);
            }
            for attempt in &assembled.attempts {
                write_attempt(&mut self.attempts, attempt);
            }
            for call in &assembled.tool_calls {
                write_tool_call(&mut self.tool_calls, call);
            }
            lengths[1] += assembled.model_calls.len();
            lengths[2] += assembled.attempts.len();
            lengths[3] += assembled.tool_calls.len();
        }
        for (all, length) in self.lengths.iter_mut().zip(lengths) {
            all.push(length);
        }
    }

    fn fields(&self) -> Fields {
        let list = |row: Fields| DataType::List(Arc::new(Field::new_list_field(DataType::Struct(row), true)));
        Fields::from(vec![
            Field::new("runs", list(row_type(write_run)), true),
            Field::new("model_calls", list(row_type(write_model_call)), true),
            Field::new("attempts", list(row_type(write_attempt)), true),
            Field::new("tool_calls", list(row_type(write_tool_call)), true),
        ])
    }

    /// All groups added, as one struct array of [`data_type`].
    pub(super) fn finish(self) -> Result<StructArray> {
        let fields = self.fields();
        let [runs, model_calls, attempts, tool_calls] = self.lengths;
        let columns: Vec<ArrayRef> = vec![
            list(self.runs.finish(row_type(write_run))?, runs)?,
            list(self.model_calls.finish(row_type(write_model_call))?, model_calls)?,
            list(self.attempts.finish(row_type(write_attempt))?, attempts)?,
            list(self.tool_calls.finish(row_type(write_tool_call))?, tool_calls)?,
        ];
        Ok(StructArray::try_new(fields, columns, None)?)
    }
}

fn list(rows: StructArray, lengths: Vec<usize>) -> Result<ArrayRef> {
    let field = Arc::new(Field::new_list_field(rows_type(&rows), true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(field, offsets, Arc::new(rows), None)?))
}

fn rows_type(rows: &StructArray) -> DataType {
    DataType::Struct(rows.fields().clone())
}

fn row_type<T: Default>(write: impl Fn(&mut Rows, &T)) -> Fields {
    let mut rows = Rows::default();
    write(&mut rows, &T::default());
    Fields::from(rows.fields)
}

/// Columns under construction. The first row makes the builders; every row writes all columns in
/// the same order.
#[derive(Default)]
struct Rows {
    fields: Vec<Field>,
    builders: Vec<Builder>,
    next: usize,
    rows: usize,
}

enum Builder {
    Text(StringBuilder),
    Long(Int64Builder),
    Int(Int32Builder),
    Double(Float64Builder),
    Truth(BooleanBuilder),
    Instant(TimestampMicrosecondBuilder),
    Codes(ListBuilder<StringBuilder>),
}

macro_rules! column {
    ($method:ident, $variant:ident, $value:ty, $data_type:expr, $builder:expr) => {
        fn $method(&mut self, name: &'static str, value: Option<$value>) {
            if self.rows == 0 {
                self.fields.push(Field::new(name, $data_type, true));
                self.builders.push(Builder::$variant($builder));
            }
            if let Some(Builder::$variant(builder)) = self.builders.get_mut(self.next) {
                builder.append_option(value);
            }
            self.next += 1;
        }
    };
}

impl Rows {
    column!(text, Text, &str, DataType::Utf8, StringBuilder::new());
    column!(long, Long, i64, DataType::Int64, Int64Builder::new());
    column!(int, Int, i32, DataType::Int32, Int32Builder::new());
    column!(double, Double, f64, DataType::Float64, Float64Builder::new());
    column!(truth, Truth, bool, DataType::Boolean, BooleanBuilder::new());
    column!(instant, Instant, i64, instant(), TimestampMicrosecondBuilder::new().with_timezone("UTC"));

    fn codes(&mut self, name: &'static str, values: &[&str]) {
        let item = Field::new("element", DataType::Utf8, true);
        if self.rows == 0 {
            self.fields.push(Field::new_list(name, item.clone(), true));
            let builder = ListBuilder::new(StringBuilder::new()).with_field(item);
            self.builders.push(Builder::Codes(builder));
        }
        if let Some(Builder::Codes(builder)) = self.builders.get_mut(self.next) {
            for value in values {
                builder.values().append_value(value);
            }
            builder.append(true);
        }
        self.next += 1;
    }

    fn end(&mut self) {
        self.next = 0;
        self.rows += 1;
    }

    fn finish(self, fields: Fields) -> Result<StructArray> {
        if self.rows == 0 {
            return Ok(StructArray::new_null(fields, 0));
        }
        let columns = self.builders.into_iter().map(Builder::finish).collect();
        Ok(StructArray::try_new(fields, columns, None)?)
    }

    fn tokens(&mut self, tokens: &Tokens) {
        self.long("input_tokens", tokens.input_tokens);
        self.long("input_uncached", tokens.input_uncached);
        self.long("cache_read", tokens.cache_read);
        self.long("cache_write", tokens.cache_write);
        self.long("output_tokens", tokens.output_tokens);
        self.long("reasoning_tokens", tokens.reasoning_tokens);
    }

    fn limits(&mut self, limits: &Limits) {
        self.long("limit_requests", limits.limit_requests);
        self.long("remaining_requests", limits.remaining_requests);
        self.long("limit_tokens", limits.limit_tokens);
        self.long("remaining_tokens", limits.remaining_tokens);
        self.long("limit_output_tokens", limits.limit_output_tokens);
        self.long("remaining_output_tokens", limits.remaining_output_tokens);
        self.double("retry_after_ms", limits.retry_after_ms);
    }
}

impl Builder {
    fn finish(self) -> ArrayRef {
        match self {
            Self::Text(mut b) => Arc::new(b.finish()),
            Self::Long(mut b) => Arc::new(b.finish()),
            Self::Int(mut b) => Arc::new(b.finish()),
            Self::Double(mut b) => Arc::new(b.finish()),
            Self::Truth(mut b) => Arc::new(b.finish()),
            Self::Instant(mut b) => Arc::new(b.finish()),
            Self::Codes(mut b) => Arc::new(b.finish()),
        }
    }
}

fn write_run(rows: &mut Rows, run: &Run<'_>) {
    rows.text("run_id", Some(run.run_id));
    rows.codes("trace_ids", &run.trace_ids);
    rows.text("workflow", run.workflow.as_deref());
    rows.text("service", run.service);
    rows.text("tenant", run.tenant);
    rows.text("request_class", run.request_class);
    rows.int("tier", run.tier);
    rows.instant("start_time", Some(run.start_time));
    rows.instant("end_time", run.end_time);
    rows.double("duration_ms", run.duration_ms);
    rows.text("outcome", Some(run.outcome.as_str()));
    rows.text("business_outcome", run.business_outcome);
    rows.long("model_calls", run.model_calls);
    rows.long("model_attempts", run.model_attempts);
    rows.long("throttled_attempts", run.throttled_attempts);
    rows.long("retries", run.retries);
    rows.long("retries_after_timeout", run.retries_after_timeout);
    rows.long("tool_calls", run.tool_calls);
    rows.long("max_parallel_model_calls", run.max_parallel_model_calls);
    rows.long("max_parallel_tools", run.max_parallel_tools);
    rows.tokens(&run.tokens);
    rows.long("embedding_calls", run.embedding_calls);
    rows.long("embedding_tokens", run.embedding_tokens);
    rows.long("known_input_tokens", run.known_input_tokens);
    rows.long("known_output_tokens", run.known_output_tokens);
    rows.long("retrieved_tokens", run.retrieved_tokens);
    rows.double("ttft_ms", run.ttft_ms);
    rows.double("model_ms", run.model_ms);
    rows.double("tool_ms", run.tool_ms);
    rows.double("queue_wait_ms", run.queue_wait_ms);
    rows.double("own_ms", run.own_ms);
    rows.double("critical_model_ms", run.critical_model_ms);
    rows.double("critical_tool_ms", run.critical_tool_ms);
    rows.double("stall_ms", run.stall_ms);
    rows.double("input_growth", run.input_growth);
    rows.double("expansion", run.expansion);
    rows.double("usage_coverage", run.usage_coverage);
    rows.truth("complete", Some(run.complete));
    rows.text("degraded", run.degraded.as_deref());
    rows.truth("parked", run.parked);
    rows.int("resumed_from_step", run.resumed_from_step);
    rows.text("model_version", run.model_version);
    rows.text("prompt_version", run.prompt_version);
    rows.double("weight", Some(run.weight));
    rows.long("spans", Some(run.spans));
    rows.codes("quality", &run.quality);
    rows.instant("first_received", Some(run.first_received));
    rows.instant("last_received", Some(run.last_received));
    rows.end();
}

fn write_model_call(rows: &mut Rows, call: &ModelCall<'_>) {
    rows.text("run_id", Some(call.run_id));
    rows.instant("run_start_time", Some(call.run_start_time));
    rows.text("span_id", Some(call.span_id));
    rows.text("workflow", call.workflow.as_deref());
    rows.text("step", call.step);
    rows.text("service", call.service);
    rows.text("dialect", call.dialect);
    rows.text("scope", call.scope);
    rows.text("scope_version", call.scope_version);
    rows.long("step_index", call.step_index);
    rows.text("account", call.account);
    rows.text("region", call.region);
    rows.text("pool", call.pool);
    rows.text("provider", call.provider);
    rows.text("endpoint", call.endpoint);
    rows.text("model", call.model);
    rows.text("response_model", call.response_model);
    rows.text("operation", call.operation);
    rows.text("kind", Some(call.kind.as_str()));
    rows.instant("start_time", Some(call.start_time));
    rows.double("duration_ms", call.duration_ms);
    rows.double("ttft_ms", call.ttft_ms);
    rows.double("queue_wait_ms", call.queue_wait_ms);
    rows.long("attempts", call.attempts);
    rows.text("status", Some(call.status.as_str()));
    rows.int("http_status", call.http_status);
    rows.text("error_type", call.error_type);
    rows.text("finish_reason", call.finish_reason);
    rows.truth("streaming", call.streaming);
    rows.double("stall_ms", call.stall_ms);
    rows.double("output_tokens_per_s", call.output_tokens_per_s);
    rows.tokens(&call.tokens);
    rows.long("retrieved_tokens", call.retrieved_tokens);
    rows.long("history_tokens", call.history_tokens);
    rows.long("tool_result_tokens", call.tool_result_tokens);
    rows.long("max_output_tokens", call.max_output_tokens);
    rows.text("prompt_version", call.prompt_version);
    rows.text("usage_source", Some(call.usage_source.as_str()));
    rows.text("input_basis", call.input_basis);
    rows.double("weight", Some(call.weight));
    rows.end();
}

fn write_attempt(rows: &mut Rows, attempt: &Attempt<'_>) {
    rows.text("run_id", Some(attempt.run_id));
    rows.instant("run_start_time", Some(attempt.run_start_time));
    rows.text("span_id", Some(attempt.span_id));
    rows.long("attempt", Some(attempt.attempt));
    rows.text("operation_span_id", Some(attempt.operation_span_id));
    rows.text("workflow", attempt.workflow.as_deref());
    rows.int("tier", attempt.tier);
    rows.text("account", attempt.account);
    rows.text("region", attempt.region);
    rows.text("pool", attempt.pool);
    rows.text("service_tier", attempt.service_tier);
    rows.text("kind", Some(attempt.kind.as_str()));
    rows.instant("start_time", Some(attempt.start_time));
    rows.double("duration_ms", attempt.duration_ms);
    rows.int("http_status", attempt.http_status);
    rows.text("error_type", attempt.error_type);
    rows.text("layer", attempt.layer.map(RetryLayer::as_str));
    rows.text("after", attempt.after);
    rows.truth("unchanged", attempt.unchanged);
    rows.text("step", attempt.step);
    rows.truth("throttled", Some(attempt.throttled));
    rows.truth("billed", Some(attempt.billed));
    rows.double("weight", Some(attempt.weight));
    rows.tokens(&attempt.tokens);
    rows.long("cache_write_1h", attempt.cache_write_1h);
    rows.long("audio_tokens", attempt.audio_tokens);
    rows.long("max_output_tokens", attempt.max_output_tokens);
    rows.limits(&attempt.limits);
    rows.end();
}

fn write_tool_call(rows: &mut Rows, call: &ToolCall<'_>) {
    rows.text("run_id", Some(call.run_id));
    rows.instant("run_start_time", Some(call.run_start_time));
    rows.text("span_id", Some(call.span_id));
    rows.text("workflow", call.workflow.as_deref());
    rows.long("step_index", call.step_index);
    rows.text("tool", call.tool);
    rows.instant("start_time", Some(call.start_time));
    rows.double("duration_ms", call.duration_ms);
    rows.text("status", Some(call.status.as_str()));
    rows.text("error_type", call.error_type);
    rows.long("retries", call.retries);
    rows.long("concurrency_at_dispatch", call.concurrency_at_dispatch);
    rows.long("payload_bytes", call.payload_bytes);
    rows.truth("idempotency_replayed", call.idempotency_replayed);
    rows.double("weight", Some(call.weight));
    rows.end();
}
