//! The decode boundary: one function from bytes to columns.
//!
//! Here a span is placed: a row of `spans`, a row of `quarantine`, or rejected with a reason. What its
//! attributes mean is `rules`' business, and what log records are made of `logs`'. Memory is bounded by
//! the body: see the limits below.

use std::borrow::Cow;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::columns::Columns;
use crate::dialect::Kind;
use crate::explain::{Explained, Reasons};
use crate::layout::{QuarantineLayout, SpanLayout};
use crate::logs::tells_of_no_call;
use crate::quality::{
    ATTRIBUTES_DROPPED, BAD_PARENT_ID, NEGATIVE_DURATION, NO_DURATION, NO_END, Quality, SAMPLED,
};
use crate::rejected::Rejected;
use crate::rules::{Reading, Rules, duration_ms};
use crate::sampling::weight;
use crate::wire::{Attribute, Malformed, Record, Resource, Span, for_each_resource, read_scope_spans};
use crate::{DecodeError, Dialects, OtlpError, json, text};

/// The most spans of one body: some hundred times the largest batch that exporters send.
pub(crate) const MAX_SPANS: usize = 1 << 18;
/// The largest body; what receives bodies may well take less.
pub(crate) const MAX_BODY: usize = 1 << 28;
/// Attributes that one span keeps in its map, the resource's not counted; OpenTelemetry's SDKs send 128.
const MAX_ATTRIBUTES: usize = 128;
/// Resource attributes that join the attributes of each span.
const MAX_RESOURCE_ATTRIBUTES: usize = 64;
/// Bytes of resource attributes that the spans of one body repeat in all.
const MAX_REPEATED: usize = 1 << 27;
/// Starts before 1971 come of clocks that are not set and of other units than nanoseconds; starts from
/// 2262 on don't fit 64 bits or are about not to.
const PLAUSIBLE_STARTS: std::ops::Range<u64> = 31_536_000_000_000_000..9_214_646_400_000_000_000;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `application/x-protobuf`.
    Protobuf,
    /// `application/json`, one request.
    Json,
}

/// When and whence a body came.
#[derive(Debug, Clone, Copy)]
pub struct Receipt<'a> {
    /// Microseconds since 1970, UTC.
    pub received_unix_micros: i64,
    /// `otlp`, `kafka` or `file`, and which.
    pub source: &'a str,
}

/// One body as columns.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// Rows of the table `spans`.
    pub spans: RecordBatch,
    /// Rows of the table `quarantine`.
    pub quarantined: RecordBatch,
    /// Spans in the body, and log records that tell of a call: `spans` + `quarantined` + `rejected`.
    pub received: u64,
    /// Those of them that are stored nowhere, for the answer's `partial_success`.
    pub rejected: u64,
    /// Log records that tell of no call: accepted, and stored nowhere.
    pub passed_over: u64,
    /// Why spans were rejected or records passed over, for the answer's `error_message`; none where none
    /// was.
    pub message: Option<String>,
}

/// What stands in a body.
#[derive(Clone, Copy)]
enum Signal {
    Traces,
    Logs,
}

/// Decodes bodies by one set of dialects into one pair of tables; one decoder serves all threads.
#[derive(Debug)]
pub struct Decoder {
    rules: Rules,
    spans: SchemaRef,
    quarantine: SchemaRef,
    pub(crate) at: SpanLayout,
    quarantine_at: QuarantineLayout,
}

impl Decoder {
    /// Fits the dialects to the tables `spans` and `quarantine`.
    ///
    /// # Errors
    /// A needed column is missing or of another type, or a dialect names a column that isn't there.
    pub fn new(dialects: Dialects, spans: SchemaRef, quarantine: SchemaRef) -> Result<Self, OtlpError> {
        let at = SpanLayout::new(&spans)?;
        let quarantine_at = QuarantineLayout::new(&quarantine)?;
        Ok(Self { rules: Rules::new(&dialects, &spans)?, spans, quarantine, at, quarantine_at })
    }

    /// Decodes one trace export request. An empty request is no rows, not an error.
    ///
    /// # Errors
    /// The body is not a trace request, or is too large for one batch of columns.
    pub fn decode(
        &self,
        body: &[u8],
        encoding: Encoding,
        receipt: &Receipt<'_>,
    ) -> Result<Decoded, DecodeError> {
        self.decode_signal(Signal::Traces, body, encoding, receipt, None).map(|(decoded, _)| decoded)
    }

