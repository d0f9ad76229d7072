//! The signals of OTLP: traces are stored, metrics and logs are counted and turned away.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use plimsoll_otlp::Encoding;
use prost::Message;
use serde::de::DeserializeOwned;

/// What a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Traces,
    Metrics,
    Logs,
}

impl Signal {
    /// By the path of OTLP/HTTP.
    pub(crate) fn from_http_path(path: &str) -> Option<Self> {
        match path {
            "/v1/traces" => Some(Self::Traces),
            "/v1/metrics" => Some(Self::Metrics),
            "/v1/logs" => Some(Self::Logs),
            _ => None,
        }
    }

    /// By the path of OTLP/gRPC.
    pub(crate) fn from_grpc_path(path: &str) -> Option<Self> {
        match path {
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => Some(Self::Traces),
            "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" => Some(Self::Metrics),
            "/opentelemetry.proto.collector.logs.v1.LogsService/Export" => Some(Self::Logs),
            _ => None,
        }
    }

    /// The field of `partialSuccess` that says how many items were rejected.
    pub(crate) fn rejected_field(self) -> &'static str {
        match self {
            Self::Traces => "rejectedSpans",
            Self::Metrics => "rejectedDataPoints",
            Self::Logs => "rejectedLogRecords",
        }
    }

    /// Why nothing of it is kept.
    pub(crate) fn turned_away(self) -> &'static str {
        match self {
            Self::Traces => "",
            Self::Metrics => {
                "metrics are not stored here: send traces, or point OTEL_EXPORTER_OTLP_METRICS_ENDPOINT elsewhere"
            }
            Self::Logs => {
                "logs are not stored here: send traces, or point OTEL_EXPORTER_OTLP_LOGS_ENDPOINT elsewhere"
            }
        }
    }

    /// Metric points or log records in a body.
    ///
    /// # Errors
    /// The body is not a request of this signal; says why.
    pub(crate) fn count(self, body: &[u8], encoding: Encoding) -> Result<u64, String> {
        match self {
            Self::Traces => Ok(0),
            Self::Metrics => parse(body, encoding, "metrics").map(|request| metric_points(&request)),
            Self::Logs => parse(body, encoding, "logs").map(|request| log_records(&request)),
        }
    }
}

fn parse<T: Message + Default + DeserializeOwned>(
    body: &[u8],
    encoding: Encoding,
    what: &str,
) -> Result<T, String> {
    let parsed = match encoding {
        Encoding::Protobuf => T::decode(body).map_err(|error| error.to_string()),
        Encoding::Json => serde_json::from_slice(body).map_err(|error| error.to_string()),
    };
    parsed.map_err(|error| format!("the body is not an OTLP {what} request: {error}"))
}

fn metric_points(request: &ExportMetricsServiceRequest) -> u64 {
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

fn log_records(request: &ExportLogsServiceRequest) -> u64 {
    let scopes = request.resource_logs.iter().flat_map(|resource| &resource.scope_logs);
    scopes.map(|scope| scope.log_records.len() as u64).sum()
}
