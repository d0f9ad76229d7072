//! A lake in memory, fed with hand-made OTLP through the real decoder.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use arrow::{array::RecordBatch, json::ArrayWriter};
use futures::TryStreamExt;
use jiff::{SignedDuration, ToSpan, civil::date, tz::TimeZone};
use object_store::{ObjectStore, ObjectStoreExt};
use plimsoll_assembly::naming::Rules;
use plimsoll_catalog::Catalog;
use plimsoll_lake::{Appended, Lake, Order, Schemas};
use plimsoll_otlp::{Decoder, Dialects, Encoding, Receipt};
use plimsoll_profile::{Limits, Policy, Reader, Remake, RoundReport, SessionFactory, SqlFiles, run_round};
use serde_json::{Value, json};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// 2026-09-01T12:00:00Z, to which hand-made spans are relative.
pub(crate) const NOON: i64 = 1_788_264_000_000_000_000;
/// Receipt of the first bodies, microseconds.
pub(crate) const RECEIVED: i64 = NOON / 1000 + 3_600_000_000;

fn texts(folder: &str) -> Outcome<Vec<(String, String)>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, std::fs::read_to_string(path)?));
        }
    }
    found.sort();
    Ok(found)
}

/// Descriptions of the tables, without the columns of `(table, column)` that are not wanted.
pub(crate) fn schemas(wanted: impl Fn(&str, &str) -> bool) -> Outcome<Arc<Schemas>> {
    let mut files = texts("tables")?;
    for (file, text) in &mut files {
        let table = file.trim_end_matches(".toml").to_owned();
        let column = |line: &str| {
            let (_, rest) = line.split_once("{ name = \"")?;
            rest.split('"').next().map(str::to_owned)
        };
        let keep = |line: &&str| column(line).is_none_or(|column| wanted(&table, &column));
        *text = text.lines().filter(keep).collect::<Vec<_>>().join("\n");
    }
    Ok(Arc::new(Schemas::load(files)?))
}

/// Worlds made: each appends under a name of its own.
static WORLDS: AtomicI64 = AtomicI64::new(0);

/// A lake with what works on it.
pub(crate) struct World {
    pub(crate) lake: Lake,
    pub(crate) factory: SessionFactory,
    decoder: Decoder,
    writer: String,
    appended: AtomicI64,
}

impl World {
    pub(crate) async fn new() -> Outcome<Self> {
        Self::with("UTC", &Rules::default(), Limits::default()).await
    }

    pub(crate) async fn in_zone(zone: &str) -> Outcome<Self> {
        Self::with(zone, &Rules::default(), Limits::default()).await
    }

    pub(crate) async fn with_rules(rules: &Rules) -> Outcome<Self> {
        Self::with("UTC", rules, Limits::default()).await
    }

    pub(crate) async fn within(limits: Limits) -> Outcome<Self> {
        Self::with("UTC", &Rules::default(), limits).await
    }

    async fn with(zone: &str, rules: &Rules, limits: Limits) -> Outcome<Self> {
        let lake = Lake::open("memory://", schemas(|_, _| true)?).await?;
        Self::on(lake, zone, rules, limits)
    }

    /// The lake in a store.
    pub(crate) fn over(store: Arc<dyn ObjectStore>) -> Outcome<Self> {
        Self::described(store, schemas(|_, _| true)?)
    }

    /// The lake in a store, by other descriptions of its tables.
    pub(crate) fn described(store: Arc<dyn ObjectStore>, schemas: Arc<Schemas>) -> Outcome<Self> {
        let lake = Lake::with_store("memory:///lake".parse()?, store, schemas);
        Self::on(lake, "UTC", &Rules::default(), Limits::default())
    }

    fn on(lake: Lake, zone: &str, rules: &Rules, limits: Limits) -> Outcome<Self> {
        let all = schemas(|_, _| true)?;
        let schema = |name: &str| all.get(name).map(plimsoll_lake::TableSchema::arrow);
        let (Some(spans), Some(quarantine)) = (schema("spans"), schema("quarantine")) else {
            return Err("spans and quarantine are not described".into());
        };
        let decoder = Decoder::new(Dialects::load(texts("dialects")?)?, spans, quarantine)?;
        let policy = Policy::new(
            Catalog::load(texts("providers")?)?,
            rules,
            TimeZone::get(zone)?,
            SignedDuration::from_hours(6),
        )?;
        Ok(Self {
            lake,
            factory: SessionFactory::new(policy, SqlFiles::embedded(), limits),
            decoder,
            writer: format!("test/{}", WORLDS.fetch_add(1, Ordering::Relaxed)),
            appended: AtomicI64::new(0),
        })
    }

