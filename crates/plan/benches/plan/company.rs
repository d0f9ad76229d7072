//! A company larger than most: hundreds of pools, workflows and events, and a year of history.

use std::fmt::Write as _;

use jiff::civil::date;
use jiff::{SignedDuration, Timestamp};
use plimsoll_calendar::Calendar;
use plimsoll_catalog::Catalog;
use plimsoll_plan::{
    History, InFlightMeasured, Ledger, Measured, OccurrenceMeasured, Plan, PlanInput, PoolMeasured, RunCost,
    RunDraw, SampledCall, SampledRun, Spec, Stat, TokenSums, WorkflowMeasured, WorkflowShare, windows,
};

/// Pools, of which every tenth is of reserved units.
const POOLS: usize = 200;
const WORKFLOWS: usize = 500;
const EVENTS: usize = 400;
/// Runs of each workflow to replay, and calls of each run.
const RUNS: usize = 100;
const CALLS: usize = 6;
/// Days of history.
const DAYS: i64 = 365;

/// Models that are sold on demand.
const ON_DEMAND: [&str; 9] = [
    "anthropic/direct/global/claude-sonnet-4.5",
    "anthropic/direct/global/claude-haiku-4.5",
    "anthropic/direct/global/claude-opus-4.5",
    "aws.bedrock/runtime/geo/claude-sonnet-4.5",
    "aws.bedrock/runtime/geo/claude-haiku-4.5",
    "azure.ai.openai/standard/datazone/gpt-5.2",
    "azure.ai.openai/standard/datazone/gpt-5-mini",
    "openai/direct/global/gpt-5",
    "openai/direct/global/gpt-5-mini",
];
const FALLBACK: &str = ON_DEMAND[3];
const RESERVED: &str = "azure.ai.openai/provisioned/global/gpt-5.2";

/// Everything that a plan is made from.
pub(crate) struct Company {
    spec: Spec,
    ledger: Ledger,
    catalog: Catalog,
    calendar: Calendar,
    measured: Measured,
}

fn as_of() -> Timestamp {
    date(2026, 11, 2).in_tz("America/New_York").map_or(Timestamp::UNIX_EPOCH, |day| day.timestamp())
}

impl Company {
    pub(crate) fn large() -> Self {
        let (catalog, calendar) = (catalog(), calendar());
        let spec = Spec::parse(&spec()).unwrap_or_else(|fault| unreachable!("{fault}"));
        let measured = measured(&spec, &calendar);
        Self { spec, ledger: Ledger::default(), catalog, calendar, measured }
    }

    pub(crate) fn input(&self) -> PlanInput<'_> {
        PlanInput {
            spec: &self.spec,
            spec_sha256: &self.spec.sha256,
            ledger: &self.ledger,
            catalog: &self.catalog,
            calendar: &self.calendar,
            measured: &self.measured,
            as_of: as_of(),
            quick: false,
        }
    }
}

/// What a plan came to, on the terminal.
#[expect(clippy::print_stderr, reason = "a bench tells its operator")]
pub(crate) fn tell(plan: &Plan) {
    let replays = plan.pools.iter().flat_map(|pool| &pool.dimensions).filter_map(|row| row.replay.as_ref());
    let (count, calls) =
        replays.fold((0, 0), |(count, calls), replay| (count + 1, calls + replay.operations));
    let reserved: u64 = plan.reservations.iter().filter_map(|row| Some(row.replay.as_ref()?.calls)).sum();
    eprintln!(
        "{} pools, {} requests, {} events; {count} needs replayed with {calls} calls; {} reservations with {reserved}; {} stresses; {} months; {} bytes",
        plan.pools.len(),
        plan.quota_requests.len(),
        plan.events.len(),
        plan.reservations.len(),
        plan.stress.len(),
        plan.spend.len(),
        serde_json::to_string(plan).map_or(0, |text| text.len()),
    );
}

fn catalog() -> Catalog {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers");
    let mut texts: Vec<(String, String)> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|path| Some((path.display().to_string(), std::fs::read_to_string(&path).ok()?)))
        .collect();
    texts.sort();
    Catalog::load(texts).unwrap_or_else(|fault| unreachable!("{fault}"))
}

fn calendar() -> Calendar {
    let set = include_str!("../../../../schemas/calendars/us-federal.toml");
    Calendar::named([("us-federal.toml", set)], "US-federal", "America/New_York")
        .unwrap_or_else(|fault| unreachable!("{fault}"))
}

fn is_reserved(pool: usize) -> bool {
    pool.is_multiple_of(10)
}

fn key(pool: usize) -> &'static str {
    if is_reserved(pool) { RESERVED } else { ON_DEMAND[pool % ON_DEMAND.len()] }
}

