//! The receivers: OTLP over HTTP and over gRPC, by the rules of the OTLP specification 1.11.0.
//!
//! They read a body within its limits, hand it to [`crate::accept`], and answer in the protocol's own
//! way. Neither decides anything about spans.

mod answer;
mod body;
mod grpc;
mod http;

pub(crate) use grpc::serve as serve_grpc;
pub(crate) use http::serve as serve_http;
