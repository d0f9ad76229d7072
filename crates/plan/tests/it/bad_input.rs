//! What spec and ledger may not say: a plain sentence with file, line and key, never a plan.

use plimsoll_plan::{Ledger, Measured, PlanError, PlanInput, Spec, make, windows};

use crate::world::{CLOSE, SONNET, as_of, measured, new_york, with_input};

/// What a spec is refused with: by its own reader, or by the windows that a calendar makes of it.
fn refused(spec: &str) -> String {
    match Spec::parse(spec) {
        Err(fault) => fault.to_string(),
        Ok(spec) => windows(&spec, &new_york(), as_of()).unwrap_err().to_string(),
    }
}

fn pool(key: &str, rest: &str) -> String {
    format!("[[pool]]\nkey = \"{key}\"\n{rest}\n")
}

fn fallback(to: &str) -> String {
    format!("fallback = {{ pool = \"{to}\" }}")
}

/// Protects owners of a spec: each mistake is told with the line and the key that it stands at.
#[test]
fn a_spec_is_refused_with_line_and_key() {
    let (a, b, c) = ("a/b/global/one", "a/b/global/two", "a/b/global/three");
    let circle = pool(a, &fallback(b)) + &pool(b, &fallback(c)) + &pool(c, &fallback(a));
    for (text, line, key, said) in [
        ("[policy]\nheadroom = -0.1\n".to_owned(), 2, "policy.headroom", "negative"),
        ("[policy]\n\nheadroom = 0.10\n".to_owned(), 3, "policy.headroom", "0.333"),
        ("# mine\nversion = 2\nnew_key = 1\n".to_owned(), 2, "version", "reads version 1"),
        (pool(a, &fallback(a)), 3, &format!("pool `{a}`.fallback.pool"), "is the pool itself"),
        (circle, 3, &format!("pool `{a}`.fallback.pool"), &format!("{a} -> {b} -> {c} -> {a}")),
        (
            pool(a, "limits = [\n  { tokens_per_min = 5 },\n  { requests_per_min = 0 },\n]"),
            5,
            &format!("pool `{a}`.limits.requests_per_min"),
            "is zero",
        ),
        (pool(a, "") + &pool(a, ""), 4, &format!("pool `{a}`"), "given twice"),
        (
            "[[event]]\nname = \"x\"\nwhen = \"every blue moon\"\nworkflows = { a = {} }\n".to_owned(),
            3,
            "event `x`.when",
            "",
        ),
        (
            "[[event]]\nname = \"x\"\nwhen = \"daily\"\nworkflows = { a = { in_flight = 0 } }\n".to_owned(),
            4,
            "event `x`.workflows.a",
            "rate of zero",
        ),
        (
            "[[event]]\nname = \"x\"\nwhen = \"daily\"\nworkflows = { a = {} }\nover = [\"y\"]\n".to_owned(),
            5,
            "event `x`.over",
            "no other event",
        ),
        (
            format!("[[reservation]]\npool = \"{a}\"\nunits = 0\nterm = \"1-month\"\n"),
            3,
            &format!("reservation `{a}`.units"),
            "is zero",
        ),
        (
            format!(
                "[[reservation]]\npool = \"{a}\"\nunits = 5\nterm = \"1-month\"\nuntil = \"2026-12-31\"\ncancel_by = \"2027-01-01\"\n"
            ),
            6,
            &format!("reservation `{a}`.cancel_by"),
            "after the last day",
        ),
    ] {
        let told = refused(&text);
        assert!(told.starts_with(&format!("plan.toml:{line}: {key}: ")), "{text}\n-> {told}");
        assert!(told.contains(said), "{told}");
    }
}

/// Protects two entries of one key: regions of one pool may fall over to each other.
#[test]
fn a_fallback_that_ends_is_taken() {
    let (a, b) = ("a/b/global/one", "a/b/global/two");
    Spec::parse(&(pool(a, &fallback(b)) + &pool(b, ""))).unwrap();
    Spec::parse(&pool(a, &fallback("not/in/the/spec"))).unwrap();
}

/// Two closes that meet on the last business day of a quarter.
const TWICE: &str = r#"
[policy]
time_zone = "America/New_York"
holidays = "US-federal"

[[event]]
name = "month-end close"
when = "last business day of month, 09:00-12:00"
workflows = { invoices = { in_flight = 40 } }

[[event]]
name = "quarter-end close"
when = "last business day of quarter, 10:00-14:00"
workflows = { invoices = { in_flight = 60 } }
"#;

/// Protects from a sum that nobody meant: events that move one workflow at once are refused, with the first
/// instant at which they do, unless one says that it takes the other's place.
#[test]
fn events_that_overlap_are_refused_unless_one_gives_way() {
    let told = refused(TWICE);
    assert!(told.starts_with("plan.toml:11: event `quarter-end close`.when: "), "{told}");
    assert!(told.contains("`month-end close` on line 6") && told.contains("2026-12-31 10:00"), "{told}");
    let over = format!("{TWICE}over = [\"month-end close\"]\n");
    windows(&Spec::parse(&over).unwrap(), &new_york(), as_of()).unwrap();
    let other = TWICE.replace("{ invoices = { in_flight = 60 } }", "{ reports = { in_flight = 60 } }");
    windows(&Spec::parse(&other).unwrap(), &new_york(), as_of()).unwrap();
}

