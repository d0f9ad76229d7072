//! Plimsoll's own logs, traces and metrics.
//!
//! Logs go to stderr. Metrics can always be scraped; traces and metrics also leave over OTLP/gRPC
//! when `OTEL_EXPORTER_OTLP_ENDPOINT` is set. They never go into this very process, which would feed on
//! itself, unless `PLIMSOLL_SELF_TELEMETRY=1` asks for that.

use std::io::IsTerminal as _;

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::{Resource, metrics::SdkMeterProvider, trace::SdkTracerProvider};
use prometheus::{Registry, TextEncoder};
use tracing_subscriber::{EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::{failure::Failure, settings::Settings};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const INTO_ITSELF: &str = "PLIMSOLL_SELF_TELEMETRY";
/// What is traced: our own steps.
const TRACED: &str = "off,plimsoll=info";
/// What is logged where `PLIMSOLL_LOG` says nothing.
const DEFAULT_LOG: &str = "warn,plimsoll=info,buoyant_kernel=off,delta_kernel=off";

/// Handles of what was started.
pub(crate) struct Own {
    registry: Registry,
    meters: SdkMeterProvider,
    tracers: Option<SdkTracerProvider>,
}

/// Starts logs and metrics, and the exporters where an endpoint is set.
///
/// # Errors
/// An exporter that cannot be built.
pub(crate) fn start(settings: &Settings) -> Result<Own, Failure> {
    let registry = Registry::new();
    let resource = Resource::builder()
        .with_service_name("plimsoll")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    let scraped = opentelemetry_prometheus::exporter()
        .with_registry(registry.clone())
        .build()
        .map_err(Failure::internal)?;
    let mut meters = SdkMeterProvider::builder().with_resource(resource.clone()).with_reader(scraped);
    let mut tracers = None;
    if leaves(settings) {
        let metrics = MetricExporter::builder().with_tonic().build().map_err(Failure::input)?;
        meters = meters.with_periodic_exporter(metrics);
        let spans = SpanExporter::builder().with_tonic().build().map_err(Failure::input)?;
        tracers =
            Some(SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(spans).build());
    }
    let meters = meters.build();
    opentelemetry::global::set_meter_provider(meters.clone());

    let logged = EnvFilter::try_from_env("PLIMSOLL_LOG").unwrap_or_else(|_| EnvFilter::new(DEFAULT_LOG));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .with_filter(logged);
    // What is traced does not depend on what is logged, and is ours alone.
    let exported = tracers.as_ref().map(|provider| {
        let tracer = provider.tracer("plimsoll");
        tracing_opentelemetry::layer().with_tracer(tracer).with_filter(EnvFilter::new(TRACED))
    });
    // A second start in one process (tests) keeps the first one's.
    let _already = tracing_subscriber::registry().with(lines).with(exported).try_init();
    // Libraries that log by `log` (Kafka's) ask for their debug level at every turn, and a refusal by the
    // filters of single layers swallows the next event of ours: such questions must not come that far.
    log::set_max_level(log::LevelFilter::Warn);
    Ok(Own { registry, meters, tracers })
}

/// Whether telemetry leaves the process, and not into itself.
fn leaves(settings: &Settings) -> bool {
    let Some(endpoint) = std::env::var(ENDPOINT).ok().filter(|endpoint| !endpoint.is_empty()) else {
        return false;
    };
    let asked = std::env::var(INTO_ITSELF).is_ok_and(|value| value == "1");
    asked || !is_own(&endpoint, settings)
}

fn is_own(endpoint: &str, settings: &Settings) -> bool {
    let authority = endpoint.split("://").last().unwrap_or_default().split('/').next().unwrap_or_default();
    let Some((host, port)) = authority.rsplit_once(':') else {
        return false;
    };
    let loopback = host == "localhost" || host.starts_with("127.") || host == "[::1]";
    let own = [settings.otlp.grpc.port(), settings.otlp.http.port()];
    loopback && port.parse().is_ok_and(|port: u16| own.contains(&port))
}

impl Own {
    /// The metrics in the text format that Prometheus reads.
    pub(crate) fn scrape(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let registry = self.registry.clone();
        move || TextEncoder::new().encode_to_string(&registry.gather()).unwrap_or_default()
    }

    /// Sends the metrics as they stand; what they are read from may end before the exporters do.
    pub(crate) fn send_now(&self) {
        let _sent = tokio::task::block_in_place(|| self.meters.force_flush());
    }

    /// Sends what waits and ends the exporters.
    pub(crate) fn stop(&self) {
        // Nobody is left to be told of a collector that has gone.
        let _sent = self.meters.shutdown();
        let _sent = self.tracers.as_ref().map(SdkTracerProvider::shutdown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plimsoll does not feed on its own telemetry, whichever way its own address is written.
    #[test]
    fn own_addresses() {
        let settings = Settings::default();
        for own in ["http://127.0.0.1:4317", "http://localhost:4318/v1/traces", "localhost:4317"] {
            assert!(is_own(own, &settings), "{own}");
        }
        for other in ["http://collector:4317", "http://127.0.0.1:14317", "https://otel.example"] {
            assert!(!is_own(other, &settings), "{other}");
        }
    }
}
