//! OTLP/JSON: `node` is JSON in memory without copies, `transcode` writes it as protobuf, `logs` the same
//! of log records.

mod logs;
mod node;
mod transcode;

pub(crate) use logs::logs_to_protobuf;
pub(crate) use transcode::to_protobuf;
