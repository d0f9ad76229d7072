//! OTLP/HTTP: `POST /v1/traces`, `/v1/logs` and `/v1/metrics` in protobuf or JSON, whole, gzip or
//! Zstandard.
//!
//! | answer | when | body |
//! |---|---|---|
//! | 200 | taken, perhaps in part | the response message, in the request's type |
//! | 400 | undecodable, for good | `google.rpc.Status`, in the request's type |
//! | 404, 405, 415 | wrong path, method, content type or coding | plain text |
//! | 413 | over the size limit, for good | `google.rpc.Status` |
//! | 429, 503 | no room now: `Retry-After` | `google.rpc.Status` with `RetryInfo` |

use std::future::Future;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body as Incoming;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_ENCODING, ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, RETRY_AFTER,
};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use axum::serve::ListenerExt;
use plimsoll_otlp::Encoding;
use tokio::net::TcpListener;

use super::{answer, body};
use crate::accept::{Accepted, Body, Core, Refusal};
use crate::content_type;
use crate::inflate::Coding;
use crate::signal::Signal;

const TEXT: &str = "text/plain; charset=utf-8";

/// Serves until `stop`, and then until the requests that were being served are answered.
///
/// # Errors
/// The listener fails for good.
pub(crate) async fn serve(
    core: Arc<Core>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    // Answers are small; waiting to fill a packet would only delay them.
    let listener = listener.tap_io(|stream| {
        let _slower = stream.set_nodelay(true);
    });
    let router = Router::new().fallback(handle).with_state(core);
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}

async fn handle(State(core): State<Arc<Core>>, request: Request<Incoming>) -> Response<Incoming> {
    let (head, incoming) = request.into_parts();
    let Some(signal) = Signal::from_http_path(head.uri.path()) else { return not_found(head.uri.path()) };
    if head.method != Method::POST {
        let mut response =
            text(StatusCode::METHOD_NOT_ALLOWED, "export with POST; nothing is read from here");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    let Some(encoding) = encoding(&head.headers) else {
        return text(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send application/x-protobuf or application/json; OTLP/gRPC has a port of its own",
        );
    };
    let Some(coding) = coding(&head.headers) else {
        let mut response = text(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "this content encoding is not taken: send identity, gzip or zstd",
        );
        response.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, zstd, identity"));
        return response;
    };
    match export(&core, &head.headers, incoming, signal, encoding, coding).await {
        Ok(accepted) => answered(StatusCode::OK, answer::success(&accepted, signal, encoding), encoding),
        Err(refusal) => refused(&refusal, encoding),
    }
}

async fn export(
    core: &Arc<Core>,
    headers: &HeaderMap,
    incoming: Incoming,
    signal: Signal,
    encoding: Encoding,
    coding: Coding,
) -> Result<Accepted, Refusal> {
    let read = async {
        core.admit()?;
        let limit = core.limits.max_message_bytes;
        let announced =
            headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        if announced.is_some_and(|length| length > limit) {
            return Err(body::too_large(limit));
        }
        body::read(core, incoming, limit).await
    };
    let (bytes, held) = read.await.inspect_err(|refusal| core.refused(refusal))?;
    let body = Body { bytes, coding, held };
    match signal {
        Signal::Kept(signal) => core.accept(body, encoding, signal).await,
        Signal::Metrics => core.turn_away(body, encoding).await,
    }
}

/// By the content type, whose parameters say nothing that matters here.
fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    content_type::encoding(headers.get(CONTENT_TYPE)?.to_str().ok()?)
}

fn coding(headers: &HeaderMap) -> Option<Coding> {
    match headers.get(CONTENT_ENCODING) {
        None => Some(Coding::Identity),
        Some(value) => Coding::from_name(value.to_str().ok()?),
    }
}

fn refused(refusal: &Refusal, encoding: Encoding) -> Response<Incoming> {
    let status = match refusal {
        Refusal::Invalid(_) => StatusCode::BAD_REQUEST,
        Refusal::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = answered(status, answer::failure(refusal, encoding), encoding);
    if let Some(seconds) = refusal.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn not_found(path: &str) -> Response<Incoming> {
    let hint = if path.starts_with("/v1/traces/") {
        "the path is doubled: set OTEL_EXPORTER_OTLP_ENDPOINT to this server's address without /v1/traces, which exporters add"
    } else {
        "traces are posted to /v1/traces: set OTEL_EXPORTER_OTLP_ENDPOINT to this server's address, or \
         OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, which is used as it stands, to the address with /v1/traces"
    };
    text(StatusCode::NOT_FOUND, hint)
}

fn text(status: StatusCode, message: &str) -> Response<Incoming> {
    response(status, TEXT, format!("{message}\n").into_bytes())
}

fn answered(status: StatusCode, body: Vec<u8>, encoding: Encoding) -> Response<Incoming> {
    let content_type = content_type::of(encoding);
    response(status, content_type, body)
}

fn response(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response<Incoming> {
    let mut response = Response::new(Incoming::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
