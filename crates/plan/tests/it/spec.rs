//! `plan.toml` and `ledger.toml`: what is read, what is defaulted, what is refused and how.

use jiff::civil::date;
use plimsoll_plan::{Capacity, LeadTimes, Ledger, Quantity, Span, Spec};
use serde_json::Value;

/// The example of the planning contract, key for key.
pub(crate) const CONTRACT: &str = r#"
[policy]
percentile = 0.95
headroom = 0.35
review_utilization = 0.75
interactive_utilization = 0.60
idle_reservation = 0.50
history = "28d"
event_history = "400d"
horizon = "400d"
file_ahead = "91d"
concentration = 0.70
price_shock = 0.25
throttle_target = { tier0 = 0.0, tier1 = 0.001, tier2 = 0.01, tier3 = 0.10 }
budget_usd_month = "40000"
time_zone = "America/New_York"
holidays = "US-federal"

[[pool]]
key = "anthropic/direct/global/claude-sonnet-4.5"
account = "prod"
limits = [
  { requests_per_min = 4000, input_tokens_per_min = 750000, output_tokens_per_min = 400000, from = "2026-09-01" } ]
lead_time = "21d"
hard = true
fallback = { pool = "aws.bedrock/runtime/geo/claude-sonnet-4.5", quota_confirmed = "2026-10-02", credentials_tested = "2026-11-20", evaluation = "2026-10-30" }

[[workflow]]
name = "invoice-reconciliation"
tier = 1
owner = "finance platform"
capacity = "on_demand"
residency = "us"
slo = { p95_completion = "5m", p95_ttft = "2s", success = 0.995, timeout = 0.005, cost_per_outcome_usd = "0.40" }
budget = { model_calls = 30, tool_calls = 40, tokens = 200000, wall_clock = "15m" }

[[event]]
name = "month-end close"
when = "last 3 business days of month, 09:00-18:00"
workflows = { invoice-reconciliation = { in_flight = 40 } }

[[reservation]]
pool = "azure.ai.openai/provisioned/datazone/gpt-5.2"
units = 110
term = "1-month"
until = "2027-03-31"
price_usd_month = "28600"
"#;

fn refusal(text: &str) -> String {
    Spec::parse(text).unwrap_err().to_string()
}

/// Protects the contract: every key of its example is read, and read exactly.
#[test]
fn the_contracts_example_is_read() {
    let spec = Spec::parse(CONTRACT).unwrap();
    assert_eq!(spec.policy.headroom, Quantity::ratio(7, 20).unwrap());
    assert_eq!(spec.policy.throttle_target.tier1, Quantity::ratio(1, 1000).unwrap());
    let pool = spec.pool("anthropic/direct/global/claude-sonnet-4.5", Some("prod"), None).unwrap();
    assert_eq!(pool.lead_time, Some(Span::of_days(21)));
    assert_eq!(pool.limit("input_tokens_per_min", date(2026, 9, 1)), Some(750_000));
    assert_eq!(pool.limit("input_tokens_per_min", date(2026, 8, 31)), None, "not in force yet");
    assert_eq!(pool.open_questions().len(), 6, "only the first is answered");
    let workflow = spec.workflow("invoice-reconciliation").unwrap();
    assert_eq!((workflow.tier, workflow.capacity), (Some(1), Some(Capacity::OnDemand)));
    assert_eq!(workflow.budget.wall_clock, Some("15m".parse().unwrap()));
    assert_eq!(spec.events[0].workflows["invoice-reconciliation"].in_flight, Some(40.into()));
    assert_eq!(spec.reservations[0].until, Some(date(2027, 3, 31)));
    assert!(spec.pool("anthropic/direct/global/claude-sonnet-4.5", Some("dev"), None).is_none());
}

/// Protects the documented defaults: an empty policy is the contract's.
#[test]
fn an_empty_spec_has_the_contracts_policy() {
    let (empty, full) = (Spec::parse("").unwrap().policy, Spec::parse(CONTRACT).unwrap().policy);
    assert_eq!(empty.headroom, full.headroom);
    assert_eq!(empty.throttle_target, full.throttle_target);
    assert_eq!((empty.history, empty.file_ahead), (full.history, full.file_ahead));
    assert_eq!(empty.time_zone, "UTC");
}

/// Protects the digest that a plan names: of the text, byte for byte.
#[test]
fn the_digest_is_of_the_text() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(Spec::parse("").unwrap().sha256, empty);
    assert_ne!(Spec::parse("\n").unwrap().sha256, empty);
}

