//! The content types of OTLP bodies, over HTTP and in the headers of messages.

use plimsoll_otlp::Encoding;

/// Of a body in protobuf.
pub(crate) const PROTOBUF: &str = "application/x-protobuf";
/// Of a body in JSON.
pub(crate) const JSON: &str = "application/json";

/// The content type of a body.
pub(crate) fn of(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Protobuf => PROTOBUF,
        Encoding::Json => JSON,
    }
}

/// How a body of a content type is written; none where that is none of OTLP's.
pub(crate) fn encoding(content_type: &str) -> Option<Encoding> {
    [Encoding::Protobuf, Encoding::Json].into_iter().find(|encoding| is(content_type, of(*encoding)))
}

/// Whether a content type is one of that name, whatever its parameters.
pub(crate) fn is(content_type: &str, name: &str) -> bool {
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(name)
}
