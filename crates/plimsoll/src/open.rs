//! Opening what commands work on: the lake, the decoder, the session factory, the calendar.

use std::sync::Arc;

use plimsoll_catalog::Catalog;
use plimsoll_lake::{Compaction, Lake, Schemas};
use plimsoll_otlp::{Decoder, Dialects};
use plimsoll_profile::{Limits, Policy, SessionFactory, SqlFiles, Upkeep};

use crate::{embedded, failure::Failure, settings::Settings};

/// The embedded table descriptions.
pub(crate) fn schemas() -> Result<Schemas, Failure> {
    Ok(Schemas::load(embedded::texts("tables", None)?)?)
}

/// The lake that the settings name, by the embedded table descriptions.
pub(crate) async fn lake(settings: &Settings) -> Result<Lake, Failure> {
    Ok(Lake::open(settings.lake(), Arc::new(schemas()?)).await?)
}

/// The same, where there is one: nothing is made, and a read-only folder will do.
pub(crate) async fn existing_lake(settings: &Settings) -> Result<Lake, Failure> {
    Ok(Lake::open_existing(settings.lake(), Arc::new(schemas()?)).await?)
}

/// The decoder, with a user's dialects merged over ours.
pub(crate) fn decoder(settings: &Settings, lake: &Lake) -> Result<Arc<Decoder>, Failure> {
    decoder_of(settings, lake.schemas())
}

/// The same without a lake.
pub(crate) fn decoder_of(settings: &Settings, schemas: &Schemas) -> Result<Arc<Decoder>, Failure> {
    let texts = embedded::texts("dialects", settings.folders.dialects.as_deref())?;
    let dialects = Dialects::load(texts).map_err(Failure::input)?;
    let schema = |name: &str| {
        schemas
            .get(name)
            .map(plimsoll_lake::TableSchema::arrow)
            .ok_or_else(|| Failure::internal(format!("table {name} is not described")))
    };
    let decoder = Decoder::new(dialects, schema("spans")?, schema("quarantine")?).map_err(Failure::input)?;
    Ok(Arc::new(decoder))
}

/// The provider rules, with a user's own over ours.
pub(crate) fn catalog(settings: &Settings) -> Result<Catalog, Failure> {
    let texts = embedded::texts("providers", settings.folders.providers.as_deref())?;
    Ok(Catalog::load(texts)?)
}

/// What the SQL functions decide by.
pub(crate) fn policy(settings: &Settings) -> Result<Policy, Failure> {
    let rules = settings.rules();
    let (zone, window) = (settings.time_zone()?, settings.acceptance_window());
    Policy::new(catalog(settings)?, &rules, zone, window).map_err(Failure::input)
}

/// What a beat of upkeep does.
pub(crate) fn upkeep(settings: &Settings) -> Upkeep {
    let ages = settings.retention.iter().map(|(table, age)| (table.clone(), age.duration()));
    Upkeep {
        compaction: Compaction { target_bytes: settings.upkeep.target_bytes, ..Compaction::default() },
        retention: ages.collect(),
        keep_versions: settings.upkeep.keep_versions.duration(),
    }
}

/// What every session of the jobs, and of a command, shares.
pub(crate) fn sessions(settings: &Settings) -> Result<SessionFactory, Failure> {
    sessions_within(settings, Limits { memory_bytes: settings.jobs.memory_bytes, ..Limits::default() })
}

/// The same within other limits.
pub(crate) fn sessions_within(settings: &Settings, limits: Limits) -> Result<SessionFactory, Failure> {
    let policy = policy(settings)?;
    let mut sql = SqlFiles::embedded();
    if let Some(folder) = &settings.folders.sql {
        sql = sql.overlaid(folder).map_err(crate::failure::file(folder))?;
    }
    Ok(SessionFactory::new(policy, sql, limits))
}