/// Protects users from typos: an unknown key is named with its line and what was probably meant.
#[test]
fn unknown_keys_are_refused_with_line_and_suggestion() {
    for (text, line, meant) in [
        ("[policy]\nhead_room = 0.35\n", 2, "headroom"),
        ("[[pool]]\nkey = \"a/b/global/d\"\nleadtime = \"21d\"\n", 3, "lead_time"),
        ("[[pool]]\nkey = \"a/b/global/d\"\nlimits = [{ request_per_min = 1 }]\n", 3, "requests_per_min"),
        ("[[event]]\nname = \"x\"\nwhen = \"daily\"\nworkflows = { a = { inflight = 1 } }\n", 4, "in_flight"),
        ("[[workflow]]\nname = \"x\"\ncapacity = \"ondemand\"\n", 3, "on_demand"),
        ("[polcy]\n", 1, "policy"),
    ] {
        let said = refusal(text);
        assert!(said.starts_with(&format!("plan.toml:{line}:")), "{said}");
        assert!(said.contains(&format!("did you mean `{meant}`?")), "{said}");
    }
}

/// Protects the reviewer: a headroom whose own limit would alarm for ever is refused, and the least
/// one that would not is named; the boundary itself is allowed.
#[test]
fn headroom_that_would_alarm_for_ever_is_refused() {
    let said = refusal("[policy]\nheadroom = 0.30\n");
    assert!(said.contains("policy.headroom") && said.contains("0.333"), "{said}");
    Spec::parse("[policy]\nheadroom = \"1/3\"\n").unwrap();
    Spec::parse("[policy]\nheadroom = 0.20\nreview_utilization = 0.85\n").unwrap();
}

/// Protects the planner from values that it cannot plan with.
#[test]
fn values_that_cannot_be_planned_with_are_refused() {
    let pool =
        |rest: &str| format!("[[pool]]\nkey = \"anthropic/direct/global/claude-sonnet-4.5\"\n{rest}\n");
    let event = |rest: &str| format!("[[event]]\nname = \"x\"\n{rest}\n");
    for (text, part) in [
        ("[policy]\npercentile = 0.9".to_owned(), "policy.percentile"),
        ("[policy]\nheadroom = -0.1".to_owned(), "negative"),
        ("[policy]\ntime_zone = \"New York\"".to_owned(), "policy.time_zone"),
        ("[policy]\nhistory = \"28 days\"".to_owned(), "such as 91d"),
        ("[policy]\nconcentration = 70".to_owned(), "share of one"),
        ("[[pool]]\nkey = \"claude\"".to_owned(), "claude"),
        (pool("lead_time = 21"), "lead_time"),
        (pool("limits = [{ requests_per_min = 1 }, { requests_per_min = 2 }]"), "twice"),
        (pool("") + &pool(""), "twice"),
        ("[[workflow]]\nname = \"x\"\ntier = 4".to_owned(), "0, 1, 2 or 3"),
        (event("when = \"sometimes\"\nworkflows = { a = {} }"), "event `x`.when"),
        (event("when = \"daily\"\nworkflows = {}"), "no workflow"),
        (
            event("when = \"daily\"\nworkflows = { a = { in_flight = 1, multiplier = 2 } }"),
            "more than one rate",
        ),
        (event("when = \"daily\"\nworkflows = { a = { in_flight = 0 } }"), "zero"),
    ] {
        let said = refusal(&text);
        assert!(said.contains(part), "{text} -> {said}");
    }
}

/// Protects effective dates and nesting: of each scope the newest counts, of those the smallest.
#[test]
fn limits_are_effective_dated_and_nest() {
    let spec = Spec::parse(
        r#"[[pool]]
        key = "openai/standard/global/gpt-6.1"
        limits = [
          { tokens_per_min = 750000, from = "2026-01-01" },
          { tokens_per_min = 1000000, from = "2026-09-15" },
          { tokens_per_min = 900000, scope = "project" } ]"#,
    )
    .unwrap();
    let limit = |month, day| spec.pools[0].limit("tokens_per_min", date(2026, month, day));
    assert_eq!(limit(9, 14), Some(750_000));
    assert_eq!(limit(9, 15), Some(900_000), "the project inside the organisation binds");
}