    /// Stores spans as one body received at an instant.
    pub(crate) async fn receive(&self, spans: &[Value], received: i64) -> Outcome {
        let body = json!({"resourceSpans": [{
            "resource": {"attributes": [attribute("service.name", &json!("agents"))]},
            "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}],
        }]});
        let rejected = self.receive_body(body.to_string().as_bytes(), received).await?;
        assert_eq!(rejected, 0);
        Ok(())
    }

    /// Stores an OTLP/JSON body received at an instant, and says how many spans were rejected.
    pub(crate) async fn receive_body(&self, body: &[u8], received: i64) -> Outcome<u64> {
        let receipt = Receipt { received_unix_micros: received, source: "otlp/test" };
        let decoded = self.decoder.decode(body, Encoding::Json, &receipt)?;
        self.append("quarantine", decoded.quarantined).await?;
        self.append("spans", decoded.spans).await?;
        Ok(decoded.rejected)
    }

    async fn append(&self, table: &str, batch: RecordBatch) -> Outcome {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let table = self.lake.table(table).await?;
        let schema = batch.schema();
        let known = schema.fields().iter().enumerate();
        let known: Vec<usize> = known
            .filter(|(_, field)| table.schema().column(field.name()).is_some())
            .map(|(at, _)| at)
            .collect();
        let files = table.write(&[batch.project(&known)?], Order::AsIs).await?;
        let next = self.appended.fetch_add(1, Ordering::Relaxed);
        match table.append(files, &[(self.writer.clone(), next)]).await? {
            Appended::Committed { .. } => Ok(()),
            Appended::AlreadyThere => Err("appended twice".into()),
        }
    }

    pub(crate) async fn round(&self) -> Outcome<RoundReport> {
        Ok(run_round(&self.lake, &self.factory, Remake::Nothing, &|_| ()).await?)
    }

    pub(crate) async fn rebuild(&self) -> Outcome<RoundReport> {
        Ok(run_round(&self.lake, &self.factory, Remake::All, &|_| ()).await?)
    }

    /// The days of a table before one, counted from the first receipt, expire.
    pub(crate) async fn retain(&self, table: &str, first: i32) -> Outcome {
        let day = date(2026, 9, 1).checked_add(first.days())?;
        self.lake.table(table).await?.retain(day).await?;
        Ok(())
    }

    /// How many objects of the lake hold a text, as it is.
    pub(crate) async fn names(&self, text: &str) -> Outcome<usize> {
        let store = self.lake.store();
        let mut found = 0;
        for object in store.list(None).try_collect::<Vec<_>>().await? {
            let bytes = store.get(&object.location).await?.bytes().await?;
            found += usize::from(bytes.windows(text.len()).any(|window| window == text.as_bytes()));
        }
        Ok(found)
    }

    /// Rows as JSON objects.
    pub(crate) async fn query(&self, sql: &str) -> Outcome<Vec<Value>> {
        let batches = Reader::pinned(&self.lake, &self.factory).await?.query(sql).await?;
        let mut writer = ArrayWriter::new(Vec::new());
        for batch in &batches {
            writer.write(batch)?;
        }
        writer.finish()?;
        let bytes = writer.into_inner();
        Ok(if bytes.is_empty() { Vec::new() } else { serde_json::from_slice(&bytes)? })
    }

    /// The one value of the one row.
    pub(crate) async fn value(&self, sql: &str) -> Outcome<Value> {
        let rows = self.query(sql).await?;
        let value = rows.first().and_then(Value::as_object).and_then(|row| row.values().next());
        Ok(value.cloned().unwrap_or(Value::Null))
    }
}

/// Everything that jobs made, but for when it was received.
pub(crate) async fn everything(world: &World) -> Outcome<Vec<Vec<Value>>> {
    let mut tables = Vec::new();
    for sql in [
        "SELECT * EXCLUDE (first_received, last_received) FROM runs ORDER BY run_id",
        "SELECT * FROM model_calls ORDER BY run_id, span_id",
        "SELECT * FROM attempts ORDER BY run_id, span_id, attempt",
        "SELECT * FROM tool_calls ORDER BY run_id, span_id",
        "SELECT * FROM run_profiles ORDER BY workflow, grain, window_start, metric, pool",
        "SELECT * FROM call_profiles ORDER BY workflow, step, model, grain, window_start, metric",
        "SELECT * FROM run_profiles_by_version ORDER BY workflow, window_start, model_version, prompt_version, metric",
        "SELECT * FROM lake.draw ORDER BY pool, window_s, bucket, measure",
        "SELECT * FROM inflight ORDER BY boundary, name, bucket",
        "SELECT * FROM stage_queue ORDER BY stage, bucket",
        "SELECT * FROM call_profiles_by_version ORDER BY workflow, step, model, window_start, prompt_version, metric",
    ] {
        tables.push(world.query(sql).await?);
    }
    Ok(tables)
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::String(text) => json!({"stringValue": text}),
        Value::Bool(truth) => json!({"boolValue": truth}),
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        other => json!({"intValue": other.to_string()}),
    };
    json!({"key": key, "value": value})
}

