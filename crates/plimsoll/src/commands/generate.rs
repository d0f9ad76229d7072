//! `plimsoll generate`: realistic agent telemetry as OTLP, to a receiver or a file.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use plimsoll_scenario::{Options, Scenario};
use prost::Message as _;
use tokio::task::JoinSet;

use crate::{
    failure::{self, Failure},
    progress::Progress,
};

/// Requests that are under way at once.
const PARALLEL: usize = 4;
/// Times that a request is sent again when the receiver asks for it.
const TRIES: u32 = 60;

/// Options of `generate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Generate {
    /// The scenario; without it, the example company.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Prints the example company's scenario file, to copy and change.
    #[arg(long)]
    print_scenario: bool,
    /// First day, where not the scenario's.
    #[arg(long)]
    from: Option<jiff::civil::Date>,
    /// Days, where not the scenario's.
    #[arg(long)]
    days: Option<u32>,
    /// Seed, where not the scenario's.
    #[arg(long)]
    seed: Option<u64>,
    /// How many times larger the company is than the scenario says.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// A receiver (http://127.0.0.1:4318) or a file: .jsonl for JSON lines, else length-delimited
    /// protobuf; `-` is JSON lines on stdout.
    #[arg(long, default_value = "-")]
    to: String,
}

impl Generate {
    pub(crate) async fn run(&self) -> Result<ExitCode, Failure> {
        if self.print_scenario {
            std::io::stdout().lock().write_all(plimsoll_scenario::INSURER.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let scenario = read(self.scenario.as_deref())?;
        let options = Options { from: self.from, days: self.days, seed: self.seed, scale: self.scale };
        let requests = scenario.generate(options).map_err(Failure::input)?;
        let progress = Progress::spinner();
        if self.to.starts_with("http://") || self.to.starts_with("https://") {
            let sent = send(requests, &self.to, |spans| progress.say(&format!("{spans} spans sent"))).await?;
            progress.finish();
            writeln!(std::io::stderr(), "{sent} spans sent to {}", self.to)?;
        } else {
            write(requests, &self.to)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A scenario from a file, or the example company.
pub(super) fn read(path: Option<&Path>) -> Result<Scenario, Failure> {
    match path {
        None => Scenario::insurer().map_err(Failure::internal),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(failure::file(path))?;
            Scenario::parse(&text).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
        }
    }
}

/// Sends requests to an OTLP/HTTP receiver, several at once, and again where it asks for patience;
/// gives the number of spans that were acknowledged.
pub(super) async fn send(
    requests: impl Iterator<Item = ExportTraceServiceRequest>,
    to: &str,
    mut progress: impl FnMut(u64),
) -> Result<u64, Failure> {
    let client =
        reqwest::Client::builder().timeout(Duration::from_secs(60)).build().map_err(Failure::internal)?;
    let url = format!("{}/v1/traces", to.trim_end_matches('/'));
    let mut under_way: JoinSet<Result<u64, Failure>> = JoinSet::new();
    let mut sent = 0;
    for request in requests {
        if under_way.len() >= PARALLEL {
            sent += joined(under_way.join_next().await)?;
            progress(sent);
        }
        let (client, url) = (client.clone(), url.clone());
        let spans = spans(&request);
        let body = request.encode_to_vec();
        under_way.spawn(async move { post(&client, &url, body).await.map(|()| spans) });
    }
    while let Some(done) = under_way.join_next().await {
        sent += joined(Some(done))?;
        progress(sent);
    }
    Ok(sent)
}

fn spans(request: &ExportTraceServiceRequest) -> u64 {
    let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
    scopes.map(|scope| scope.spans.len() as u64).sum()
}

fn joined(done: Option<Result<Result<u64, Failure>, tokio::task::JoinError>>) -> Result<u64, Failure> {
    match done {
        None => Ok(0),
        Some(Ok(done)) => done,
        Some(Err(error)) => Err(Failure::internal(error)),
    }
}

async fn post(client: &reqwest::Client, url: &str, body: Vec<u8>) -> Result<(), Failure> {
    let body = bytes::Bytes::from(body);
    for tried in 0..TRIES {
        let answer = client
            .post(url)
            .header("content-type", "application/x-protobuf")
            .body(body.clone())
            .send()
            .await
            .map_err(|error| {
                Failure::input(format!("cannot send to {url}: {error}: is a receiver listening there?"))
            })?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        if !matches!(status.as_u16(), 429 | 502..=504) {
            return Err(Failure::input(format!("{url} answered {status}: it does not take OTLP traces")));
        }
        let asked = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let wait = asked.map_or(Duration::from_millis(100 * u64::from(tried + 1)), Duration::from_secs);
        tokio::time::sleep(wait).await;
    }
    Err(Failure::internal(format!("{url} asked for patience {TRIES} times: it is overloaded")))
}

fn write(requests: impl Iterator<Item = ExportTraceServiceRequest>, to: &str) -> Result<(), Failure> {
    if to == "-" {
        return lines(requests, std::io::stdout().lock());
    }
    let path = Path::new(to);
    let file = File::create(path).map_err(failure::file(path))?;
    if path.extension().is_some_and(|ending| ending == "jsonl" || ending == "json") {
        return lines(requests, file);
    }
    let mut out = BufWriter::new(file);
    for request in requests {
        let body = request.encode_to_vec();
        let length = u32::try_from(body.len()).map_err(Failure::internal)?;
        out.write_all(&length.to_be_bytes())?;
        out.write_all(&body)?;
    }
    Ok(out.flush()?)
}

fn lines(requests: impl Iterator<Item = ExportTraceServiceRequest>, out: impl Write) -> Result<(), Failure> {
    let mut out = BufWriter::new(out);
    for request in requests {
        serde_json::to_writer(&mut out, &request).map_err(Failure::internal)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
