//! The bodies of answers, in the encoding of the request.
//!
//! The three signals' success messages have the same fields under the same numbers, so one protobuf
//! message answers them all; in JSON the name of the rejected field differs.

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use plimsoll_otlp::Encoding;
use prost::Message;
use serde_json::json;
use tonic::Code;
use tonic_types::{ErrorDetails, StatusExt};

use crate::accept::{Accepted, Refusal};
use crate::signal::Signal;

/// The body of a success: `partial_success` is unset where there is nothing to say.
pub(crate) fn success(accepted: &Accepted, signal: Signal, encoding: Encoding) -> Vec<u8> {
    let Accepted { rejected, message } = accepted;
    let message = message.clone().unwrap_or_default();
    let partial = *rejected > 0 || !message.is_empty();
    match encoding {
        Encoding::Protobuf => {
            let rejected_spans = i64::try_from(*rejected).unwrap_or(i64::MAX);
            let partial_success =
                partial.then_some(ExportTracePartialSuccess { rejected_spans, error_message: message });
            ExportTraceServiceResponse { partial_success }.encode_to_vec()
        }
        Encoding::Json if !partial => b"{}".to_vec(),
        // The JSON mapping of protobuf writes 64-bit integers as strings.
        Encoding::Json => json!({
            "partialSuccess": { signal.rejected_field(): rejected.to_string(), "errorMessage": message }
        })
        .to_string()
        .into_bytes(),
    }
}

/// The status of a refusal, with `RetryInfo` where it should be tried again.
pub(crate) fn status(refusal: &Refusal) -> tonic::Status {
    let code = match refusal {
        Refusal::Invalid(_) => Code::InvalidArgument,
        Refusal::TooLarge(_) => Code::ResourceExhausted,
        Refusal::Busy(_) | Refusal::Unavailable(_) => Code::Unavailable,
    };
    match refusal.retry_after() {
        None => tonic::Status::new(code, refusal.to_string()),
        Some(seconds) => {
            let details = ErrorDetails::with_retry_info(Some(std::time::Duration::from_secs(seconds)));
            tonic::Status::with_error_details(code, refusal.to_string(), details)
        }
    }
}

/// The body of a refusal over HTTP: a `google.rpc.Status`.
pub(crate) fn failure(refusal: &Refusal, encoding: Encoding) -> Vec<u8> {
    let status = status(refusal);
    match encoding {
        Encoding::Protobuf if !status.details().is_empty() => status.details().to_vec(),
        Encoding::Protobuf => {
            let message = status.message().to_owned();
            tonic_types::Status { code: i32::from(status.code()), message, details: Vec::new() }
                .encode_to_vec()
        }
        Encoding::Json => {
            let mut body = json!({ "code": i32::from(status.code()), "message": status.message() });
            if let Some(seconds) = refusal.retry_after() {
                body["details"] = json!([{
                    "@type": "type.googleapis.com/google.rpc.RetryInfo",
                    "retryDelay": format!("{seconds}s"),
                }]);
            }
            body.to_string().into_bytes()
        }
    }
}