fn account(pool: usize) -> String {
    format!("team-{pool:03}")
}

fn workflow(number: usize) -> String {
    format!("workflow-{number:03}")
}

/// The pools that a workflow draws on: two of two hundred.
fn pools_of(number: usize) -> [usize; 2] {
    [number % POOLS, (number * 7 + 3) % POOLS]
}

fn spec() -> String {
    let mut text = String::from(
        "[policy]\ntime_zone = \"America/New_York\"\nholidays = \"US-federal\"\nhorizon = \"365d\"\nbudget_usd_month = \"500000\"\n",
    );
    for pool in 0..POOLS {
        let limits = match key(pool) {
            key if is_reserved(pool) => {
                let account = account(pool);
                let _ = write!(
                    text,
                    "\n[[reservation]]\npool = \"{key}\"\naccount = \"{account}\"\nunits = 30\nterm = \"1-month\"\nuntil = \"2026-11-30\"\n"
                );
                "units = 30"
            }
            key if key.starts_with("anthropic") => {
                "requests_per_min = 4000, input_tokens_per_min = 750000, output_tokens_per_min = 400000"
            }
            key if key.starts_with("aws") => "tokens_per_min = 1000000",
            _ => "requests_per_min = 500, tokens_per_min = 500000",
        };
        let _ = write!(
            text,
            "\n[[pool]]\nkey = \"{}\"\naccount = \"{}\"\nlead_time = \"21d\"\nlimits = [{{ {limits} }}]\n",
            key(pool),
            account(pool),
        );
        if pool % 20 == 1 && key(pool) != FALLBACK {
            let _ = writeln!(text, "fallback = {{ pool = \"{FALLBACK}\" }}");
        }
    }
    for number in 0..WORKFLOWS {
        let _ = write!(text, "\n[[workflow]]\nname = \"{}\"\ntier = {}\n", workflow(number), number % 4);
    }
    for event in 0..EVENTS {
        let rate = match event % 4 {
            0 => "{}".to_owned(),
            1 => "{ multiplier = 4 }".to_owned(),
            _ => format!("{{ in_flight = {} }}", 5 + event % 30),
        };
        let hour = 8 + event % 9;
        let _ = write!(
            text,
            "\n[[event]]\nname = \"event-{event:03}\"\nwhen = \"WD+{} of month, {hour:02}:00-{:02}:00\"\nworkflows = {{ {} = {rate} }}\n",
            1 + event % 18,
            hour + 3,
            workflow(event),
        );
    }
    text
}

fn measured(spec: &Spec, calendar: &Calendar) -> Measured {
    let from = as_of() - SignedDuration::from_hours(24 * 28);
    let past = windows(spec, calendar, as_of()).unwrap_or_else(|error| unreachable!("{error}")).past;
    let mut workflows: Vec<WorkflowMeasured> = (0..WORKFLOWS).map(workflow_measured).collect();
    for occurrence in past {
        let lived = OccurrenceMeasured {
            event: occurrence.event.clone(),
            start: occurrence.start(),
            end: occurrence.end(),
            runs: 600,
            attempts: 3600,
            ..OccurrenceMeasured::default()
        };
        for name in occurrence.workflows.keys() {
            if let Some(workflow) = workflows.iter_mut().find(|workflow| workflow.workflow == *name) {
                workflow.occurrences.push(lived.clone());
            }
        }
    }
    Measured {
        lake_version: 1,
        history: History {
            from,
            to: as_of(),
            first_run: Some(as_of() - SignedDuration::from_hours(24 * DAYS)),
            runs: 500_000,
            days_with_runs: 28,
            model_calls: 3_000_000,
            model_calls_with_usage: 3_000_000,
            attempts: 3_000_000,
            throttled_attempts: 0,
        },
        workflows,
        pools: (0..POOLS).map(pool_measured).collect(),
        in_flight: ON_DEMAND.into_iter().chain([RESERVED]).map(in_flight).collect(),
        sampled_runs: (0..WORKFLOWS).flat_map(sampled).collect(),
    }
}

/// Numbers that differ from each other, always the same.
fn mixed(number: usize, most: usize) -> usize {
    (number.wrapping_mul(2_654_435_761) >> 7) % most
}

fn stat(mean: i64) -> Stat {
    let n = 1000;
    let high = mean as f64 * 2.2;
    Stat { n, of: n, sum: mean * n as i64, p50: mean as f64, p95: high, p99: high * 1.4, max: mean * 5 }
}