/// A span; times in milliseconds after noon.
pub(crate) fn span(
    trace: u64,
    id: u64,
    parent: u64,
    name: &str,
    from_ms: i64,
    to_ms: i64,
    attributes: &Value,
) -> Value {
    let attributes: Vec<Value> =
        attributes.as_object().into_iter().flatten().map(|(key, value)| attribute(key, value)).collect();
    let mut span = json!({
        "traceId": format!("{trace:032x}"),
        "spanId": format!("{:016x}", trace * 1000 + id),
        "name": name,
        "kind": 1,
        "startTimeUnixNano": (NOON + from_ms * 1_000_000).to_string(),
        "endTimeUnixNano": (NOON + to_ms * 1_000_000).to_string(),
        "attributes": attributes,
    });
    if parent > 0 {
        span["parentSpanId"] = json!(format!("{:016x}", trace * 1000 + parent));
    }
    span
}

/// The root of a run.
pub(crate) fn root(trace: u64, workflow: &str, from_ms: i64, to_ms: i64) -> Value {
    let attributes = json!({"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": workflow});
    span(trace, 1, 0, &format!("invoke_workflow {workflow}"), from_ms, to_ms, &attributes)
}

/// A model call under the root.
pub(crate) fn chat(trace: u64, id: u64, from_ms: i64, to_ms: i64, input: i64, output: i64) -> Value {
    let attributes = json!({
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5-20250929",
        "gen_ai.usage.input_tokens": input,
        "gen_ai.usage.output_tokens": output,
    });
    span(trace, id, 1, "chat claude-sonnet-4-5", from_ms, to_ms, &attributes)
}

/// A span with one more attribute.
pub(crate) fn with(mut span: Value, key: &str, value: &str) -> Value {
    if let Some(attributes) = span["attributes"].as_array_mut() {
        attributes.push(attribute(key, &json!(value)));
    }
    span
}

/// A run of one call.
pub(crate) fn simple_run(trace: u64, workflow: &str, from_ms: i64, input: i64) -> Vec<Value> {
    vec![
        root(trace, workflow, from_ms, from_ms + 1000),
        chat(trace, 2, from_ms + 100, from_ms + 900, input, 10),
    ]
}

/// A run in which much happens, seven spans: an agent that repeats its calls' totals, a refused attempt
/// and its retry, a tool, a call without usage and one within the agent's tool.
pub(crate) fn eventful_run(trace: u64, workflow: &str, from_ms: i64, input: i64) -> Vec<Value> {
    let at = |ms: i64| from_ms + ms;
    let call = |id: u64, parent: u64, from: i64, to: i64, more: &Value| {
        let mut attributes = json!({
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4.1",
        });
        if let (Some(attributes), Some(more)) = (attributes.as_object_mut(), more.as_object()) {
            attributes.extend(more.clone());
        }
        span(trace, id, parent, "chat gpt-4.1", at(from), at(to), &attributes)
    };
    let usage = |input: i64| json!({"gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": 10});
    let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "reconciler",
        "gen_ai.usage.input_tokens": 2 * input, "gen_ai.usage.output_tokens": 20});
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "fetch"});
    let mut refused = call(3, 2, 100, 120, &json!({"error.type": "429", "http.response.status_code": 429}));
    refused["status"] = json!({"code": 2});
    vec![
        root(trace, workflow, from_ms, at(5000)),
        span(trace, 2, 1, "invoke_agent reconciler", at(50), at(4000), &agent),
        refused,
        call(4, 2, 600, 1500, &usage(input)),
        span(trace, 5, 2, "execute_tool fetch", at(1600), at(3000), &tool),
        call(6, 5, 1700, 2800, &usage(input)),
        call(7, 1, 4100, 4900, &json!({"gen_ai.request.stream": true})),
    ]
}
