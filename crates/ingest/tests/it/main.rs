//! Ingest from outside: what the protocol says, what a crash leaves, what a file gives.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

mod disk;
mod files;
mod grpc;
mod http;
mod huge;
mod journal;
mod kafka;
mod kafka_faults;
mod kafka_group;
mod kafka_log;
mod kafka_messages;
mod kafka_support;
mod logs;
mod pipeline;
mod support;
mod weather;
