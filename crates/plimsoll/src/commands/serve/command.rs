//! The command: its options, the start of each role, the stop.

use std::{net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use plimsoll_ingest::Ingest;
use plimsoll_lake::Lake;
use plimsoll_profile::Limits;
use plimsoll_web::{Queries, QueryLimits};
use tokio::{
    net::TcpListener,
    runtime::Handle,
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinHandle,
    time::{Instant, interval},
};

use super::{
    background,
    receiving::{self, Threads},
    runtime::Runtimes,
    status::ServeStatus,
};
use crate::{
    failure::Failure,
    open,
    settings::{Role, Settings},
    telemetry::Own,
};

/// How often it is looked whether everything still lives.
const WATCH: Duration = Duration::from_secs(1);

/// Options of `serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// What this process does; without it, everything.
    #[arg(long, env = "PLIMSOLL_ROLES", value_name = "ROLES", value_enum, value_delimiter = ',')]
    roles: Vec<Role>,
    /// Address of OTLP/gRPC.
    #[arg(long, env = "PLIMSOLL_OTLP_GRPC", value_name = "HOST:PORT")]
    otlp_grpc: Option<SocketAddr>,
    /// Address of OTLP/HTTP.
    #[arg(long, env = "PLIMSOLL_OTLP_HTTP", value_name = "HOST:PORT")]
    otlp_http: Option<SocketAddr>,
    /// Address of the web port: /healthz, /readyz, /metrics, /v1/sql.
    #[arg(long, env = "PLIMSOLL_WEB", value_name = "HOST:PORT")]
    web: Option<SocketAddr>,
    /// How long a stop may take to bring what was acknowledged into the lake, seconds.
    #[arg(long, default_value_t = 20)]
    stop_seconds: u64,
    /// Takes addresses that other machines reach, although there is neither TLS nor a token yet.
    #[arg(long, env = "PLIMSOLL_ALLOW_REMOTE")]
    allow_remote: bool,
}

/// What was started.
struct Running {
    ingest: Option<Arc<Ingest>>,
    pages: JoinHandle<std::io::Result<()>>,
    /// Rounds of jobs and upkeep; they end only when asked to.
    background: Vec<JoinHandle<()>>,
    stop: watch::Sender<bool>,
    runtimes: Runtimes,
}

impl Serve {
    /// Lays what the command line and the environment say over the settings.
    pub(crate) fn override_settings(&self, settings: &mut Settings) {
        if !self.roles.is_empty() {
            settings.serve.roles = self.roles.iter().copied().collect();
        }
        settings.otlp.grpc = self.otlp_grpc.unwrap_or(settings.otlp.grpc);
        settings.otlp.http = self.otlp_http.unwrap_or(settings.otlp.http);
        settings.web.listen = self.web.unwrap_or(settings.web.listen);
        settings.otlp.allow_remote |= self.allow_remote;
    }

    pub(crate) async fn run(&self, settings: Settings, own: &Own) -> Result<ExitCode, Failure> {
        check(&settings)?;
        // Listened for from before anything is acknowledged, or an early one would be a crash.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut running = Running::start(&settings, own).await?;
        let asked = tokio::select! {
            _ = terminate.recv() => Ok(()),
            asked = tokio::signal::ctrl_c() => asked.map_err(Failure::from),
            failure = running.failure() => Err(failure),
        };
        if let Err(failure) = &asked {
            tracing::error!(%failure, "stopping");
        } else {
            tracing::info!("stopping: no new requests, then a last flush");
        }
        own.send_now();
        running.stop(Duration::from_secs(self.stop_seconds)).await?;
        asked.map(|()| ExitCode::SUCCESS)
    }
}

fn check(settings: &Settings) -> Result<(), Failure> {
    settings.serve.roles.check(settings.journal.topic.is_some()).map_err(Failure::input)?;
    if settings.journal.topic.is_some() && settings.kafka.is_none() {
        return Err(Failure::input("journal.topic is on a cluster that [kafka] brokers must name"));
    }
    if !settings.web.listen.ip().is_loopback() && !settings.otlp.allow_remote {
        return Err(Failure::input(format!(
            "{} is reachable by others and there is neither TLS nor a token yet: listen on 127.0.0.1, or say \
             allow_remote where the network itself keeps others out",
            settings.web.listen
        )));
    }
    Ok(())
}