    /// Decodes one logs export request: a row for each record that tells of a call. An empty request is
    /// no rows, not an error.
    ///
    /// # Errors
    /// The body is not a logs request, or is too large for one batch of columns.
    pub fn decode_logs(
        &self,
        body: &[u8],
        encoding: Encoding,
        receipt: &Receipt<'_>,
    ) -> Result<Decoded, DecodeError> {
        let decoded = self.decode_signal(Signal::Logs, body, encoding, receipt, None);
        decoded.map(|(decoded, _)| decoded).map_err(of_logs)
    }

    /// Decodes one trace export request, and tells why its rows are what they are.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn explain(
        &self,
        body: &[u8],
        encoding: Encoding,
        receipt: &Receipt<'_>,
    ) -> Result<Explained, DecodeError> {
        let explained = self.decode_signal(Signal::Traces, body, encoding, receipt, Some(Vec::new()));
        explained.map(|(decoded, reasons)| Explained { decoded, reasons })
    }

    /// The same for a logs export request.
    ///
    /// # Errors
    /// As [`Self::decode_logs`].
    pub fn explain_logs(
        &self,
        body: &[u8],
        encoding: Encoding,
        receipt: &Receipt<'_>,
    ) -> Result<Explained, DecodeError> {
        let explained = self.decode_signal(Signal::Logs, body, encoding, receipt, Some(Vec::new()));
        explained.map(|(decoded, reasons)| Explained { decoded, reasons }).map_err(of_logs)
    }

    /// Reads the spans of a trace request in protobuf and makes no columns of them; gives their number.
    /// It is here for what wants to know what recognising spans costs.
    ///
    /// # Errors
    /// The body is not a trace request.
    #[doc(hidden)]
    pub fn recognise(&self, body: &[u8]) -> Result<usize, DecodeError> {
        let mut reading = Reading::new(&self.rules);
        let (mut span, mut items, mut spans) = (Span::default(), Vec::new(), 0);
        let mut quality = Quality::default();
        for_each_resource(body, |resource, scopes| {
            reading.enter_resource(resource);
            for bytes in scopes {
                let scope = read_scope_spans(bytes, &mut items)?;
                let (name, version) =
                    (text::column(scope.name, &mut quality), text::column(scope.version, &mut quality));
                reading.enter_scope(&name, &version);
                for bytes in &items {
                    span.read(bytes)?;
                    quality.begin(&Quality::default());
                    reading.read(&span, &mut quality)?;
                    spans += 1;
                }
            }
            Ok(())
        })
        .map(|()| spans)
    }

    /// The rows of a body, and the reasons for those of `spans` where there is room for them.
    fn decode_signal(
        &self,
        signal: Signal,
        body: &[u8],
        encoding: Encoding,
        receipt: &Receipt<'_>,
        reasons: Option<Vec<Reasons>>,
    ) -> Result<(Decoded, Vec<Reasons>), DecodeError> {
        if body.len() > MAX_BODY {
            return Err(DecodeError::TooLarge { limit: MAX_BODY });
        }
        let mut rejected = Rejected::default();
        let body = match (encoding, signal) {
            (Encoding::Protobuf, _) => Cow::Borrowed(body),
            (Encoding::Json, Signal::Traces) => Cow::Owned(json::to_protobuf(body, &mut rejected)?),
            (Encoding::Json, Signal::Logs) => Cow::Owned(json::logs_to_protobuf(body, &mut rejected)?),
        };
        let mut sink = Sink {
            decoder: self,
            receipt,
            received_day: i32::try_from(receipt.received_unix_micros.div_euclid(MICROS_PER_DAY))
                .unwrap_or_default(),
            spans: Columns::new(&self.spans),
            quarantined: Columns::new(&self.quarantine),
            quality: Quality::default(),
            scratch: String::new(),
            repeated: 0,
            passed_over: 0,
            rejected,
            reasons,
        };
        let what = match signal {
            Signal::Traces => sink.spans_of(&body).map(|()| "span")?,
            Signal::Logs => sink.calls_of(&body).map(|()| "log record")?,
        };
        let messages = [sink.rejected.message(what), tells_of_no_call(sink.passed_over)];
        let decoded = Decoded {
            received: sink.received() as u64,
            rejected: sink.rejected.spans(),
            passed_over: sink.passed_over,
            message: messages.into_iter().flatten().reduce(|first, second| format!("{first}; {second}")),
            spans: sink.spans.finish().map_err(misfit)?,
            quarantined: sink.quarantined.finish().map_err(misfit)?,
        };
        Ok((decoded, sink.reasons.unwrap_or_default()))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn misfit(error: arrow::error::ArrowError) -> DecodeError {
    DecodeError::Misfit(error.to_string())
}

/// The error of a body that should have held logs.
pub(crate) fn of_logs(error: DecodeError) -> DecodeError {
    match error {
        DecodeError::Invalid(reason) => DecodeError::InvalidLogs(reason),
        error => error,
    }
}

impl From<Malformed> for DecodeError {
    fn from(malformed: Malformed) -> Self {
        Self::Invalid(malformed.to_string())
    }
}

/// The rows of one body as they are made.
pub(crate) struct Sink<'d> {
    pub(crate) decoder: &'d Decoder,
    receipt: &'d Receipt<'d>,
    received_day: i32,
    spans: Columns,
    quarantined: Columns,
    pub(crate) quality: Quality,
    scratch: String,
    /// Bytes of resource attributes repeated so far.
    repeated: usize,
    /// Log records that tell of no call.
    pub(crate) passed_over: u64,
    rejected: Rejected,
    /// Of each row of `spans`, where they are wanted.
    reasons: Option<Vec<Reasons>>,
}

