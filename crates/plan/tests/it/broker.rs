//! What stands between runs and providers: the broker's policy, slots, queues, retries and failover.

use plimsoll_plan::{
    BrokerPolicy, ClientRules, InFlightMeasured, Measured, Plan, Rehearsal, Rehearsed, RetriesMeasured,
    RetryInstead, SampledCall, Slots, broker_policy, make, rehearse,
};
use plimsoll_replay::{Jitter, Micros, RetryAfter};
use serde_json::Value;

use crate::replay::{close, with_runs};
use crate::world::{CLOSE, SONNET, as_of, with_input};

const INPUT: &str = "input_tokens_per_min";

/// The close with evaluations beside it: tier 3, on the same pool, as many as the close and as large.
fn two_tiers() -> (String, Measured) {
    let mut measured = with_runs();
    let mut evals = measured.workflows[0].clone();
    evals.workflow = "evals".to_owned();
    evals.tier = Some(3);
    measured.workflows.push(evals);
    let mut runs = measured.sampled_runs.clone();
    for run in &mut runs {
        run.workflow = "evals".to_owned();
        run.class = Some("background".to_owned());
    }
    measured.sampled_runs.extend(runs);
    let both = "{ invoice-reconciliation = { in_flight = 40 }, evals = { in_flight = 40 } }";
    (CLOSE.replace("{ invoice-reconciliation = { in_flight = 40 } }", both), measured)
}

fn replayed(spec: &str, measured: &Measured, asked: &Rehearsal) -> Rehearsed {
    with_input(spec, "", measured, as_of(), |input| rehearse(input, asked, 2)).unwrap()
}

fn planned(spec: &str, measured: &Measured) -> (Plan, BrokerPolicy) {
    with_input(spec, "", measured, as_of(), |input| {
        let plan = make(input).unwrap();
        let policy = broker_policy(input, &plan).unwrap();
        (plan, policy)
    })
}

/// Protects the policy file: floors of tier 1 as it needs them alone, none of tier 3, which goes first when
/// something must go; the rate and burst that the plan asks for; what is written is what is read, and is of the
/// published form.
#[test]
fn a_policy_follows_its_plan() {
    let (spec, measured) = two_tiers();
    let (plan, policy) = planned(&spec, &measured);
    let pool = policy.pools.iter().find(|pool| pool.pool == SONNET).unwrap();
    let row = plan.pools[0].dimensions.iter().find(|row| row.dimension == INPUT).unwrap();
    let bucket = pool.buckets.iter().find(|bucket| bucket.dimension == INPUT).unwrap();
    assert_eq!((bucket.limit, bucket.burst, bucket.window_s), (row.ask.unwrap(), row.ask.unwrap(), 60));
    let tiers: Vec<u8> = pool.tiers.iter().map(|tier| tier.tier).collect();
    assert_eq!((tiers, pool.shed.as_slice()), (vec![1, 3], [3, 1].as_slice()));
    let floor = pool.tiers[0].floors[INPUT];
    assert!(floor > 720_000 && floor * 3 < row.replayed.unwrap() * 2, "{floor} of {row:?}");
    assert!(pool.tiers[0].may_borrow == [2, 3] && pool.tiers[1].floors.is_empty());
    assert!(pool.tiers[0].floor_concurrent.unwrap() <= pool.concurrent.unwrap());
    let text = serde_json::to_string_pretty(&policy).unwrap();
    assert_eq!(BrokerPolicy::parse(&text).unwrap(), policy);
    let schema: Value =
        serde_json::from_str(include_str!("../../../../schemas/config/policy.schema.json")).unwrap();
    known(&schema, &schema, &serde_json::from_str(&text).unwrap(), "policy");
    let odd = text.replacen("\"pools\"", "\"pols\"", 1);
    assert!(BrokerPolicy::parse(&odd).unwrap_err().to_string().contains("pols"));
    let later = text.replacen("\"version\": 1", "\"version\": 2", 1);
    assert!(BrokerPolicy::parse(&later).unwrap_err().to_string().contains("version 2"));
}

/// Every key of a value is one of the schema, and every key that the schema requires is there.
fn known(root: &Value, schema: &Value, value: &Value, path: &str) {
    let schema = match schema.get("$ref").and_then(Value::as_str) {
        Some(place) => root.pointer(place.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (key, field) in fields {
                let path = format!("{path}.{key}");
                match properties.and_then(|properties| properties.get(key)) {
                    Some(schema) => known(root, schema, field, &path),
                    None => {
                        let other = schema.get("additionalProperties").filter(|other| other.is_object());
                        assert!(other.is_some(), "{path} is not in the schema");
                        known(root, other.unwrap(), field, &path);
                    }
                }
            }
            for key in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                assert!(fields.contains_key(key.as_str().unwrap()), "{path} has no {key}");
            }
        }
        Value::Array(items) => items.iter().for_each(|item| known(root, &schema["items"], item, path)),
        _ => {}
    }
}

