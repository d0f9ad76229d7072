//! The filing schedule, and what a reviewer would ask about a request.

use jiff::civil::date;
use plimsoll_plan::{Filing, Measured, Plan};

use crate::world::{CLOSE, SONNET, measured, plan};

const BEDROCK: &str = "aws.bedrock/runtime/geo/claude-sonnet-4.5";

/// The invoice agent on Bedrock, in regions of one account, each with its own pool.
fn on_bedrock(regions: &[&str]) -> Plan {
    let mut measured = measured();
    let draws = measured.workflows[0].draws.clone();
    let pool = measured.pools.remove(0);
    measured.workflows[0].draws.clear();
    let mut spec = CLOSE.split("[[pool]]").next().unwrap().to_owned();
    for region in regions {
        for draw in &draws {
            let mut draw = draw.clone();
            let Some(measure) = draw.measure.strip_suffix(".input_tokens") else { continue };
            draw.measure = format!("{measure}.tokens");
            (draw.pool, draw.region) = (BEDROCK.to_owned(), Some((*region).to_owned()));
            measured.workflows[0].draws.push(draw);
        }
        let mut pool = pool.clone();
        (pool.pool, pool.region) = (BEDROCK.to_owned(), Some((*region).to_owned()));
        measured.pools.push(pool);
        spec += &format!(
            "[[pool]]\nkey = \"{BEDROCK}\"\naccount = \"prod\"\nregion = \"{region}\"\nlimits = [{{ tokens_per_min = 750000 }}]\n\n"
        );
    }
    spec += &format!("[[workflow]]{}", CLOSE.split("[[workflow]]").nth(1).unwrap());
    plan(&spec, "", &measured)
}

fn steps<'p>(plan: &'p Plan, kind: &str) -> Vec<&'p Filing> {
    plan.filing.iter().filter(|step| step.kind == kind).collect()
}

/// Protects the order of asking: the anchor quota first, by its name and code, then its companions, with the
/// days on which to ask after it and on which a second request still has an even chance.
#[test]
fn the_anchor_is_filed_first() {
    let plan = on_bedrock(&["us-east-1"]);
    let first = &plan.filing[0];
    assert_eq!((first.kind.as_str(), first.order, first.on), ("anchor", 1, date(2026, 11, 2)));
    assert!(first.quota.as_deref().unwrap().contains("L-F4DDD3EB"), "{first:?}");
    // Five business days after 2 November (9 November); five before 30 November, Thanksgiving left out.
    assert_eq!(first.escalate_on, Some(date(2026, 11, 9)));
    assert_eq!(first.second_chance, Some(date(2026, 11, 20)));
    let companions = steps(&plan, "companion");
    assert!(
        companions.iter().any(|step| step.quota.as_deref().unwrap().contains("L-27C57EE8")),
        "{companions:?}"
    );
    let a_day = plan
        .filing
        .iter()
        .find(|step| step.quota.as_deref().is_some_and(|quota| quota.contains("L-381AD9EE")));
    let anchor = first.to.unwrap();
    assert_eq!(a_day.unwrap().to, Some(anchor * 1_440), "a day's quota follows the minute's");
}

/// Protects from a filing that is sent away: never more open at once in a region than the channel takes, what
/// has to wait says so and until when, and anchors go before companions.
#[test]
fn no_more_are_open_than_the_channel_takes() {
    let plan = on_bedrock(&["us-east-1", "us-west-2"]);
    let anchors = steps(&plan, "anchor");
    assert_eq!(anchors.len(), 2);
    assert!(anchors.iter().all(|step| step.on == date(2026, 11, 2)), "each region has its own slots");
    for region in ["us-east-1", "us-west-2"] {
        let mine: Vec<&Filing> = plan
            .filing
            .iter()
            .filter(|step| step.region.as_deref() == Some(region) && step.kind != "case_text")
            .collect();
        let today = mine.iter().filter(|step| step.on == date(2026, 11, 2)).count();
        assert_eq!(today, 2, "two are open at once in a region: {mine:#?}");
        let waits = mine.iter().find(|step| step.on > date(2026, 11, 2)).unwrap();
        assert!(waits.detail.as_deref().unwrap().contains("take every slot"), "{waits:?}");
    }
}