fn workflow_measured(number: usize) -> WorkflowMeasured {
    let name = workflow(number);
    let draws = pools_of(number).into_iter().flat_map(|pool| {
        let measures =
            [("requests", 3), ("input_tokens", 12_000), ("output_tokens", 1_500), ("tokens", 20_000)];
        ["admission", "settlement"].into_iter().flat_map(move |stage| {
            measures.map(|(measure, mean)| RunDraw {
                account: Some(account(pool)),
                region: None,
                pool: key(pool).to_owned(),
                measure: format!("{stage}.{measure}"),
                per_run: stat(mean),
            })
        })
    });
    let metrics = [
        ("duration_ms", 120_000_000),
        ("model_calls", 6),
        ("input_tokens", 24_000),
        ("output_tokens", 3_000),
    ];
    // Busy from 13 to 22 h UTC on weekdays, quiet else; levels grow by a tenth over the year.
    let hours = (0..DAYS * 24).filter_map(|hour| {
        let at = as_of() - SignedDuration::from_hours(24 * DAYS - hour);
        let (weekday, of_day) = ((at.as_second() / 86_400 + 3) % 7, at.as_second() / 3600 % 24);
        let busy = weekday < 5 && (13..22).contains(&of_day);
        let level = (20 + mixed(number, 100) as i64) * (10 * DAYS * 24 + hour) / (10 * DAYS * 24);
        let runs = if busy { level + mixed(number + hour as usize, 9) as i64 } else { level / 10 };
        (runs > 0).then_some((at, runs as u64))
    });
    WorkflowMeasured {
        workflow: name,
        tier: Some((number % 4) as u8),
        runs: 1000,
        metrics: metrics.map(|(name, mean)| (name.to_owned(), stat(mean))).into(),
        draws: draws.collect(),
        hourly_starts: hours.collect(),
        output_per_call: stat(500),
        max_tokens_unset: (0, 6000),
        costs: ["north", "south"]
            .map(|tenant| RunCost {
                tenant: Some(tenant.to_owned()),
                runs: 500,
                priced_runs: 500,
                usd: "55.5".parse().unwrap_or_default(),
                p50_nano_usd: Some(9.9e7),
                to_date_usd: Some("1.25".parse().unwrap_or_default()),
            })
            .into(),
        ..WorkflowMeasured::default()
    }
}

fn pool_measured(pool: usize) -> PoolMeasured {
    let drawing = (0..WORKFLOWS).filter(|number| pools_of(*number).contains(&pool));
    PoolMeasured {
        account: Some(account(pool)),
        pool: key(pool).to_owned(),
        attempts: 15_000,
        busy_minutes: 12_000,
        minutes_covered: DAYS as u64 * 1440,
        per_minute: ["requests", "input_tokens", "output_tokens", "tokens"]
            .map(|measure| {
                (format!("settlement.{measure}"), stat(if measure == "requests" { 9 } else { 60_000 }))
            })
            .into(),
        minute_amounts: [("settlement.tokens".to_owned(), (0..20_000).map(|minute| minute * 6).collect())]
            .into(),
        tokens: TokenSums { input_uncached: 12_000_000, cache_read: 0, cache_write: 0, output: 1_500_000 },
        by_workflow: drawing
            .map(|number| WorkflowShare {
                workflow: workflow(number),
                measure: "settlement.tokens".to_owned(),
                amount: 1_000_000,
            })
            .collect(),
        ..PoolMeasured::default()
    }
}

fn in_flight(pool: &str) -> InFlightMeasured {
    InFlightMeasured {
        boundary: "model".to_owned(),
        name: pool.to_owned(),
        starts: 100_000,
        busy_us: 100_000 * 8_000_000,
        mean_milli: 4000,
        p95: 12.0,
        max: 30,
    }
}

fn sampled(number: usize) -> impl Iterator<Item = SampledRun> {
    let [first, second] = pools_of(number);
    (0..RUNS).map(move |run| {
        let call = |place: usize| {
            let pool = if place.is_multiple_of(2) { first } else { second };
            let spread = mixed(number * RUNS * CALLS + run * CALLS + place, 1000) as u64;
            let start = place as i64 * 20_000_000;
            SampledCall {
                account: Some(account(pool)),
                region: None,
                pool: key(pool).to_owned(),
                wanted_us: start,
                start_us: start,
                latency_us: 4_000_000 + spread as i64 * 8_000,
                ttft_us: Some(800_000),
                billed: true,
                input_tokens: Some(2_000 + 4 * spread),
                input_uncached: Some(2_000 + 4 * spread),
                cache_read: Some(0),
                cache_write: Some(0),
                output_tokens: Some(250 + spread / 2),
                reasoning_tokens: None,
                max_output_tokens: Some(1024),
                ..SampledCall::default()
            }
        };
        SampledRun {
            workflow: workflow(number),
            calls: (0..CALLS).map(call).collect(),
            ..SampledRun::default()
        }
    })
}