/// Protects the deadline from the evaluations: at a limit that serves only one of them, without a broker both
/// suffer; with the policy enforced tier 1 is served as if it were alone, and tier 3 waits.
#[test]
fn a_policy_keeps_tier_1_from_tier_3() {
    let (spec, measured) = two_tiers();
    let (_, policy) = planned(&spec, &measured);
    let floor = policy.pools[0].tiers[0].floors[INPUT];
    let limit = plimsoll_plan::LimitInstead {
        pool: SONNET.to_owned(),
        dimension: INPUT.to_owned(),
        most: floor + floor / 10,
    };
    let bare = Rehearsal { limits: vec![limit], ..close() };
    let open = replayed(&spec, &measured, &bare);
    let kept = replayed(&spec, &measured, &Rehearsal { policy: Some(policy), ..bare });
    let tier =
        |shown: &Rehearsed, tier: u8| shown.served.iter().find(|served| served.tier == tier).unwrap().clone();
    assert!(!tier(&open, 1).held && tier(&open, 1).throttled_share > 0.05, "{:?}", open.served);
    assert!(tier(&kept, 1).held, "{:?}", kept.served);
    assert!(tier(&kept, 3).throttled_share > 0.5, "{:?}", kept.served);
}

/// Protects slots: of a pool, of a tool and of a class. What finds none waits, and is not throttled; a tool or a
/// class that nobody knows is refused.
#[test]
fn slots_are_kept() {
    let (spec, mut measured) = two_tiers();
    for run in &mut measured.sampled_runs {
        let posted = SampledCall {
            pool: "erp_post".to_owned(),
            tool: true,
            wanted_us: 179_500_000,
            start_us: 179_500_000,
            latency_us: 10_000_000,
            ..SampledCall::default()
        };
        run.calls.push(posted);
    }
    let spec = spec.replace("input_tokens_per_min = 750000", "input_tokens_per_min = 75000000");
    let with = |slots: Vec<Slots>| {
        let client = ClientRules { slots, ..ClientRules::default() };
        let asked = Rehearsal { client, ..close() };
        with_input(&spec, "", &measured, as_of(), |input| rehearse(input, &asked, 1))
    };
    let slots = |of: &str, class: Option<&str>, most| Slots {
        of: of.to_owned(),
        class: class.map(str::to_owned),
        most,
    };
    let queue = |shown: &Rehearsed, name: &str| {
        shown.queues.iter().find(|queue| queue.pool == name).cloned().unwrap()
    };
    let free = with(vec![]).unwrap();
    assert_eq!(queue(&free, SONNET).waiting_max, 0);
    assert!(
        !free.queues.iter().any(|queue| queue.pool == "erp_post"),
        "a tool without slots is the agent's own time"
    );
    let capped = with(vec![slots("erp_post", None, 1)]).unwrap();
    let tool = queue(&capped, "erp_post");
    assert!(tool.in_flight_max == 1 && tool.waiting_max > 1 && tool.growth_per_min > 1.0, "{tool:?}");
    assert!(capped.tiers.iter().all(|tier| tier.summary.throttled == 0));
    let of_class = with(vec![slots(SONNET, Some("background"), 5)]).unwrap();
    let wait = |tier: usize| of_class.tiers[tier].summary.waits.p95_ms.unwrap();
    assert!(wait(0) == 0.0 && wait(1) > 0.0, "{} {}", wait(0), wait(1));
    let pool = with(vec![slots(SONNET, None, 20)]).unwrap();
    assert!(queue(&pool, SONNET).in_flight_max == 20 && queue(&pool, SONNET).waiting_max > 20);
    assert!(with(vec![slots("erp_pst", None, 1)]).unwrap_err().to_string().contains("erp_pst"));
    assert!(with(vec![slots(SONNET, Some("batch"), 1)]).unwrap_err().to_string().contains("class batch"));
}