/// Protects drafts: one that is recorded keeps its place in the schedule until it is filed, and one that is
/// filed keeps its slot until it is decided.
#[test]
fn a_draft_stays_in_the_schedule() {
    let entry = |rest: &str| {
        format!(
            "[[request]]\npool = \"{SONNET}\"\naccount = \"prod\"\ndimension = \"input_tokens_per_min\"\nevent = \"launch\"\n{rest}\n"
        )
    };
    let drafted = plan(CLOSE, &entry("asked = 5000000\ndrafted = \"2026-11-01\""), &measured());
    assert!(drafted.quota_requests.is_empty());
    assert_eq!((drafted.filing[0].to, drafted.filing[0].on), (Some(5_000_000), date(2026, 11, 2)));
    // Filed for a launch that needs less: 21 days from 20 October, the close's own request has to wait.
    let filed = plan(CLOSE, &entry("asked = 1000000\nfiled = \"2026-10-20\""), &measured());
    let anchor = &filed.filing[0];
    assert_eq!(anchor.on, date(2026, 11, 10));
    assert!(anchor.detail.as_deref().unwrap().contains("after the last safe day (2026-11-09)"), "{anchor:?}");
}

/// Protects the request from the reviewer's first question: what is asked far beyond proven use, of a pool
/// that fields are missing for, is told before it is filed.
#[test]
fn a_reviewers_questions_are_told() {
    let mut measured = measured();
    let codes = |plan: &Plan| -> Vec<String> {
        plan.quota_requests[0].lints.iter().map(|lint| lint.code.clone()).collect()
    };
    let minute = |sum: i64, p50: f64, p95: f64| plimsoll_plan::Stat {
        n: 100,
        of: 100,
        sum,
        p50,
        p95,
        p99: p95,
        max: p95 as i64,
    };
    let pool = &mut measured.pools[0].per_minute;
    pool.insert("settlement.requests".to_owned(), minute(900, 9.0, 20.0));
    pool.insert("settlement.input_tokens".to_owned(), minute(5_400_000, 54_000.0, 120_000.0));
    let plan_of = |measured: &Measured| plan(CLOSE, "", measured);
    let proven = plan_of(&measured);
    assert!(codes(&proven).contains(&"above_proven_use".to_owned()), "{:?}", proven.quota_requests[0].lints);
    assert!(
        !codes(&proven).contains(&"tokens_against_requests".to_owned()),
        "357 requests of 6,000 are asked for"
    );
    // Twice the tokens a request: the tier asked for no longer carries what the requests draw.
    measured.pools[0].per_minute.insert("settlement.input_tokens".to_owned(), minute(54_000_000, 2e6, 5e6));
    let steady = codes(&plan_of(&measured));
    assert!(steady.contains(&"peak_below_steady".to_owned()), "{steady:?}");
}

/// Protects the evidence: each input of the figure has its query, its parameters, its rows and its n, and the
/// request carries the same.
#[test]
fn every_input_can_be_read_again() {
    let plan = plan(CLOSE, "", &measured());
    let row = plan.pools[0].dimensions.iter().find(|row| row.dimension == "input_tokens_per_min").unwrap();
    let draw = row.inputs.iter().find(|input| input.source == "sql/plan/draws.sql").unwrap();
    assert_eq!((draw.n, draw.value.as_str()), (Some(1000), "54,000 and 118,800"));
    assert_eq!(draw.parameters["to"], "2026-11-02T10:00:00Z");
    assert_eq!(draw.after, ["sql/plan/11_run_draws.sql"]);
    let rows = draw.rows.as_deref().unwrap();
    for part in ["workflow = 'invoice-reconciliation'", SONNET, "account = 'prod'", "settlement.input_tokens"]
    {
        assert!(rows.contains(part), "{rows}");
    }
    for (source, rows) in [
        ("plan.toml", "event `month-end close`.workflows.invoice-reconciliation"),
        ("plan.toml", "policy.headroom"),
        ("plan.toml", "pool `anthropic/direct/global/claude-sonnet-4.5`.limits"),
        ("catalog", SONNET),
    ] {
        let found =
            row.inputs.iter().any(|input| input.source == source && input.rows.as_deref() == Some(rows));
        assert!(found, "{source} {rows} in {:#?}", row.inputs);
    }
    let evidence = &plan.quota_requests[0].evidence["inputs"];
    assert_eq!(*evidence, serde_json::to_value(&row.inputs).unwrap());
}

/// Protects from queries that are not there: every file that an input names exists.
#[test]
fn inputs_name_queries_that_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let plan = plan(CLOSE, "", &measured());
    let rows = plan.pools.iter().flat_map(|pool| &pool.dimensions);
    for input in rows.flat_map(|row| &row.inputs) {
        for file in input.after.iter().chain([&input.source]).filter(|file| file.starts_with("sql/")) {
            assert!(root.join(file).is_file(), "{file}");
        }
    }
}
