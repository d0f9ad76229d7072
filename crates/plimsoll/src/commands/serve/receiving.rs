//! From the settings to running receivers and writers.

use plimsoll_ingest::{Ingest, IngestConfig};
use plimsoll_lake::Lake;

use crate::{failure::Failure, open, settings::Settings};

/// Starts what takes telemetry, by the settings.
pub(in crate::commands) async fn start(settings: &Settings, lake: &Lake) -> Result<Ingest, Failure> {
    let decoder = open::decoder(settings, lake)?;
    let mut config = IngestConfig::new(settings.journal());
    config.grpc = Some(settings.otlp.grpc);
    config.http = Some(settings.otlp.http);
    config.allow_remote = settings.otlp.allow_remote;
    config.limits.max_message_bytes = settings.otlp.max_message_bytes;
    config.journal.max_bytes = settings.journal.max_bytes;
    Ingest::start(config, lake.clone(), decoder).await.map_err(Failure::input)
}