/// What the spans of one scope share.
pub(crate) struct Origin<'o, 'a> {
    /// The resource's attributes that join those of its spans, rendered.
    attributes: &'o [(Cow<'a, str>, String)],
    /// The name of the service.
    service: Option<&'o str>,
    scope: Cow<'a, str>,
    version: Cow<'a, str>,
    /// What is odd about the above.
    pub(crate) quality: Quality,
}

/// What the rules and the signal say of a span.
pub(crate) struct Verdict<'a> {
    pub(crate) kind: Kind,
    pub(crate) dialect: Option<&'a str>,
    /// For the column `signal`; none for a span.
    pub(crate) signal: Option<&'static str>,
}

impl<'d> Sink<'d> {
    fn received(&self) -> usize {
        self.spans.rows()
            + self.quarantined.rows()
            + usize::try_from(self.rejected.spans()).unwrap_or(usize::MAX)
    }

    /// Places the spans of a trace request.
    fn spans_of(&mut self, body: &[u8]) -> Result<(), DecodeError> {
        let mut span = Span::default();
        self.each(body, |sink, bytes, origin, reading| {
            span.read(bytes)?;
            sink.place(&span, origin, reading)
        })
    }

    /// Places the calls that the records of a logs request tell of.
    fn calls_of(&mut self, body: &[u8]) -> Result<(), DecodeError> {
        let mut record = Record::default();
        self.each(body, |sink, bytes, origin, reading| {
            record.read(bytes)?;
            sink.place_call(&mut record, origin, reading)
        })
    }

    /// Calls `place` with the bytes of each span or log record, and where it comes from.
    fn each<'a>(
        &mut self,
        body: &'a [u8],
        mut place: impl FnMut(&mut Self, &'a [u8], &Origin<'_, 'a>, &mut Reading<'a>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError>
    where
        'd: 'a,
    {
        let mut reading = Reading::new(&self.decoder.rules);
        if self.reasons.is_some() {
            reading.take_notes();
        }
        let mut items = Vec::new();
        for_each_resource(body, |resource, scopes| {
            reading.enter_resource(resource);
            let mut shared = Quality::default();
            let attributes = self.resource_attributes(resource, &reading, &mut shared);
            let service = service(resource, &mut shared);
            for bytes in scopes {
                let scope = read_scope_spans(bytes, &mut items)?;
                let mut quality = shared.clone();
                let origin = Origin {
                    attributes: &attributes,
                    service: service.as_deref(),
                    scope: text::column(scope.name, &mut quality),
                    version: text::column(scope.version, &mut quality),
                    quality,
                };
                reading.enter_scope(&origin.scope, &origin.version);
                for bytes in &items {
                    if self.received() >= MAX_SPANS {
                        return Err(DecodeError::TooManySpans { limit: MAX_SPANS });
                    }
                    place(self, bytes, &origin, &mut reading)?;
                }
            }
            Ok(())
        })
    }

    /// A row of `spans`, a row of `quarantine`, or rejected.
    fn place<'a>(
        &mut self,
        span: &Span<'a>,
        origin: &Origin<'_, 'a>,
        reading: &mut Reading<'a>,
    ) -> Result<(), DecodeError> {
        if let Some(reason) = fault(span) {
            self.rejected.add(reason);
        } else if is_plausible(span) {
            self.quality.begin(&origin.quality);
            let (kind, dialect) = reading.read(span, &mut self.quality)?;
            self.store(span, &Verdict { kind, dialect, signal: None }, origin, reading);
        } else {
            self.quarantine(span, origin);
        }
        Ok(())
    }

