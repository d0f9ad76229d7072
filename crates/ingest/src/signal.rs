//! The signals of OTLP: traces and logs are kept, metrics are counted and turned away.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use plimsoll_otlp::explain::Explained;
use plimsoll_otlp::forward::{self, Checked};
use plimsoll_otlp::{DecodeError, Decoded, Decoder, Encoding, Receipt};
use prost::Message;
use serde::de::IgnoredAny;

/// What a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Kept(Kept),
    Metrics,
}

/// The signals that rows are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Every span is a row.
    Traces,
    /// Every log record that tells of a call is a row.
    Logs,
}

/// Why nothing of a metrics request is kept.
pub(crate) const METRICS_TURNED_AWAY: &str = "metrics are not stored here: send traces or logs, or point OTEL_EXPORTER_OTLP_METRICS_ENDPOINT elsewhere";

impl Signal {
    /// By the path of OTLP/HTTP.
    pub(crate) fn from_http_path(path: &str) -> Option<Self> {
        match path {
            "/v1/traces" => Some(Self::Kept(Kept::Traces)),
            "/v1/metrics" => Some(Self::Metrics),
            "/v1/logs" => Some(Self::Kept(Kept::Logs)),
            _ => None,
        }
    }

    /// By the path of OTLP/gRPC.
    pub(crate) fn from_grpc_path(path: &str) -> Option<Self> {
        match path {
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => Some(Self::Kept(Kept::Traces)),
            "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" => Some(Self::Metrics),
            "/opentelemetry.proto.collector.logs.v1.LogsService/Export" => Some(Self::Kept(Kept::Logs)),
            _ => None,
        }
    }

    /// The field of `partialSuccess` that says how many items were rejected.
    pub(crate) fn rejected_field(self) -> &'static str {
        match self {
            Self::Kept(Kept::Traces) => "rejectedSpans",
            Self::Kept(Kept::Logs) => "rejectedLogRecords",
            Self::Metrics => "rejectedDataPoints",
        }
    }
}

impl Kept {
    /// The name that headers and dead letters use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Logs => "logs",
        }
    }

    /// By that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Traces, Self::Logs].into_iter().find(|signal| signal.name() == name)
    }

    /// Checks a body of the signal without decoding it.
    ///
    /// # Errors
    /// The body is not a request of the signal, or is too large.
    pub(crate) fn check(self, body: &[u8], encoding: Encoding) -> Result<Checked<'_>, DecodeError> {
        match self {
            Self::Traces => forward::check_traces(body, encoding),
            Self::Logs => forward::check_logs(body, encoding),
        }
    }

    /// Decodes a body of the signal.
    ///
    /// # Errors
    /// The body is not a request of the signal, or is too large.
    pub(crate) fn decode(
        self,
        decoder: &Decoder,
        body: &[u8],
        encoding: Encoding,
        receipt: &Receipt<'_>,
    ) -> Result<Decoded, DecodeError> {
        match self {
            Self::Traces => decoder.decode(body, encoding, receipt),
            Self::Logs => decoder.decode_logs(body, encoding, receipt),
        }
    }

    /// Decodes a body of the signal, and tells why its rows are what they are.
    ///
    /// # Errors
    /// The body is not a request of the signal.
    pub(crate) fn explain(
        self,
        decoder: &Decoder,
        body: &[u8],
        encoding: Encoding,
        receipt: &Receipt<'_>,
    ) -> Result<Explained, DecodeError> {
        match self {
            Self::Traces => decoder.explain(body, encoding, receipt),
            Self::Logs => decoder.explain_logs(body, encoding, receipt),
        }
    }
}

/// Reads a body as the signal that it carries. Protobuf doesn't say which: what is no trace request, or one
/// without a single good span, may be a logs request.
pub(crate) fn by_signal<T>(
    told: Option<Kept>,
    read: impl Fn(Kept) -> Result<T, DecodeError>,
    decoded: impl Fn(&T) -> &Decoded,
) -> Result<T, DecodeError> {
    if let Some(signal) = told {
        return read(signal);
    }
    let traces = read(Kept::Traces);
    let no_spans = traces
        .as_ref()
        .map(&decoded)
        .is_ok_and(|traces| traces.rejected > 0 && traces.rejected == traces.received);
    if !no_spans && !matches!(traces, Err(DecodeError::Invalid(_))) {
        return traces;
    }
    read(Kept::Logs).or(traces)
}

/// How a body is written: an OTLP request in JSON starts with a brace and one in protobuf with a line feed,
/// which may well be followed by a length that looks like a brace.
pub(crate) fn sniff(body: &[u8]) -> Encoding {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let brace = text.trim_ascii_start().starts_with(b"{");
    if brace && (text.first() != Some(&b'\n') || serde_json::from_slice::<IgnoredAny>(text).is_ok()) {
        Encoding::Json
    } else {
        Encoding::Protobuf
    }
}

/// What an OTLP request in JSON carries, of what is kept: by the key that comes first, since both may
/// stand among its values.
pub(crate) fn speaks_of(json: &[u8]) -> Option<Kept> {
    let keys = [(&b"\"resourceSpans\""[..], Kept::Traces), (b"\"resourceLogs\"", Kept::Logs)];
    let found = keys.into_iter().filter_map(|(key, signal)| Some((position(json, key)?, signal)));
    found.min_by_key(|(at, _)| *at).map(|(_, signal)| signal)
}

/// Where a word first stands.
pub(crate) fn position(line: &[u8], word: &[u8]) -> Option<usize> {
    line.windows(word.len()).position(|window| window == word)
}

/// Metric points in a body.
///
/// # Errors
/// The body is not a metrics request; says why.
pub(crate) fn metric_points(body: &[u8], encoding: Encoding) -> Result<u64, String> {
    let parsed = match encoding {
        Encoding::Protobuf => ExportMetricsServiceRequest::decode(body).map_err(|error| error.to_string()),
        Encoding::Json => serde_json::from_slice(body).map_err(|error| error.to_string()),
    };
    let parsed = parsed.map_err(|error| format!("the body is not an OTLP metrics request: {error}"))?;
    Ok(points(&parsed))
}

fn points(request: &ExportMetricsServiceRequest) -> u64 {
    let scopes = request.resource_metrics.iter().flat_map(|resource| &resource.scope_metrics);
    scopes
        .flat_map(|scope| &scope.metrics)
        .map(|metric| match &metric.data {
            None => 0,
            Some(Data::Gauge(data)) => data.data_points.len(),
            Some(Data::Sum(data)) => data.data_points.len(),
            Some(Data::Histogram(data)) => data.data_points.len(),
            Some(Data::ExponentialHistogram(data)) => data.data_points.len(),
            Some(Data::Summary(data)) => data.data_points.len(),
        } as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A protobuf body whose first length is 123 is no JSON, and JSON may start with a line feed.
    #[test]
    fn a_line_feed_is_no_space_in_protobuf() {
        assert_eq!(sniff(b"\n{\x0a\x00"), Encoding::Protobuf);
        assert_eq!(sniff(b"\n{\"resourceSpans\": []}\n"), Encoding::Json);
        assert_eq!(sniff(b" {\"resourceSpans\": []"), Encoding::Json);
        assert_eq!(sniff(b"\xef\xbb\xbf{}"), Encoding::Json);
        assert_eq!(sniff(b"junk"), Encoding::Protobuf);
    }
}