fn planned(spec: &str, ledger: &str, measured: &Measured) -> Result<(), PlanError> {
    with_input(spec, ledger, measured, as_of(), |input| make(&PlanInput { quick: true, ..*input }).map(drop))
}

fn entry(pool: &str, rest: &str) -> String {
    format!("[[request]]\npool = \"{pool}\"\ndimension = \"tokens_per_min\"\nasked = 5\n{rest}\n")
}

/// Protects the ledger: every contradiction is told with the line and the key that it stands at.
#[test]
fn a_ledger_is_refused_with_line_and_key() {
    let p = "a/b/global/one";
    let drafted = "drafted = \"2026-08-01\"";
    let filed = "filed = \"2026-08-02\"";
    let twice = entry(p, "filed = \"2026-08-02\"\ndecided = \"2026-08-09\"\ngranted = 5\n").repeat(2);
    for (text, line, key, said) in [
        (entry(p, ""), 3, ".dimension", "neither drafted nor filed"),
        (entry(p, "decided = \"2026-08-02\"\ngranted = 5"), 5, ".decided", "never filed"),
        (
            entry(p, &format!("{filed}\ndecided = \"2026-08-01\"\ngranted = 5")),
            6,
            ".decided",
            "before it was filed",
        ),
        (entry(p, &format!("{filed}\ngranted = 5")), 6, ".granted", "not decided"),
        (entry(p, &format!("{filed}\ndecided = \"2026-08-09\"")), 6, ".decided", "without an outcome"),
        (entry(p, "drafted = \"2026-08-03\"\nfiled = \"2026-08-02\""), 6, ".filed", "before it was drafted"),
        (entry(p, drafted).replace("tokens_per_min", "token_per_min"), 3, ".dimension", "`tokens_per_min`?"),
        (entry("one", drafted), 2, ".pool", "no pool key"),
        (entry(p, drafted).replace("asked = 5", "asked = 0"), 4, ".asked", "is zero"),
        (twice, 9, "", "stands on line 1 already"),
        (entry(p, drafted) + &entry(p, filed), 6, "", "stands on line 1 already"),
    ] {
        let told = Ledger::parse(&text).unwrap_err().to_string();
        assert!(told.starts_with(&format!("ledger.toml:{line}: request `")), "{text}\n-> {told}");
        assert!(told.contains(&format!("`{key}: ")) && told.contains(said), "{told}");
    }
    let told = Ledger::parse("version = 3\n").unwrap_err().to_string();
    assert!(told.starts_with("ledger.toml:1: version: is 3"), "{told}");
    let two =
        entry(p, &format!("{drafted}\nevent = \"x\"")) + &entry(p, &format!("{drafted}\nevent = \"y\""));
    Ledger::parse(&two).unwrap();
}

/// Protects from a request that is never found again: a pool that nobody knows is named, with what was meant.
#[test]
fn a_pool_that_nobody_knows_is_refused() {
    let told = |key: &str| {
        let ledger = "\n".to_owned() + &entry(key, "filed = \"2026-08-02\"");
        planned(CLOSE, &ledger, &measured()).unwrap_err().to_string()
    };
    let typo = told("anthropic/direct/global/claude-sonet-4.5");
    assert!(typo.starts_with("ledger.toml:2: request.pool: "), "{typo}");
    assert!(typo.contains(&format!("did you mean `{SONNET}`?")), "{typo}");
    assert!(told("nobody/sells/global/this").contains("neither catalog, spec nor telemetry"));
    planned(CLOSE, &entry(SONNET, "filed = \"2026-08-02\""), &measured()).unwrap();
}

/// Protects from a name that was mistyped in the spec: a pool that nobody knows, whose limits would be planned for
/// nothing, and a term that is not sold, which has no price.
#[test]
fn names_that_nobody_knows_are_refused() {
    let told = |spec: &str| planned(spec, "", &measured()).unwrap_err().to_string();
    let typo = told(&format!("\n{}", pool("anthropic/direct/global/claude-sonet-4.5", "")));
    assert!(typo.starts_with("plan.toml:2: pool `anthropic/direct/global/claude-sonet-4.5`.key: "), "{typo}");
    assert!(typo.contains(&format!("did you mean `{SONNET}`?")), "{typo}");
    let held = |pool: &str, term: &str, rest: &str| {
        format!("[[reservation]]\npool = \"{pool}\"\nunits = 15\nterm = \"{term}\"\n{rest}\n")
    };
    let ptu = "azure.ai.openai/provisioned/datazone/gpt-5.2";
    let typo = told(&held("azure.ai.openai/provisioned/datazone/gpt-52", "1-month", ""));
    assert!(typo.starts_with("plan.toml:1: reservation `") && typo.contains(ptu), "{typo}");
    let typo = told(&held(ptu, "1-moth", ""));
    assert!(
        typo.starts_with("plan.toml:1: reservation `") && typo.contains("did you mean `1-month`?"),
        "{typo}"
    );
    assert!(typo.contains("hourly, 1-month, 1-year"), "{typo}");
    planned(&held(ptu, "1-month", ""), "", &measured()).unwrap();
    planned(&held(ptu, "2-year", "price_usd_month = \"9\""), "", &measured()).unwrap();
}