    /// A row of `spans` of the span that was read last.
    pub(crate) fn store<'a>(
        &mut self,
        span: &Span<'a>,
        verdict: &Verdict<'a>,
        origin: &Origin<'_, 'a>,
        reading: &Reading<'a>,
    ) {
        let at = &self.decoder.at;
        let rows = &mut self.spans;
        let mut buffer = [0; 32];
        rows.text(at.trace_id, text::hex(span.trace_id, &mut buffer));
        rows.text(at.span_id, text::hex(span.span_id, &mut buffer));
        match span.parent_span_id {
            [] | [0, 0, 0, 0, 0, 0, 0, 0] => {}
            id if id.len() == 8 => rows.text(at.parent_span_id, text::hex(id, &mut buffer)),
            _ => self.quality.flag(BAD_PARENT_ID),
        }
        rows.text(at.kind, verdict.kind.name());
        rows.text(at.name, &text::column(span.name, &mut self.quality));
        // The plausible starts fit.
        let start = i64::try_from(span.start).unwrap_or_default();
        rows.time(at.start_time, start / 1000);
        rows.int(at.start_unix_nano, start);
        match duration_ms(span) {
            Some(duration) => rows.float(at.duration_ms, duration),
            None if verdict.signal.is_some() => self.quality.flag(NO_DURATION),
            None if span.end == 0 => self.quality.flag(NO_END),
            None => self.quality.flag(NEGATIVE_DURATION),
        }
        if span.status == 2 || reading.status().is_none() {
            rows.text(at.status, status(span.status));
        }
        for (column, value) in reading.columns() {
            if column != at.status || span.status != 2 {
                rows.scalar(column, value);
            }
        }
        for (column, value) in [(at.scope, &origin.scope), (at.scope_version, &origin.version)] {
            if !value.is_empty() {
                rows.text(column, value);
            }
        }
        let weight = weight(span.trace_state);
        if weight > 1.0 {
            self.quality.flag(SAMPLED);
        }
        rows.float(at.weight, weight);
        for (column, value) in [(at.dialect, verdict.dialect), (at.signal, verdict.signal)] {
            if let Some(value) = value {
                rows.text(column, value);
            }
        }
        rows.text(at.source, self.receipt.source);
        rows.time(at.received_at, self.receipt.received_unix_micros);
        rows.day(at.received_day, self.received_day);
        if span.dropped_attributes > 0 {
            self.quality.flag(ATTRIBUTES_DROPPED);
        }
        self.attributes(span, origin, |index, _| reading.keeps(index), Table::Spans);
        self.spans.texts(at.quality, self.quality.sorted());
        self.spans.end_row();
        if let Some(reasons) = &mut self.reasons {
            reasons.push(reading.reasons(span));
        }
    }

    /// A row of `quarantine`, for a start that can't be.
    pub(crate) fn quarantine<'a>(&mut self, span: &Span<'a>, origin: &Origin<'_, 'a>) {
        let decoder = self.decoder;
        let at = &decoder.quarantine_at;
        let rows = &mut self.quarantined;
        let mut buffer = [0; 32];
        rows.text(at.reason, "time_out_of_range");
        rows.text(at.trace_id, text::hex(span.trace_id, &mut buffer));
        rows.text(at.span_id, text::hex(span.span_id, &mut buffer));
        rows.text(at.name, &text::column(span.name, &mut self.quality));
        if let Some(service) = origin.service {
            rows.text(at.service, service);
        }
        rows.text(at.start_unix_nano, &span.start.to_string());
        rows.text(at.end_unix_nano, &span.end.to_string());
        if !origin.scope.is_empty() {
            rows.text(at.scope, &origin.scope);
        }
        rows.text(at.source, self.receipt.source);
        rows.time(at.received_at, self.receipt.received_unix_micros);
        rows.day(at.received_day, self.received_day);
        self.attributes(span, origin, |_, key| !decoder.rules.content.contains(key), Table::Quarantine);
        self.quarantined.end_row();
    }

    /// Adds the attributes that are kept to the map of the current row: the span's, then its resource's,
    /// no key twice.
    fn attributes<'a>(
        &mut self,
        span: &Span<'a>,
        origin: &Origin<'_, 'a>,
        keeps: impl Fn(usize, &[u8]) -> bool,
        table: Table,
    ) {
        let (rows, column) = match table {
            Table::Spans => (&mut self.spans, self.decoder.at.attributes),
            Table::Quarantine => (&mut self.quarantined, self.decoder.quarantine_at.attributes),
        };
        let mut kept = 0;
        for (index, Attribute { key, value }) in span.attributes.iter().enumerate() {
            if !keeps(index, key) {
                continue;
            }
            if kept == MAX_ATTRIBUTES {
                self.quality.flag(ATTRIBUTES_DROPPED);
                break;
            }
            kept += 1;
            let key = text::utf8(key, &mut self.quality);
            rows.pair(column, text::cut(&key), &text::render(*value, &mut self.scratch, &mut self.quality));
        }
        for (key, value) in origin.attributes {
            if self.repeated > MAX_REPEATED {
                self.quality.flag(ATTRIBUTES_DROPPED);
                return;
            }
            if rows.pair(column, key, value) {
                self.repeated += key.len() + value.len();
            }
        }
    }

    /// The resource's attributes that join those of its spans.
    fn resource_attributes<'a>(
        &mut self,
        resource: &Resource<'a>,
        reading: &Reading<'a>,
        quality: &mut Quality,
    ) -> Vec<(Cow<'a, str>, String)> {
        let rules = &self.decoder.rules;
        let mut kept: Vec<(Cow<'a, str>, String)> = Vec::new();
        for Attribute { key, value } in &resource.attributes {
            let name = text::column(key, quality);
            let known = reading.takes_resource(key) || kept.iter().any(|(known, _)| *known == name);
            if known || rules.content.contains(key) || rules.resource_noise.contains(key) {
                continue;
            }
            if kept.len() == MAX_RESOURCE_ATTRIBUTES {
                quality.flag(ATTRIBUTES_DROPPED);
                break;
            }
            let value = text::render(*value, &mut self.scratch, quality).into_owned();
            kept.push((name, value));
        }
        kept
    }
}

