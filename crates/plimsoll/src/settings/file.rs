//! The file as a whole: where it is found, and what its sections give together.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, tz::TimeZone};
use plimsoll_assembly::naming::{DeploymentRule, NameRule, Rules, RunRule};
use plimsoll_plan::Span;
use serde::Deserialize;

use super::{Folders, Jobs, Journal, Kafka, Otlp, Query, Serve, Upkeep, Web};
use crate::{
    cli::Shared,
    failure::{self, Failure},
};

/// The file that is read where none is named.
const DEFAULT_FILE: &str = "plimsoll.toml";
/// The lake where none is named.
const DEFAULT_LAKE: &str = "./lake";

/// The settings, with their defaults.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// Folder or URL of the lake.
    lake: Option<String>,
    /// What a `serve` process does.
    pub(crate) serve: Serve,
    /// OTLP receivers.
    pub(crate) otlp: Otlp,
    /// The broker that telemetry is read from, and kept on.
    pub(crate) kafka: Option<Kafka>,
    /// Web port: health, metrics.
    pub(crate) web: Web,
    /// The journal of what was acknowledged and is not yet in the lake.
    pub(crate) journal: Journal,
    /// The SQL jobs.
    pub(crate) jobs: Jobs,
    /// SQL over HTTP.
    pub(crate) query: Query,
    /// What keeps a lake fast as it grows.
    pub(crate) upkeep: Upkeep,
    /// How long rows are kept, by table; without an entry, for ever.
    pub(crate) retention: BTreeMap<String, Span>,
    /// A user's own data files.
    pub(crate) folders: Folders,
    workflow: Vec<NameRule>,
    account: Vec<NameRule>,
    deployment: Vec<DeploymentRule>,
    run: Vec<RunRule>,
}

impl Settings {
    /// Reads the file that the command line names, or `./plimsoll.toml`, or nothing.
    ///
    /// # Errors
    /// A file that cannot be read, or that says something unknown.
    pub(crate) fn read(shared: &Shared) -> Result<Self, Failure> {
        let path = match &shared.config {
            Some(path) => path.clone(),
            None if PathBuf::from(DEFAULT_FILE).is_file() => PathBuf::from(DEFAULT_FILE),
            None => return Ok(Self::default().with_lake(shared)),
        };
        let text = std::fs::read_to_string(&path).map_err(failure::file(&path))?;
        let settings: Self = plimsoll_toml::read(&path.display().to_string(), &text)?;
        Ok(settings.with_lake(shared))
    }

    /// The settings of a demo: those of its own file, its own lake, and free ports on loopback.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn for_demo(&self, file: &Path, lake: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(file).map_err(failure::file(file))?;
        let mut settings: Self = plimsoll_toml::read(&file.display().to_string(), &text)?;
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        (settings.otlp.grpc, settings.otlp.http) = (free, free);
        settings.lake = Some(lake.display().to_string());
        settings.folders = self.folders.clone();
        Ok(settings)
    }

    /// The same settings for another lake.
    pub(crate) fn of_lake(&self, lake: &str) -> Self {
        Self { lake: Some(lake.to_owned()), ..self.clone() }
    }

    fn with_lake(mut self, shared: &Shared) -> Self {
        if let Some(lake) = &shared.lake {
            self.lake = Some(lake.clone());
        }
        self
    }

    /// Folder or URL of the lake.
    pub(crate) fn lake(&self) -> &str {
        self.lake.as_deref().unwrap_or(DEFAULT_LAKE)
    }

    /// Folder of the journal.
    pub(crate) fn journal(&self) -> PathBuf {
        match &self.journal.folder {
            Some(folder) => folder.clone(),
            None if self.lake().contains("://") => PathBuf::from("journal"),
            None => PathBuf::from(self.lake()).join("journal"),
        }
    }

    /// The match rules.
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            workflow: self.workflow.clone(),
            account: self.account.clone(),
            deployment: self.deployment.clone(),
            run: self.run.clone(),
        }
    }

    /// Time zone of profiles.
    ///
    /// # Errors
    /// A name that the time zone database does not know.
    pub(crate) fn time_zone(&self) -> Result<TimeZone, Failure> {
        let name = &self.jobs.time_zone;
        TimeZone::get(name).map_err(|_| {
            Failure::input(format!(
                "jobs.time_zone: {name:?} is no time zone: use an IANA name such as America/New_York"
            ))
        })
    }

    /// How long a run waits for its root.
    pub(crate) fn acceptance_window(&self) -> SignedDuration {
        SignedDuration::try_from(self.jobs.acceptance_window.duration()).unwrap_or(SignedDuration::MAX)
    }
}