/// Protects "one open request per quota", and lead times learned from five outcomes on.
#[test]
fn the_ledger_knows_what_is_open_and_how_long_it_takes() {
    let decided = |filed: i8, decided: i8| {
        format!(
            "[[request]]\npool = \"anthropic/direct/global/m\"\ndimension = \"requests_per_min\"\nfiled = \"2026-08-{filed:02}\"\nasked = 9\ndecided = \"2026-08-{decided:02}\"\ngranted = 9\n"
        )
    };
    let open = "[[request]]\npool = \"anthropic/direct/global/m\"\ndimension = \"input_tokens_per_min\"\nfiled = \"2026-10-01\"\nasked = 1500000\n";
    let four: String =
        [(1, 2), (1, 3), (1, 4), (1, 5)].map(|(filed, day)| decided(filed, day)).concat() + open;
    let ledger = Ledger::parse(&four).unwrap();
    let find =
        |pool, dimension| ledger.undecided(pool, Some("prod"), None).find(|open| open.dimension == dimension);
    assert_eq!(find("anthropic/direct/global/m", "input_tokens_per_min").unwrap().asked, 1_500_000);
    assert!(find("anthropic/direct/global/m", "requests_per_min").is_none(), "decided");
    assert!(find("anthropic/direct/global/n", "input_tokens_per_min").is_none(), "another pool");
    assert_eq!(ledger.lead_times("anthropic/direct/global/m"), None, "four outcomes are too few");
    let five = Ledger::parse(&(four + &decided(1, 22))).unwrap();
    // 1, 2, 3, 4, 21 days: P50 = 3, P90 = 4 + 0.6 x 17 = 14.2, rounded up.
    let learned = LeadTimes { p50_days: 3, p90_days: 15, n: 5 };
    assert_eq!(five.lead_times("anthropic/direct/global/other"), Some(learned));
    assert_eq!(five.lead_times("openai/standard/global/x"), None);
}

/// Protects the ledger from entries that contradict themselves.
#[test]
fn ledger_contradictions_are_refused() {
    let entry = |rest: &str| {
        let text =
            format!("[[request]]\npool = \"a/b/global/d\"\ndimension = \"concurrent\"\nasked = 1\n{rest}\n");
        Ledger::parse(&text).unwrap_err().to_string()
    };
    assert!(entry("").contains("neither drafted nor filed"));
    assert!(entry("filed = \"2026-08-02\"\ndecided = \"2026-08-01\"").contains("before it was filed"));
    assert!(entry("filed = \"2026-08-02\"\ngranted = 5").contains("not decided"));
    assert!(entry("fild = \"2026-08-02\"").contains("did you mean `filed`?"));
}

/// Protects editors: the JSON Schema knows exactly the keys that the parser knows, table by table.
#[test]
fn the_schema_and_the_parser_know_the_same_keys() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../schemas/config/plan.schema.json")).unwrap();
    let pool = "[[pool]]\nkey = \"a/b/global/d\"\n";
    let ledger = |text: &str| Ledger::parse(text).unwrap_err().to_string();
    for (pointer, said) in [
        ("/properties", refusal("zz = 1")),
        ("/$defs/policy/properties", refusal("[policy]\nzz = 1")),
        ("/$defs/throttle_target/properties", refusal("[policy]\nthrottle_target = { zz = 1 }")),
        ("/$defs/pool/properties", refusal(&format!("{pool}zz = 1"))),
        ("/$defs/limits/properties", refusal(&format!("{pool}limits = [{{ zz = 1 }}]"))),
        ("/$defs/fallback/properties", refusal(&format!("{pool}fallback = {{ zz = 1 }}"))),
        ("/$defs/workflow/properties", refusal("[[workflow]]\nzz = 1")),
        ("/$defs/slo/properties", refusal("[[workflow]]\nslo = { zz = 1 }")),
        ("/$defs/budget/properties", refusal("[[workflow]]\nbudget = { zz = 1 }")),
        ("/$defs/event/properties", refusal("[[event]]\nzz = 1")),
        ("/$defs/event_rate/properties", refusal("[[event]]\nworkflows = { a = { zz = 1 } }")),
        ("/$defs/reservation/properties", refusal("[[reservation]]\nzz = 1")),
        ("/$defs/ledger/properties", ledger("zz = 1")),
        ("/$defs/request/properties", ledger("[[request]]\nzz = 1")),
    ] {
        let mut listed: Vec<&str> =
            schema.pointer(pointer).unwrap().as_object().unwrap().keys().map(String::as_str).collect();
        let mut known: Vec<&str> = said.split('`').skip(1).step_by(2).filter(|key| *key != "zz").collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known, "{pointer}: {said}");
    }
}
