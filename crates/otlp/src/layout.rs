//! Where the columns stand that the decoder itself fills, of the types that it fills them with.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};

use crate::OtlpError;
use crate::rules::column;

/// Where the columns of `spans` stand that the decoder itself fills.
#[derive(Debug)]
pub(crate) struct SpanLayout {
    pub(crate) trace_id: usize,
    pub(crate) span_id: usize,
    pub(crate) parent_span_id: usize,
    pub(crate) kind: usize,
    pub(crate) name: usize,
    pub(crate) start_time: usize,
    pub(crate) start_unix_nano: usize,
    pub(crate) duration_ms: usize,
    pub(crate) status: usize,
    pub(crate) session_id: usize,
    pub(crate) run_key: usize,
    pub(crate) signal: usize,
    pub(crate) scope: usize,
    pub(crate) scope_version: usize,
    pub(crate) weight: usize,
    pub(crate) dialect: usize,
    pub(crate) quality: usize,
    pub(crate) source: usize,
    pub(crate) received_at: usize,
    pub(crate) received_day: usize,
    pub(crate) attributes: usize,
}

impl SpanLayout {
    pub(crate) fn new(schema: &Schema) -> Result<Self, OtlpError> {
        let text = |name| column(schema, name, &DataType::Utf8);
        let columns = Self {
            trace_id: text("trace_id")?,
            span_id: text("span_id")?,
            parent_span_id: text("parent_span_id")?,
            kind: text("kind")?,
            name: text("name")?,
            start_time: column(schema, "start_time", &timestamp())?,
            start_unix_nano: column(schema, "start_unix_nano", &DataType::Int64)?,
            duration_ms: column(schema, "duration_ms", &DataType::Float64)?,
            status: text("status")?,
            session_id: text("session_id")?,
            run_key: text("run_key")?,
            signal: text("signal")?,
            scope: text("scope")?,
            scope_version: text("scope_version")?,
            weight: column(schema, "weight", &DataType::Float64)?,
            dialect: text("dialect")?,
            quality: column(schema, "quality", &list())?,
            source: text("source")?,
            received_at: column(schema, "received_at", &timestamp())?,
            received_day: column(schema, "received_day", &DataType::Date32)?,
            attributes: column(schema, "attributes", &map())?,
        };
        let filled = [
            columns.trace_id,
            columns.span_id,
            columns.kind,
            columns.start_time,
            columns.start_unix_nano,
            columns.weight,
            columns.source,
            columns.received_at,
            columns.received_day,
        ];
        only_required(schema, &filled).map(|()| columns)
    }
}

/// Where the columns of `quarantine` stand.
#[derive(Debug)]
pub(crate) struct QuarantineLayout {
    pub(crate) reason: usize,
    pub(crate) trace_id: usize,
    pub(crate) span_id: usize,
    pub(crate) name: usize,
    pub(crate) service: usize,
    pub(crate) start_unix_nano: usize,
    pub(crate) end_unix_nano: usize,
    pub(crate) scope: usize,
    pub(crate) source: usize,
    pub(crate) received_at: usize,
    pub(crate) received_day: usize,
    pub(crate) attributes: usize,
}

impl QuarantineLayout {
    pub(crate) fn new(schema: &Schema) -> Result<Self, OtlpError> {
        let text = |name| column(schema, name, &DataType::Utf8);
        let columns = Self {
            reason: text("reason")?,
            trace_id: text("trace_id")?,
            span_id: text("span_id")?,
            name: text("name")?,
            service: text("service")?,
            start_unix_nano: text("start_unix_nano")?,
            end_unix_nano: text("end_unix_nano")?,
            scope: text("scope")?,
            source: text("source")?,
            received_at: column(schema, "received_at", &timestamp())?,
            received_day: column(schema, "received_day", &DataType::Date32)?,
            attributes: column(schema, "attributes", &map())?,
        };
        let filled = [columns.reason, columns.source, columns.received_at, columns.received_day];
        only_required(schema, &filled).map(|()| columns)
    }
}

/// No column is required but those that every row fills.
fn only_required(schema: &Schema, filled: &[usize]) -> Result<(), OtlpError> {
    let unfilled = schema
        .fields()
        .iter()
        .enumerate()
        .find(|(index, field)| !field.is_nullable() && !filled.contains(index));
    unfilled.map_or(Ok(()), |(_, field)| Err(OtlpError::NeverFilled(field.name().clone())))
}

fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// A list as Delta tables have it.
fn list() -> DataType {
    DataType::List(Arc::new(Field::new("element", DataType::Utf8, true)))
}

/// A map as Delta tables have it.
fn map() -> DataType {
    let pair = vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Utf8, true)];
    DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(pair.into()), false)), false)
}