/// Which of the two tables a row goes to.
#[derive(Clone, Copy)]
enum Table {
    Spans,
    Quarantine,
}

/// Whether the span's start is one that a partition may be made for.
pub(crate) fn is_plausible(span: &Span<'_>) -> bool {
    PLAUSIBLE_STARTS.contains(&span.start)
}

/// Why a span can't be told from others, if so.
fn fault(span: &Span<'_>) -> Option<String> {
    let id = |name: &str, id: &[u8], wanted: usize| match id {
        [] => Some(format!("no {name} id: is this a trace request?")),
        id if id.len() != wanted => Some(format!("{name} id of {} bytes, not {wanted}", id.len())),
        id if id.iter().all(|byte| *byte == 0) => Some(format!("{name} id of zeros")),
        _ => None,
    };
    id("trace", span.trace_id, 16).or_else(|| id("span", span.span_id, 8))
}

fn status(code: u64) -> &'static str {
    match code {
        1 => "ok",
        2 => "error",
        _ => "unset",
    }
}

fn service<'a>(resource: &Resource<'a>, quality: &mut Quality) -> Option<Cow<'a, str>> {
    let name = resource.attributes.iter().find(|attribute| attribute.key == b"service.name")?;
    match name.value {
        crate::wire::Value::Text(bytes) => Some(text::column(bytes, quality)),
        _ => None,
    }
}