impl Running {
    async fn start(settings: &Settings, own: &Own) -> Result<Self, Failure> {
        let roles = &settings.serve.roles;
        // Receivers that keep requests on a topic have no lake, and no right to one.
        let lake = if roles.need_a_lake() { Some(open::lake(settings).await?) } else { None };
        let mut runtimes = Runtimes::default();
        let threads = Threads {
            receive: runtimes.start(Role::Receive, roles)?,
            write: runtimes.start(Role::Write, roles)?,
        };
        let ingest = if roles.has(Role::Receive) || roles.has(Role::Write) {
            Some(Arc::new(receiving::start(settings, lake.as_ref(), threads).await?))
        } else {
            None
        };
        let web = TcpListener::bind(settings.web.listen)
            .await
            .map_err(|error| Failure::input(format!("cannot listen on {}: {error}", settings.web.listen)))?;
        tracing::info!(
            roles = %roles,
            lake = lake.as_ref().map(|_| settings.lake()),
            grpc = ingest.as_ref().and_then(|ingest| ingest.grpc_addr()).map(tracing::field::display),
            http = ingest.as_ref().and_then(|ingest| ingest.http_addr()).map(tracing::field::display),
            web = %web.local_addr()?,
            "serving"
        );
        let queries = match (&lake, runtimes.start(Role::Query, roles)?) {
            (Some(lake), Some(there)) if settings.web.listen.ip().is_loopback() => {
                Some(queries(settings, lake, there)?)
            }
            _ => None,
        };
        let (stop, stopped) = watch::channel(false);
        let status = ServeStatus { ingest: ingest.clone(), metrics: Box::new(own.scrape()) };
        let pages = tokio::spawn(plimsoll_web::serve(web, Arc::new(status), queries, ended(stopped.clone())));
        let mut background = Vec::new();
        if let (Some(lake), Some(there)) = (lake, runtimes.start(Role::Jobs, roles)?) {
            let sessions = open::sessions(settings)?;
            let every = settings.jobs.every.duration();
            let jobs = background::jobs(lake.clone(), sessions.clone(), every, stopped.clone());
            background.push(there.spawn(jobs));
            let (options, every) = (open::upkeep(settings), settings.upkeep.every.duration());
            background.push(there.spawn(background::keep_up(lake, sessions, options, every, stopped)));
        }
        Ok(Self { ingest, pages, background, stop, runtimes })
    }

    /// Waits until a part of the process has ended that cannot be started again within it.
    async fn failure(&mut self) -> Failure {
        let mut beat = interval(WATCH);
        loop {
            beat.tick().await;
            if self.ingest.as_ref().is_some_and(|ingest| !ingest.alive()) {
                let reason = self.ingest.as_ref().and_then(|ingest| ingest.not_ready()).unwrap_or_default();
                return Failure::internal(format!("telemetry is no longer taken: {reason}"));
            }
            if self.pages.is_finished() || self.background.iter().any(JoinHandle::is_finished) {
                return Failure::internal("a part of the server has ended: see the log, and start it again");
            }
        }
    }

    /// Ends everything within `time`: requests first, then what was acknowledged, then the jobs.
    async fn stop(self, time: Duration) -> Result<(), Failure> {
        let deadline = Instant::now() + time;
        self.stop.send_replace(true);
        let _closed = tokio::time::timeout_at(deadline, self.pages).await;
        if let Some(ingest) = self.ingest {
            let Some(ingest) = Arc::into_inner(ingest) else {
                return Err(Failure::internal(
                    "a task still holds the receivers: what was acknowledged stays in the journal",
                ));
            };
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
            let end = ingest.shutdown(left).await;
            tracing::info!(flushed = end.flushed, left_in_journal = end.left_in_journal, "flushed");
        }
        // The flush has the time first. A round of jobs under way has what is left, and may be cut off:
        // its tables commit whole or not at all, and the next round does it over.
        for task in self.background {
            let _late = tokio::time::timeout_at(deadline, task).await;
        }
        drop(self.runtimes);
        tracing::info!("stopped");
        Ok(())
    }
}

fn queries(settings: &Settings, lake: &Lake, there: Handle) -> Result<Queries, Failure> {
    let memory = Limits { memory_bytes: settings.query.memory_bytes, ..Limits::default() };
    let limits = QueryLimits {
        rows: settings.query.max_rows,
        time: settings.query.timeout.duration(),
        at_once: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    Ok(Queries::new(lake.clone(), open::sessions_within(settings, memory)?, limits, there))
}

async fn ended(mut stopped: watch::Receiver<bool>) {
    let _gone = stopped.wait_for(|stopped| *stopped).await;
}
