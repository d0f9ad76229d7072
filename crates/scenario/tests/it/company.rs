//! The ten weeks of the example company, played once for all tests and boiled down.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use plimsoll_scenario::{Options, Scenario};

/// One model call, refused or answered.
pub(crate) struct Call {
    pub(crate) workflow: &'static str,
    pub(crate) model: String,
    pub(crate) step: String,
    pub(crate) at: Timestamp,
    pub(crate) status: Option<i64>,
    pub(crate) error: Option<String>,
    pub(crate) stream: bool,
    pub(crate) attempt: i64,
    /// Input without what was retrieved, where usage is known.
    pub(crate) input: Option<i64>,
    /// Input as it counts against an Anthropic limit.
    pub(crate) drawn: i64,
    pub(crate) output: Option<i64>,
    pub(crate) max_tokens: Option<i64>,
    pub(crate) response_model: Option<String>,
}

/// One run.
pub(crate) struct Run {
    pub(crate) workflow: &'static str,
    pub(crate) at: Timestamp,
    pub(crate) seconds: f64,
    pub(crate) calls: i64,
    pub(crate) tools: i64,
    pub(crate) input: i64,
    pub(crate) parked: bool,
    pub(crate) resumed_from_step: Option<i64>,
    pub(crate) failed: bool,
}

/// All of it.
#[derive(Default)]
pub(crate) struct Company {
    pub(crate) spans: usize,
    pub(crate) calls: Vec<Call>,
    pub(crate) runs: Vec<Run>,
    /// Seconds that tools took, by workflow.
    pub(crate) tools: BTreeMap<&'static str, Vec<f64>>,
}

/// The example company at scale 1.
pub(crate) fn company() -> &'static Company {
    static COMPANY: OnceLock<Company> = OnceLock::new();
    COMPANY.get_or_init(|| {
        let mut company = Company::default();
        for request in Scenario::insurer().unwrap().generate(Options::default()).unwrap() {
            for resource in &request.resource_spans {
                let service = text(&resource.resource.as_ref().unwrap().attributes, "service.name").unwrap();
                let workflow = workflow(&service);
                let spans = resource.scope_spans.iter().flat_map(|scope| &scope.spans);
                spans.for_each(|span| company.take(workflow, span));
            }
        }
        company
    })
}

impl Company {
    fn take(&mut self, workflow: &'static str, span: &Span) {
        self.spans += 1;
        let attributes = &span.attributes;
        let at = instant(span.start_time_unix_nano);
        let seconds = (span.end_time_unix_nano - span.start_time_unix_nano) as f64 / 1e9;
        match text(attributes, "gen_ai.operation.name").unwrap().as_str() {
            "chat" => {
                let input = whole(attributes, "gen_ai.usage.input_tokens");
                let read = whole(attributes, "gen_ai.usage.cache_read.input_tokens").unwrap_or(0);
                let retrieved = whole(attributes, "plimsoll.retrieved_tokens").unwrap_or(0);
                self.calls.push(Call {
                    workflow,
                    model: text(attributes, "gen_ai.request.model").unwrap(),
                    step: text(attributes, "plimsoll.step").unwrap(),
                    at,
                    status: whole(attributes, "http.response.status_code"),
                    error: text(attributes, "error.type"),
                    stream: value(attributes, "gen_ai.request.stream").is_some(),
                    attempt: whole(attributes, "plimsoll.attempt").unwrap(),
                    input: input.map(|input| input - retrieved),
                    drawn: input.map_or(0, |input| input - read),
                    output: whole(attributes, "gen_ai.usage.output_tokens"),
                    max_tokens: whole(attributes, "gen_ai.request.max_tokens"),
                    response_model: text(attributes, "gen_ai.response.model"),
                });
            }
            "invoke_workflow" => self.runs.push(Run {
                workflow,
                at,
                seconds,
                calls: whole(attributes, "plimsoll.model_calls").unwrap(),
                tools: whole(attributes, "plimsoll.tool_calls").unwrap(),
                input: whole(attributes, "gen_ai.usage.input_tokens").unwrap_or(0),
                parked: value(attributes, "plimsoll.run.parked") == Some(&Value::BoolValue(true)),
                resumed_from_step: whole(attributes, "plimsoll.run.resumed_from_step"),
                failed: text(attributes, "error.type").is_some(),
            }),
            "execute_tool" => self.tools.entry(workflow).or_default().push(seconds),
            _ => {}
        }
    }

    /// The calls of a workflow to models of that name.
    pub(crate) fn calls_of(&self, workflow: &str, model: &str) -> impl Iterator<Item = &Call> + Clone {
        self.calls.iter().filter(move |call| call.workflow == workflow && call.model.contains(model))
    }

    /// The runs of a workflow.
    pub(crate) fn runs_of(&self, workflow: &str) -> impl Iterator<Item = &Run> + Clone {
        self.runs.iter().filter(move |run| run.workflow == workflow)
    }
}

/// The local day of an instant.
pub(crate) fn day(at: Timestamp) -> Date {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(|| TimeZone::get("America/New_York").unwrap()).to_datetime(at).date()
}

/// The value at that rank, linearly interpolated.
pub(crate) fn percentile(values: impl Iterator<Item = f64>, rank: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let place = rank * (values.len() - 1) as f64;
    let below = values[place as usize];
    let above = values[(place as usize + 1).min(values.len() - 1)];
    below + (above - below) * place.fract()
}

/// The mean.
pub(crate) fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}

/// Asserts that a number is what it should be, within a share of it.
#[track_caller]
pub(crate) fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not {expected} within {tolerance}");
}

pub(crate) fn value<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a Value> {
    attributes.iter().find(|pair| pair.key == key)?.value.as_ref()?.value.as_ref()
}

pub(crate) fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    if let Some(Value::StringValue(text)) = value(attributes, key) { Some(text.clone()) } else { None }
}

pub(crate) fn whole(attributes: &[KeyValue], key: &str) -> Option<i64> {
    if let Some(Value::IntValue(number)) = value(attributes, key) { Some(*number) } else { None }
}

fn instant(nanos: u64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(nanos)).unwrap()
}

fn workflow(service: &str) -> &'static str {
    match service {
        "support-copilot" => "support-copilot",
        "finance-agents" => "invoice-reconciliation",
        "crm-workers" => "crm-enrichment",
        _ => "nightly-evals",
    }
}