/// Protects telemetry that is ahead of the catalog: a pool that it shows is planned, counted plainly, and the plan
/// says so.
#[test]
fn a_pool_outside_the_catalog_is_planned_plainly() {
    let other = "nobody/sells/global/this";
    let mut measured = measured();
    for draw in &mut measured.workflows[0].draws {
        draw.pool = other.to_owned();
    }
    measured.pools[0].pool = other.to_owned();
    let plan = crate::world::plan(&CLOSE.replace(SONNET, other), "", &measured);
    let warned = plan.warnings.iter().find(|warning| warning.code == "no_catalog_row").unwrap();
    assert!(warned.detail.contains(other), "{}", warned.detail);
    let row = crate::plan::row(&plan, other, "input_tokens_per_min");
    assert_eq!((row.p95_floor, row.decision.as_str()), (1_584_000, "file_now"));
}

/// Protects from a number that looks like a plan: from two days of telemetry no need, no request and no reservation
/// is told, and the sentence that says why comes first.
#[test]
fn two_days_are_no_plan() {
    let mut measured = measured();
    let check = |measured: &Measured| {
        let plan = crate::world::plan(CLOSE, "", measured);
        for row in plan.pools.iter().flat_map(|pool| &pool.dimensions) {
            assert_eq!(
                (row.decision.as_str(), row.need, row.p95_floor, row.ask),
                ("no_data", 0, 0, None),
                "{row:?}"
            );
        }
        assert!(plan.quota_requests.is_empty() && plan.reservations.is_empty() && plan.spend.is_empty());
        assert!(plan.tiers.is_empty() && plan.degradation.is_empty() && plan.cheaper_first.is_empty());
        assert!(plan.verdict.starts_with("There is not enough data to plan: 1,000 runs"), "{}", plan.verdict);
        assert!(plan.warnings.iter().any(|warning| warning.code == "too_thin"));
    };
    measured.history.days_with_runs = 2;
    check(&measured);
    // Forty-nine hours touch three days.
    measured.history.days_with_runs = 3;
    measured.history.first_run = Some(crate::world::at("2026-10-31T09:00:00Z"));
    check(&measured);
}

/// Protects from an answer that looks like a plan: what was hardly measured is put under no stress, not even where
/// the busiest hour of a pool with a fallback could be replayed.
#[test]
fn two_days_are_put_under_no_stress() {
    let mut measured = crate::replay::with_runs();
    let hour = |hour| (measured.history.from + jiff::SignedDuration::from_hours(hour), 60);
    measured.workflows[0].hourly_starts = (0..28 * 24).map(hour).collect();
    let fallback = "fallback = { pool = \"aws.bedrock/runtime/geo/claude-sonnet-4.5\" }";
    let spec = CLOSE.replace("lead_time = \"21d\"", &format!("lead_time = \"21d\"\n{fallback}"));
    let told = |measured: &Measured| {
        let plan = crate::world::plan(&spec, "", measured);
        (!plan.stress.is_empty(), !plan.scenarios.is_empty())
    };
    assert_eq!(told(&measured), (true, true));
    measured.history.days_with_runs = 2;
    assert_eq!(told(&measured), (false, false));
}

/// Protects "missing is not zero": a workflow whose usage is unknown has no figure of tokens, and is named.
#[test]
fn a_workflow_without_usage_has_no_tokens() {
    let mut measured = measured();
    let workflow = &mut measured.workflows[0];
    workflow.metrics.get_mut("input_tokens").unwrap().n = 0;
    for draw in workflow.draws.iter_mut().filter(|draw| draw.measure.ends_with("tokens")) {
        draw.per_run.n = 0;
    }
    let plan = crate::world::plan(CLOSE, "", &measured);
    let row = |dimension: &str| crate::plan::row(&plan, SONNET, dimension).clone();
    assert_eq!(
        (row("input_tokens_per_min").decision.as_str(), row("input_tokens_per_min").need),
        ("no_data", 0)
    );
    assert_eq!(row("requests_per_min").p95_floor, 264, "requests are known");
    let warned = plan.warnings.iter().find(|warning| warning.code == "low_coverage").unwrap();
    assert!(warned.detail.contains("0.0 % of the runs of invoice-reconciliation"), "{}", warned.detail);
    assert!(plan.quota_requests.is_empty());
}
