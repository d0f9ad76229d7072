//! OTLP/JSON: `node` is JSON in memory without copies, `transcode` writes it as protobuf.

mod node;
mod transcode;

pub(crate) use transcode::to_protobuf;
