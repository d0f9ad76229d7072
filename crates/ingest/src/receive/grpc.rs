//! OTLP/gRPC: the `Export` methods of the three signals, and the standard health check.
//!
//! The bytes of a message are wanted as they came, compressed too, so the framing of these unary calls
//! is read here: tonic would inflate a message before we can count its memory, stop at the first gzip
//! member, and answer damaged gzip as its own fault. tonic brings the connections and the statuses.
//!
//! | status | when |
//! |---|---|
//! | OK | taken, perhaps in part |
//! | INVALID_ARGUMENT | undecodable, for good |
//! | RESOURCE_EXHAUSTED, without RetryInfo | over the size limit, for good |
//! | UNAVAILABLE, with RetryInfo | no room now |
//! | UNIMPLEMENTED | another method, or a compression that isn't taken |

use std::future::Future;
use std::sync::Arc;

use axum::Router;
use axum::body::Body as Incoming;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::http::{HeaderValue, Request, Response, StatusCode};
use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Full};
use plimsoll_otlp::Encoding;
use tokio::net::TcpListener;
use tonic::Status;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::{answer, body};
use crate::accept::{Body, Core, Refusal};
use crate::inflate::Coding;
use crate::signal::Signal;

/// Bytes before a message: one that says whether it is compressed, four of length.
const FRAME_HEAD: usize = 5;
const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
const ENCODING: &str = "grpc-encoding";
const ACCEPT_ENCODING: &str = "grpc-accept-encoding";

/// Serves until `stop`, and then until the requests that were being served are answered.
///
/// # Errors
/// The listener fails for good.
pub(crate) async fn serve(
    core: Arc<Core>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), tonic::transport::Error> {
    let age = core.limits.connection_age;
    let routes = Routes::from(Router::new().fallback(handle).with_state(core));
    Server::builder()
        .accept_http1(true)
        .max_connection_age(age)
        .add_routes(routes)
        .serve_with_incoming_shutdown(TcpIncoming::from(listener).with_nodelay(Some(true)), stop)
        .await
}

async fn handle(State(core): State<Arc<Core>>, request: Request<Incoming>) -> Response<Incoming> {
    let (head, incoming) = request.into_parts();
    if !is_grpc(&head.headers) {
        return not_grpc();
    }
    let path = head.uri.path();
    let answered = if path == HEALTH_CHECK {
        Ok(health(&core))
    } else if let Some(signal) = Signal::from_grpc_path(path) {
        export(&core, &head.headers, incoming, signal).await
    } else {
        Err(Status::unimplemented(
            "only the Export methods of OTLP and grpc.health.v1.Health/Check are served",
        ))
    };
    match answered {
        Ok(message) => success(&message),
        Err(status) => status.into_http(),
    }
}

async fn export(
    core: &Arc<Core>,
    headers: &HeaderMap,
    incoming: Incoming,
    signal: Signal,
) -> Result<Vec<u8>, Status> {
    let announced =
        headers.get(ENCODING).map_or(Some(Coding::Identity), |name| Coding::from_name(name.to_str().ok()?));
    let Some(announced) = announced else {
        let mut status = Status::unimplemented("this compression is not taken: send identity, gzip or zstd");
        status
            .metadata_mut()
            .insert(ACCEPT_ENCODING, tonic::metadata::MetadataValue::from_static("identity,gzip,zstd"));
        return Err(status);
    };
    let read = async {
        core.admit()?;
        let limit = core.limits.max_message_bytes;
        let (bytes, held) = body::read(core, incoming, limit + FRAME_HEAD).await?;
        let (bytes, coding) = message(bytes, announced)?;
        Ok(Body { bytes, coding, held })
    };
    let body = read.await.map_err(|refusal: Refusal| {
        core.refused(&refusal);
        answer::status(&refusal)
    })?;
    let taken = match signal {
        Signal::Kept(signal) => core.accept(body, Encoding::Protobuf, signal).await,
        Signal::Metrics => core.turn_away(body, Encoding::Protobuf).await,
    };
    match taken {
        Ok(accepted) => Ok(answer::success(&accepted, signal, Encoding::Protobuf)),
        Err(refusal) => Err(answer::status(&refusal)),
    }
}

/// The one message of a unary call, and how it is compressed.
fn message(mut frame: Bytes, announced: Coding) -> Result<(Bytes, Coding), Refusal> {
    let broken = |what: &str| Err(Refusal::Invalid(format!("the call is not one gRPC message: {what}")));
    if frame.len() < FRAME_HEAD {
        return broken("its head is cut");
    }
    let compressed = frame.get_u8();
    let length = frame.get_u32() as usize;
    match frame.len() {
        rest if rest < length => broken("it is cut"),
        rest if rest > length => broken("more follows it"),
        _ => match compressed {
            0 => Ok((frame, Coding::Identity)),
            1 => Ok((frame, announced)),
            _ => broken("its head is damaged"),
        },
    }
}

/// `HealthCheckResponse` with `SERVING` (1) or `NOT_SERVING` (2) as its only field.
fn health(core: &Core) -> Vec<u8> {
    let serving = if core.admit().is_ok() { 1 } else { 2 };
    vec![0x08, serving]
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

fn not_grpc() -> Response<Incoming> {
    let mut response =
        Response::new(Incoming::from("this port speaks gRPC; OTLP/HTTP has a port of its own\n"));
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn success(message: &[u8]) -> Response<Incoming> {
    let mut frame = Vec::with_capacity(FRAME_HEAD + message.len());
    frame.push(0);
    frame.extend_from_slice(&u32::try_from(message.len()).unwrap_or_default().to_be_bytes());
    frame.extend_from_slice(message);
    let mut trailers = HeaderMap::new();
    trailers.insert(Status::GRPC_STATUS, HeaderValue::from_static("0"));
    let body = Full::new(Bytes::from(frame)).with_trailers(std::future::ready(Some(Ok(trailers))));
    let mut response = Response::new(Incoming::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}
