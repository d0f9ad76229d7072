//! A small company to plan for: the built-in catalog, New York's calendar and measurements by hand.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::date;
use plimsoll_calendar::Calendar;
use plimsoll_catalog::Catalog;
use plimsoll_plan::{
    History, InFlightMeasured, Ledger, Measured, Plan, PlanInput, PoolMeasured, RunDraw, Spec, Stat,
    WorkflowMeasured, make,
};

/// The pool of the invoice agent.
pub(crate) const SONNET: &str = "anthropic/direct/global/claude-sonnet-4.5";

/// US federal holidays in New York.
pub(crate) fn new_york() -> Calendar {
    let set = include_str!("../../../../schemas/calendars/us-federal.toml");
    Calendar::named([("us-federal.toml", set)], "US-federal", "America/New_York").unwrap()
}

/// The catalog as it ships, read once.
pub(crate) static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    Catalog::load([
        ("anthropic-direct.toml", include_str!("../../../../schemas/providers/anthropic-direct.toml")),
        ("aws-bedrock-runtime.toml", include_str!("../../../../schemas/providers/aws-bedrock-runtime.toml")),
        ("azure-provisioned.toml", include_str!("../../../../schemas/providers/azure-provisioned.toml")),
        ("azure-standard.toml", include_str!("../../../../schemas/providers/azure-standard.toml")),
        ("openai-compatible.toml", include_str!("../../../../schemas/providers/openai-compatible.toml")),
    ])
    .unwrap()
});

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// 2 November 2026, 05:00 in New York: the day of the example company's plan.
pub(crate) fn as_of() -> Timestamp {
    at("2026-11-02T10:00:00Z")
}

/// `n` equal-sized-enough runs: mean, P95 and P99 as told.
pub(crate) fn stat(n: u64, mean: i64, p95: f64) -> Stat {
    Stat {
        n,
        of: n,
        sum: mean * i64::try_from(n).unwrap(),
        p50: mean as f64,
        p95,
        p99: p95,
        max: p95.ceil() as i64,
    }
}

pub(crate) fn draw(pool: &str, measure: &str, per_run: Stat) -> RunDraw {
    RunDraw {
        account: Some("prod".to_owned()),
        region: None,
        pool: pool.to_owned(),
        measure: measure.to_owned(),
        per_run,
    }
}

/// 28 days with 1,000 runs and full coverage.
pub(crate) fn history() -> History {
    History {
        from: at("2026-10-05T10:00:00Z"),
        to: as_of(),
        first_run: Some(at("2026-08-24T00:00:00Z")),
        runs: 1000,
        days_with_runs: 28,
        model_calls: 9000,
        model_calls_with_usage: 9000,
        attempts: 9000,
        throttled_attempts: 0,
    }
}

/// S6 as measured: nine calls of 6,000 in and 600 out, three minutes a run, P95 2.2 times the mean.
pub(crate) fn invoices() -> WorkflowMeasured {
    let n = 1000;
    WorkflowMeasured {
        workflow: "invoice-reconciliation".to_owned(),
        tier: Some(1),
        runs: n,
        metrics: [
            ("duration_ms", stat(n, 180_000_000, 430_000_000.0)),
            ("model_calls", stat(n, 9, 19.8)),
            ("input_tokens", stat(n, 54_000, 118_800.0)),
            ("output_tokens", stat(n, 5_400, 11_880.0)),
        ]
        .map(|(name, stat)| (name.to_owned(), stat))
        .into(),
        draws: ["admission", "settlement"]
            .into_iter()
            .flat_map(|stage| {
                [
                    ("requests", 9, 19.8),
                    ("input_tokens", 54_000, 118_800.0),
                    ("output_tokens", 5_400, 11_880.0),
                ]
                .map(|(measure, mean, p95)| draw(SONNET, &format!("{stage}.{measure}"), stat(n, mean, p95)))
            })
            .filter(|draw| draw.measure != "admission.output_tokens")
            .collect(),
        ..WorkflowMeasured::default()
    }
}

/// The invoice agent alone on its pool, twenty seconds a call.
pub(crate) fn measured() -> Measured {
    Measured {
        lake_version: 7,
        history: history(),
        workflows: vec![invoices()],
        pools: vec![PoolMeasured {
            account: Some("prod".to_owned()),
            pool: SONNET.to_owned(),
            attempts: 9000,
            busy_minutes: 3000,
            minutes_covered: 40_320,
            ..PoolMeasured::default()
        }],
        in_flight: vec![InFlightMeasured {
            boundary: "model".to_owned(),
            name: SONNET.to_owned(),
            starts: 9000,
            busy_us: 9000 * 20_000_000,
            mean_milli: 1000,
            p95: 49.0,
            max: 63,
        }],
        sampled_runs: Vec::new(),
    }
}

/// The spec of S6: 40 in flight on the last business day of a month.
pub(crate) const CLOSE: &str = r#"
[policy]
time_zone = "America/New_York"
holidays = "US-federal"

[[pool]]
key = "anthropic/direct/global/claude-sonnet-4.5"
account = "prod"
limits = [{ requests_per_min = 4000, input_tokens_per_min = 750000, output_tokens_per_min = 400000 }]
lead_time = "21d"

[[workflow]]
name = "invoice-reconciliation"
tier = 1
owner = "finance platform"

[[event]]
name = "month-end close"
when = "last business day of month, 09:00-12:00"
workflows = { invoice-reconciliation = { in_flight = 40 } }
"#;

/// Plans with a spec's text, a ledger's text and measurements, as of 2 November 2026.
pub(crate) fn plan(spec: &str, ledger: &str, measured: &Measured) -> Plan {
    plan_as_of(spec, ledger, measured, as_of())
}

pub(crate) fn plan_as_of(spec: &str, ledger: &str, measured: &Measured, as_of: Timestamp) -> Plan {
    with_input(spec, ledger, measured, as_of, |input| make(input).unwrap())
}

/// What comes of the input that a spec's text, a ledger's text (none where empty) and measurements make; with
/// replays, where it does not say otherwise.
pub(crate) fn with_input<T>(
    spec: &str,
    ledger: &str,
    measured: &Measured,
    as_of: Timestamp,
    what: impl FnOnce(&PlanInput<'_>) -> T,
) -> T {
    let spec = Spec::parse(spec).unwrap();
    let ledger = if ledger.is_empty() { Ledger::default() } else { Ledger::parse(ledger).unwrap() };
    what(&PlanInput {
        spec: &spec,
        spec_sha256: &spec.sha256,
        ledger: &ledger,
        catalog: &CATALOG,
        calendar: &new_york(),
        measured,
        as_of,
        quick: false,
    })
}

/// The day on which the November close must be filed at the latest, with a lead of 21 days.
pub(crate) const LAST_SAFE: jiff::civil::Date = date(2026, 11, 9);
