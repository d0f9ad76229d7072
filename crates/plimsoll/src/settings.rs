//! `plimsoll.toml`: how this lake is read and served.
//!
//! Every key has its default here; an unknown one is an error that names the line and what was
//! probably meant. What to plan for stands in `plan.toml`, not here.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, tz::TimeZone};
use plimsoll_assembly::naming::{DeploymentRule, NameRule, Rules, RunRule};
use plimsoll_plan::Span;
use serde::Deserialize;

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
    /// OTLP receivers.
    pub(crate) otlp: Otlp,
    /// Web port: health, metrics.
    pub(crate) web: Web,
    /// The journal of what was acknowledged and is not yet in the lake.
    pub(crate) journal: Journal,
    /// The SQL jobs.
    pub(crate) jobs: Jobs,
    /// A user's own data files.
    pub(crate) folders: Folders,
    workflow: Vec<NameRule>,
    account: Vec<NameRule>,
    deployment: Vec<DeploymentRule>,
    run: Vec<RunRule>,
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
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Journal {
    /// Folder; without it, `journal` in a local lake's folder, or `./journal`.
    pub(crate) folder: Option<PathBuf>,
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
    /// Memory for queries, bytes; past it the engine spills to temporary files.
    pub(crate) memory_bytes: usize,
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

impl Default for Jobs {
    fn default() -> Self {
        Self {
            every: "5m".parse().unwrap_or(Span::of_days(1)),
            acceptance_window: "6h".parse().unwrap_or(Span::of_days(1)),
            time_zone: "UTC".to_owned(),
            memory_bytes: 2 << 30,
        }
    }
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