/// Protects retries, waits and failover: a client that was measured to try twenty times loses fewer runs than one
/// that is set to try once; a wait that ends expires; with a fallback what is refused goes there.
#[test]
fn retries_waits_and_failover_are_as_measured_or_set() {
    let mut measured = with_runs();
    measured.workflows[0].retries = Some(RetriesMeasured {
        refused: 500,
        attempts: 20,
        first_wait_us: Some(2_000_000),
        longest_wait_us: Some(60_000_000),
        retry_after_us: Some(vec![1_000_000.0, 3_000_000.0]),
    });
    // Where refused attempts count, whoever tries again only makes it worse.
    let spec = CLOSE.replace("lead_time", "failed_attempts_count = false\nlead_time");
    let lost = |measured: &Measured, client: ClientRules| {
        let shown = replayed(&spec, measured, &Rehearsal { client, ..close() });
        shown.tiers[0].summary.clone()
    };
    let retry = |retry| ClientRules { retry, ..ClientRules::default() };
    let patient = lost(&measured, ClientRules::default());
    let once = lost(&measured, retry(RetryInstead { max_attempts: Some(1), ..RetryInstead::default() }));
    assert!(
        once.runs_failed > 4 * patient.runs_failed.max(1),
        "{} {}",
        once.runs_failed,
        patient.runs_failed
    );
    assert!(once.refused_attempts < patient.refused_attempts);
    let set = RetryInstead {
        max_attempts: Some(50),
        base: Some(Micros::SECOND),
        cap: Some(Micros::seconds(4)),
        jitter: Some(Jitter::Full),
        retry_after: Some(RetryAfter::Ignored),
    };
    let max_wait = [(1, Micros::seconds(10))].into();
    let expiring = lost(&measured, ClientRules { max_wait, ..retry(set) });
    assert!(expiring.expired > 0 && expiring.failed == 0, "{expiring:?}");
    assert!(expiring.waits.max_ms.unwrap() <= 10_000.0);

    let other = "anthropic/direct/global/claude-haiku-4.5";
    let spec = format!(
        "{}\n[[pool]]\nkey = \"{other}\"\naccount = \"prod\"\nlimits = [{{ input_tokens_per_min = 9000000 }}]\n",
        CLOSE.replace(
            "lead_time = \"21d\"",
            &format!("lead_time = \"21d\"\nfallback = {{ pool = \"{other}\" }}")
        )
    );
    measured.in_flight.push(InFlightMeasured { name: other.to_owned(), ..measured.in_flight[0].clone() });
    let client = ClientRules { failover_after: Some(1), ..ClientRules::default() };
    let over = replayed(&spec, &measured, &Rehearsal { client, ..close() });
    let told = &over.tiers[0].summary;
    assert!(told.failed_over > 0 && told.runs_failed == 0, "{told:?}");
    let there = over.pools.iter().find(|pool| pool.pool == other && pool.dimension == INPUT).unwrap();
    assert!(there.operations > 0 && there.throttled == 0, "{there:?}");
}

/// Protects demand from hiding where it spilled to: calls that were served elsewhere since their pool had refused
/// them are asked for there again, and go on only where they are refused again.
#[test]
fn what_spilled_is_wanted_where_it_was_asked_for() {
    let other = "anthropic/direct/global/claude-haiku-4.5";
    let mut measured = with_runs();
    for call in measured.sampled_runs.iter_mut().flat_map(|run| &mut run.calls) {
        (call.asked_pool, call.asked_account) = (Some(call.pool.clone()), call.account.clone());
        call.pool = other.to_owned();
    }
    let spec = |limit: u64| {
        let pool = format!(
            "\n[[pool]]\nkey = \"{other}\"\naccount = \"prod\"\nlimits = [{{ input_tokens_per_min = 9000000 }}]\n"
        );
        CLOSE.replace("input_tokens_per_min = 750000", &format!("input_tokens_per_min = {limit}")) + &pool
    };
    let (wide, narrow) =
        (replayed(&spec(9_000_000), &measured, &close()), replayed(&spec(750_000), &measured, &close()));
    let there = |shown: &Rehearsed| {
        shown.pools.iter().find(|pool| pool.pool == other && pool.dimension == INPUT).unwrap().operations
    };
    assert_eq!((there(&wide), wide.tiers[0].summary.throttled), (0, 0));
    assert!(
        there(&narrow) > 0 && narrow.tiers[0].summary.failed_over == there(&narrow),
        "{:?}",
        narrow.tiers
    );
    let plan = planned(&spec(750_000), &measured).0;
    let rows = &plan.pools.iter().find(|pool| pool.pool == SONNET).unwrap().dimensions;
    let row = rows.iter().find(|row| row.dimension == INPUT).unwrap();
    assert!(row.replayed.is_some_and(|most| most > 720_000), "{row:?}");
}
