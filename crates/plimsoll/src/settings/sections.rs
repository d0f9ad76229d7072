//! The sections of the file, each key with its default.

use std::{net::SocketAddr, path::PathBuf};

use plimsoll_plan::Span;
use serde::Deserialize;

use super::Roles;

/// `[serve]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Serve {
    /// What this process does.
    pub(crate) roles: Roles,
}

/// `[otlp]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Otlp {
    /// Address of OTLP/gRPC.
    pub(crate) grpc: SocketAddr,
    /// Address of OTLP/HTTP.
    pub(crate) http: SocketAddr,
    /// Whether addresses that other machines reach are taken, although there is neither TLS nor a
    /// token yet.
    pub(crate) allow_remote: bool,
    /// Bytes of one request once decompressed.
    pub(crate) max_message_bytes: usize,
}

/// `[web]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Web {
    /// Address of `/healthz`, `/readyz` and `/metrics`.
    pub(crate) listen: SocketAddr,
}

/// `[journal]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Journal {
    /// Folder of what this process keeps for itself; without it, `journal` in a local lake's folder, or
    /// `./journal`.
    pub(crate) folder: Option<PathBuf>,
    /// Topic of `[kafka]` on which receivers keep requests, instead of the disk; writers read it.
    pub(crate) topic: Option<String>,
    /// Bytes of requests that may wait for the lake on the disk; past them senders are asked to wait.
    pub(crate) max_bytes: u64,
    /// How long dead letters and damaged segments are kept.
    pub(crate) keep: Span,
}

/// `[jobs]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Jobs {
    /// How often `serve` runs them.
    pub(crate) every: Span,
    /// How long a run waits for its root, by the watermark.
    pub(crate) acceptance_window: Span,
    /// Time zone of the days and months that profiles are made for.
    pub(crate) time_zone: String,
    /// Memory for the jobs, bytes; past it the engine spills to temporary files.
    pub(crate) memory_bytes: usize,
}

/// `[query]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Query {
    /// Memory for queries over HTTP, bytes.
    pub(crate) memory_bytes: usize,
    /// Rows of an answer at most.
    pub(crate) max_rows: usize,
    /// How long a query may take.
    pub(crate) timeout: Span,
}

/// `[upkeep]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Upkeep {
    /// How often small files are merged, expired rows dropped and old files removed.
    pub(crate) every: Span,
    /// Bytes that a merged file is filled up to.
    pub(crate) target_bytes: u64,
    /// How long past versions of a table stay readable, and files that a crash left behind lie about.
    pub(crate) keep_versions: Span,
}

/// `[folders]`: a user's own files, laid over those that come with Plimsoll.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Folders {
    /// SQL: jobs, views, checks.
    pub(crate) sql: Option<PathBuf>,
    /// Dialects of telemetry.
    pub(crate) dialects: Option<PathBuf>,
    /// Provider rules.
    pub(crate) providers: Option<PathBuf>,
    /// Holiday sets.
    pub(crate) calendars: Option<PathBuf>,
    /// Templates of the report.
    pub(crate) templates: Option<PathBuf>,
}

impl Default for Otlp {
    fn default() -> Self {
        Self {
            grpc: SocketAddr::from(([127, 0, 0, 1], 4317)),
            http: SocketAddr::from(([127, 0, 0, 1], 4318)),
            allow_remote: false,
            max_message_bytes: 64 << 20,
        }
    }
}

impl Default for Web {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 4320)) }
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self { folder: None, topic: None, max_bytes: 4 << 30, keep: Span::of_days(30) }
    }
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            every: Span::of_minutes(5),
            acceptance_window: Span::of_minutes(6 * 60),
            time_zone: "UTC".to_owned(),
            memory_bytes: 2 << 30,
        }
    }
}

impl Default for Query {
    fn default() -> Self {
        Self { memory_bytes: 512 << 20, max_rows: 100_000, timeout: Span::of_minutes(1) }
    }
}

impl Default for Upkeep {
    fn default() -> Self {
        Self { every: Span::of_minutes(10), target_bytes: 128 << 20, keep_versions: Span::of_days(7) }
    }
}
