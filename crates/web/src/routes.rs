//! The routes: `/healthz` (alive), `/readyz` (will accept), `/metrics` and, where queries are answered, `/v1/sql`.

use std::{future::Future, io, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tokio::net::TcpListener;

use crate::{Queries, Status, answer};

/// Media type of the Prometheus text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers until `stop` is done.
///
/// # Errors
/// A listener that breaks.
pub async fn serve<S: Status>(
    listener: TcpListener,
    status: Arc<S>,
    queries: Option<Queries>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let mut router = Router::new()
        .route("/", get(index))
        .route("/healthz", get(healthz::<S>))
        .route("/readyz", get(readyz::<S>))
        .route("/metrics", get(metrics::<S>))
        .with_state(status);
    if let Some(queries) = queries {
        router = router.route("/v1/sql", post(answer::sql).with_state(Arc::new(queries)));
    }
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}

async fn index() -> &'static str {
    "Plimsoll is serving.\n\n/healthz  alive\n/readyz   takes telemetry\n/metrics  for Prometheus\n/v1/sql   read-only SQL by POST\n"
}

async fn healthz<S: Status>(State(status): State<Arc<S>>) -> Response {
    if status.alive() {
        (StatusCode::OK, "alive\n").into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "restart me: see the log\n").into_response()
    }
}

async fn readyz<S: Status>(State(status): State<Arc<S>>) -> Response {
    match status.not_ready() {
        None => (StatusCode::OK, "ready\n").into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn metrics<S: Status>(State(status): State<Arc<S>>) -> Response {
    ([(header::CONTENT_TYPE, PROMETHEUS)], status.metrics()).into_response()
}
