//! OTLP trace and log bytes to the columns of `spans` and `quarantine`, by the dialect tables it is handed.
//!
//! Pure: bytes in, Arrow out; no I/O. Receiving, journaling and storing are `ingest`'s; making runs of
//! spans is `assembly`'s. Invariant: every span of a body that decodes is counted once, as a row of
//! `spans`, a row of `quarantine`, or a rejected span with a reason, and so is every log record, or it is
//! counted as one that tells of no call; content is in none of them.

mod columns;
mod decode;
mod dialect;
mod error;
pub mod explain;
pub mod forward;
mod json;
mod layout;
mod logs;
mod quality;
mod rejected;
mod rules;
mod sampling;
mod text;
mod wire;

pub use decode::{Decoded, Decoder, Encoding, Receipt};
pub use dialect::Dialects;
pub use error::{DecodeError, DialectError, OtlpError};
