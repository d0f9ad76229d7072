//! `plimsoll serve`: receives telemetry, runs the jobs on a schedule, answers on the web port.

use std::{net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use plimsoll_ingest::{Flushed, Ingest, IngestConfig};
use plimsoll_lake::Lake;
use plimsoll_profile::{Remake, SessionFactory, run_round};
use plimsoll_web::Status;
use tokio::{
    net::TcpListener,
    sync::watch,
    time::{Instant, MissedTickBehavior, interval_at},
};

use crate::{failure::Failure, open, settings::Settings, telemetry::Own};

/// Options of `serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Address of OTLP/gRPC.
    #[arg(long, env = "PLIMSOLL_OTLP_GRPC", value_name = "HOST:PORT")]
    otlp_grpc: Option<SocketAddr>,
    /// Address of OTLP/HTTP.
    #[arg(long, env = "PLIMSOLL_OTLP_HTTP", value_name = "HOST:PORT")]
    otlp_http: Option<SocketAddr>,
    /// Address of the web port: /healthz, /readyz, /metrics.
    #[arg(long, env = "PLIMSOLL_WEB", value_name = "HOST:PORT")]
    web: Option<SocketAddr>,
    /// How long a stop may take to bring what was acknowledged into the lake, seconds.
    #[arg(long, default_value_t = 20)]
    stop_seconds: u64,
    /// Takes addresses that other machines reach, although there is neither TLS nor a token yet.
    #[arg(long, env = "PLIMSOLL_ALLOW_REMOTE")]
    allow_remote: bool,
}

impl Serve {
    /// Lays what the command line and the environment say over the settings.
    pub(crate) fn override_settings(&self, settings: &mut Settings) {
        settings.otlp.grpc = self.otlp_grpc.unwrap_or(settings.otlp.grpc);
        settings.otlp.http = self.otlp_http.unwrap_or(settings.otlp.http);
        settings.web.listen = self.web.unwrap_or(settings.web.listen);
        settings.otlp.allow_remote |= self.allow_remote;
    }

    pub(crate) async fn run(&self, settings: Settings, own: &Own) -> Result<ExitCode, Failure> {
        if !settings.web.listen.ip().is_loopback() && !settings.otlp.allow_remote {
            return Err(Failure::input(format!(
                "{} is reachable by others and there is neither TLS nor a token yet: listen on 127.0.0.1, or say \
                 allow_remote where the network itself keeps others out",
                settings.web.listen
            )));
        }
        let lake = open::lake(&settings).await?;
        let sessions = open::sessions(&settings)?;
        let ingest = Arc::new(start(&settings, &lake).await?);
        let web = TcpListener::bind(settings.web.listen)
            .await
            .map_err(|error| Failure::input(format!("cannot listen on {}: {error}", settings.web.listen)))?;
        tracing::info!(
            lake = settings.lake(),
            grpc = ingest.grpc_addr().map(tracing::field::display),
            http = ingest.http_addr().map(tracing::field::display),
            web = %web.local_addr()?,
            "serving"
        );
        let (stop, stopped) = watch::channel(false);
        let status = Arc::new(ServeStatus { ingest: Arc::clone(&ingest), metrics: Box::new(own.scrape()) });
        let pages = tokio::spawn(plimsoll_web::serve(web, Arc::clone(&status), ended(stopped.clone())));
        let every = settings.jobs.every.duration();
        let jobs = tokio::spawn(jobs(lake, sessions, ingest.flushes(), every, stopped));

        asked_to_stop().await?;
        tracing::info!("stopping: no new requests, then a last flush");
        stop.send_replace(true);
        let deadline = Instant::now() + Duration::from_secs(self.stop_seconds);
        let _closed = tokio::time::timeout_at(deadline, pages).await;
        drop(status);
        own.send_now();
        let Some(ingest) = Arc::into_inner(ingest) else {
            return Err(Failure::internal(
                "a task still holds the receivers: what was acknowledged stays in the journal",
            ));
        };
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        let end = ingest.shutdown(left).await;
        // The flush has the time first. A round of jobs under way has what is left, and may be cut off:
        // its tables commit whole or not at all, and the next round does it over.
        let _late = tokio::time::timeout_at(deadline, jobs).await;
        tracing::info!(flushed = end.flushed, left_in_journal = end.left_in_journal, "stopped");
        Ok(ExitCode::SUCCESS)
    }
}

/// The receivers, by the settings.
pub(super) async fn start(settings: &Settings, lake: &Lake) -> Result<Ingest, Failure> {
    let decoder = open::decoder(settings, lake)?;
    let mut config = IngestConfig::new(settings.journal());
    config.grpc = Some(settings.otlp.grpc);
    config.http = Some(settings.otlp.http);
    config.allow_remote = settings.otlp.allow_remote;
    config.limits.max_message_bytes = settings.otlp.max_message_bytes;
    Ingest::start(config, lake.clone(), decoder).await.map_err(Failure::input)
}

/// Runs the jobs at each beat where a flush has brought something new since the last.
async fn jobs(
    lake: Lake,
    sessions: SessionFactory,
    mut flushes: watch::Receiver<Flushed>,
    every: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    let mut beat = interval_at(Instant::now() + every, every);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = beat.tick() => {}
            _ = stopped.changed() => return,
        }
        if !flushes.has_changed().unwrap_or(false) {
            continue;
        }
        flushes.mark_unchanged();
        let started = Instant::now();
        match run_round(&lake, &sessions, Remake::Nothing, &|_| ()).await {
            Ok(report) => tracing::info!(
                lake_version = report.lake_version,
                runs = report.runs,
                seconds = started.elapsed().as_secs_f64(),
                "round of jobs"
            ),
            // The next beat tries again with what is new by then.
            Err(error) => tracing::error!(%error, "round of jobs failed"),
        }
    }
}

struct ServeStatus {
    ingest: Arc<Ingest>,
    metrics: Box<dyn Fn() -> String + Send + Sync>,
}

impl Status for ServeStatus {
    fn alive(&self) -> bool {
        self.ingest.alive()
    }

    fn not_ready(&self) -> Option<String> {
        self.ingest.not_ready()
    }

    fn metrics(&self) -> String {
        (self.metrics)()
    }
}

async fn ended(mut stopped: watch::Receiver<bool>) {
    let _gone = stopped.wait_for(|stopped| *stopped).await;
}

async fn asked_to_stop() -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        done = tokio::signal::ctrl_c() => done?,
    }
    Ok(())
}
