//! Reservations: counts by the providers' worked examples, costs by hand, what is insured and what is pooled.

use jiff::SignedDuration;
use plimsoll_catalog::Catalog;
use plimsoll_plan::{
    Measured, Plan, PlanInput, PoolMeasured, ReservationPlan, SampledCall, SampledRun, TokenSums,
    WorkflowMeasured, make,
};

use rust_decimal::Decimal;

use crate::units::catalog;
use crate::world::{as_of, history, stat, with_input};

/// One call of every run.
#[derive(Clone, Copy)]
struct Shape {
    input: u64,
    cached: u64,
    output: u64,
}

/// A workflow of one tier whose every run is the same call, started so many times a minute in every hour.
fn steady(
    name: &str,
    tier: u8,
    pool: &str,
    per_min: u64,
    shape: Shape,
) -> (WorkflowMeasured, Vec<SampledRun>) {
    let call = SampledCall {
        account: Some("prod".to_owned()),
        pool: pool.to_owned(),
        latency_us: 1_000_000,
        billed: true,
        input_tokens: Some(shape.input),
        input_uncached: Some(shape.input - shape.cached),
        cache_read: Some(shape.cached),
        output_tokens: Some(shape.output),
        ..SampledCall::default()
    };
    let run = SampledRun { workflow: name.to_owned(), calls: vec![call], ..SampledRun::default() };
    let draw = |measure: &str| crate::world::draw(pool, measure, stat(100, 1, 1.0));
    let from = history().from;
    let workflow = WorkflowMeasured {
        workflow: name.to_owned(),
        tier: Some(tier),
        runs: 1000,
        metrics: [("duration_ms".to_owned(), stat(100, 1_000_000, 1_000_000.0))].into(),
        draws: vec![draw("settlement.requests")],
        hourly_starts: (0..28 * 24)
            .map(|hour| (from + SignedDuration::from_hours(hour), per_min * 60))
            .collect(),
        ..WorkflowMeasured::default()
    };
    (workflow, vec![run; 20])
}

/// A pool that was covered for a month and a half, with tokens of a shape.
fn pool(key: &str, shape: Shape) -> PoolMeasured {
    PoolMeasured {
        account: Some("prod".to_owned()),
        pool: key.to_owned(),
        minutes_covered: 70 * 1440,
        tokens: TokenSums {
            input_uncached: (shape.input - shape.cached) * 1000,
            cache_read: shape.cached * 1000,
            cache_write: 0,
            output: shape.output * 1000,
        },
        ..PoolMeasured::default()
    }
}

fn measured(of: Vec<(WorkflowMeasured, Vec<SampledRun>)>, pools: Vec<PoolMeasured>) -> Measured {
    let (workflows, runs): (Vec<_>, Vec<_>) = of.into_iter().unzip();
    Measured {
        history: history(),
        workflows,
        pools,
        sampled_runs: runs.into_iter().flatten().collect(),
        ..Measured::default()
    }
}

fn planned(spec: &str, measured: &Measured, catalog: &Catalog) -> Plan {
    with_input(spec, "", measured, as_of(), |input| make(&PlanInput { catalog, ..*input }).unwrap())
}

fn held(pool: &str, units: u64, rest: &str) -> String {
    format!(
        "[[reservation]]\npool = \"{pool}\"\naccount = \"prod\"\nunits = {units}\nterm = \"1-month\"\n{rest}\n"
    )
}

fn one(plan: &Plan) -> &ReservationPlan {
    assert_eq!(plan.reservations.len(), 1, "{:?}", plan.reservations);
    &plan.reservations[0]
}

/// AZ1 to AZ3, AZ10 to AZ12 and VX1: the floor of customer-facing work at the documented rate is the documented
/// count of units, from replayed runs through the catalog's weights to what is sold.
#[test]
fn the_documented_counts_are_the_floors() {
    let azure = |scope: &str, model: &str| format!("azure.ai.openai/provisioned/{scope}/{model}");
    let vertex = |model: &str| format!("gcp.vertex_ai/provisioned/global/{model}");
    for (pool_key, per_min, (input, cached, output), units) in [
        (azure("datazone", "gpt-5.2"), 1000, (200, 0, 20), 110),
        (azure("datazone", "gpt-5.2"), 1000, (200, 100, 20), 80),
        (azure("global", "gpt-5.6-sol"), 18, (1000, 0, 300), 45),
        (azure("global", "gpt-5.6-sol"), 19, (1000, 0, 300), 45),
        (azure("global", "gpt-5.6-sol"), 20, (1000, 0, 300), 50),
        (azure("global", "gpt-4.1"), 100, (500, 0, 200), 45),
        (azure("datazone", "gpt-5"), 50, (1000, 300, 500), 50),
        (azure("global", "gpt-4.1"), 100, (1000, 0, 500), 100),
        (vertex("gemini-3.6-flash"), 600, (1500, 0, 300), 45),
    ] {
        let shape = Shape { input, cached, output };
        let copilot = steady("copilot", 0, &pool_key, per_min, shape);
        let measured = measured(vec![copilot], vec![pool(&pool_key, shape)]);
        let plan = planned(&held(&pool_key, units, "price_usd_month = \"1000\""), &measured, catalog());
        let row = one(&plan);
        assert_eq!(
            (row.basis.as_deref(), row.floor_units),
            (Some("replayed"), units),
            "{pool_key} {per_min}"
        );
        assert!(row.replay.as_ref().is_some_and(|replay| replay.calls > 0 && replay.minutes > 0), "{row:?}");
    }
}

/// A catalog of one model that is sold by the unit at $29,200 a month: what its units carry, and dollars per million
/// tokens on demand.
fn acme(units: &str, token_usd: &str) -> Catalog {
    let text = format!(
        r#"
        edition = "2026-11"
        provider = "acme"
        product = "provisioned"
        {units}
        min = 1
        increment = 1
        term = [{{ name = "1-month", hours = 730, price = [{{ usd = "29200" }}] }}]
        [meter.plain]
        unset_max_output = "unknown"
        refused = "unknown"
        admission.tokens = {{ input_uncached = 1 }}
        settlement.tokens = {{ input_uncached = 1 }}
        [source.page]
        title = "by hand"
        read_on = "2026-11-01"
        confidence = "own_page"
        [common]
        sources = ["page"]
        [[entry]]
        scopes = ["global"]
        models = ["m"]
        limits = "units"
        meter = "plain"
        unit = "u"
        prices = [{{ input = "{token_usd}", output = "{token_usd}" }}]
        "#
    );
    Catalog::load([("acme.toml", text.as_str())]).unwrap()
}

/// S7 as a plan: at $40 a unit-hour a unit that is 85 % used is bought and one that is 20 % used is not, for
/// full hours worth $47.06 to $200; a month of 730 hours of it is $29,200.
#[test]
fn s7_bought_when_it_is_used() {
    let tokens = r#"
        [limits]
        units = [{ name = "tokens_per_min", counts = "tokens", window_s = 60, from_units = true }]
        [unit.u]
        name = "U"
        throughput = 1000000
        per_s = 60
    "#;
    let key = "acme/provisioned/global/m";
    // A unit serves sixty million tokens an hour; prices are of one.
    for full_hour in ["47.06", "100", "200"] {
        let price = full_hour.parse::<Decimal>().unwrap() / Decimal::from(60);
        let catalog = acme(tokens, &price.round_dp(6).to_string());
        let with = |busy: usize| {
            let mut pool = pool(key, Shape { input: 1000, cached: 0, output: 0 });
            pool.minutes_covered = 50_000;
            pool.minute_amounts = [("settlement.tokens".to_owned(), vec![1_000_000; busy])].into();
            let plan = planned(&held(key, 1, ""), &measured(Vec::new(), vec![pool]), &catalog);
            let row = one(&plan);
            (row.recommended, row.action.clone(), row.held_cost_usd.clone().unwrap())
        };
        assert_eq!(with(42_500), (1, "hold".to_owned(), "29200.00".to_owned()), "85 % at {full_hour}");
        assert_eq!(with(10_000), (0, "let_lapse".to_owned(), "29200.00".to_owned()), "20 % at {full_hour}");
    }
}

/// Protects the chart of units that carry dollars: two dollars a minute are two units of a dollar a minute.
#[test]
fn units_of_dollars_are_counted_in_dollars() {
    let dollars = r#"
        [limits]
        units = [{ name = "usd_per_min", counts = "usd", window_s = 60, from_units = true }]
        [unit.u]
        name = "U"
        carries = "usd"
        throughput = 1
        per_s = 60
    "#;
    let catalog = acme(dollars, "100");
    let key = "acme/provisioned/global/m";
    // A dime a call, twenty calls a minute.
    let shape = Shape { input: 1000, cached: 0, output: 0 };
    let measured = measured(vec![steady("copilot", 0, key, 20, shape)], vec![pool(key, shape)]);
    let plan = planned(&held(key, 3, ""), &measured, &catalog);
    let row = one(&plan);
    assert_eq!((row.basis.as_deref(), row.floor_units), (Some("replayed"), 2));
    let half = row.load_duration.iter().find(|(share, _)| (share - 0.5).abs() < 1e-9).unwrap().1;
    assert!((1.5..2.5).contains(&half), "{half}");
}

const PTU: &str = "azure.ai.openai/provisioned/datazone/gpt-5.2";
const TINY: Shape = Shape { input: 2000, cached: 0, output: 100 };

/// Protects customers and finance at once: an idle reservation under customer-facing work is kept as large as its
/// floor and no larger, what that costs above the cheapest is told as insurance with its tier, and what the policy
/// says of idle units stands beside it. Without a tier to protect it lapses.
#[test]
fn an_idle_floor_is_insurance() {
    let with = |tier: u8, units: u64| {
        let spec =
            format!("[policy]\nidle_reservation = 0.5\n{}", held(PTU, units, "price_usd_month = \"4050\""));
        let mut pool = pool(PTU, TINY);
        // Two calls a minute of 2,800 weighed tokens, for 70 days.
        pool.minute_amounts = [("settlement.tokens".to_owned(), vec![5600; 70 * 1440])].into();
        planned(&spec, &measured(vec![steady("copilot", tier, PTU, 2, TINY)], vec![pool]), catalog())
    };
    let plan = with(0, 15);
    let row = one(&plan);
    assert_eq!((row.recommended, row.action.as_str(), row.floor_units), (15, "hold", 15));
    assert_eq!(row.insures, Some(0));
    let usd = |text: &Option<String>| text.as_ref().unwrap().parse::<f64>().unwrap();
    let insurance = usd(&row.insurance_usd);
    assert!((insurance - (usd(&row.total_usd) - usd(&row.on_demand_usd))).abs() < 0.02, "{row:?}");
    assert!(row.reason.contains("insurance") && row.reason.contains("tier 0"), "{}", row.reason);
    let idle = row.idle.as_ref().unwrap();
    assert!(idle.contains("11 % used") && idle.contains("50 % of policy.idle_reservation"), "{idle}");
    assert!(row.alternatives.iter().any(|other| other.units == 0 && !other.covers_floors), "{row:?}");
    assert!(row.alternatives.iter().any(|other| other.units == 20 && other.covers_floors), "{row:?}");

    let plan = with(0, 40);
    let row = one(&plan);
    assert_eq!((row.recommended, row.action.as_str()), (15, "step_down"));
    assert!(row.steps.iter().any(|step| step.contains("do not renew")), "{:?}", row.steps);

    let plan = with(2, 15);
    let row = one(&plan);
    assert_eq!((row.recommended, row.action.as_str(), row.insures), (0, "let_lapse", None));
    assert_eq!(row.insurance_usd.as_deref(), Some("0.00"));

    // What can wait goes to batch first.
    let plan = with(3, 15);
    let row = one(&plan);
    assert_eq!((row.recommended, row.basis.as_deref()), (0, Some("measured")));
    assert!(row.reason.contains("copilot is counted out"), "{}", row.reason);
}

/// Protects a reservation that full units already spilled from: calls that went on demand because units were full
/// are demand for units too, so that what is held is not taken for all that is wanted.
#[test]
fn what_spilled_over_is_demand() {
    let standard = "azure.ai.openai/standard/datazone/gpt-5.2";
    let with = |spilled: usize| {
        let (workflow, mut runs) = steady("copilot", 0, PTU, 60, TINY);
        let mut workflow = workflow;
        workflow.draws.push(crate::world::draw(standard, "settlement.requests", stat(100, 1, 1.0)));
        for run in runs.iter_mut().take(spilled) {
            run.calls[0].pool = standard.to_owned();
        }
        let pools = vec![pool(PTU, TINY), pool(standard, TINY)];
        let plan = planned(
            &held(PTU, 30, "price_usd_month = \"8100\""),
            &measured(vec![(workflow, runs)], pools),
            catalog(),
        );
        one(&plan).floor_units
    };
    // 60 calls of 2,800 are 168,000 a minute: 49.4 units.
    assert_eq!((with(0), with(10)), (50, 50));
}

/// AZ7: a reservation of the deployment type holds for any model, so deployments of several models are one row,
/// each with its own count, and their sum is what is bought.
#[test]
fn models_are_pooled_where_the_reservation_is() {
    let other = "azure.ai.openai/provisioned/datazone/gpt-5";
    let shape = Shape { input: 3400, cached: 0, output: 0 };
    let workflows = vec![steady("copilot", 0, PTU, 20, shape), steady("search", 0, other, 50, shape)];
    let plan = planned(
        &held(PTU, 100, "price_usd_month = \"27000\""),
        &measured(workflows, vec![pool(PTU, shape), pool(other, shape)]),
        catalog(),
    );
    let row = one(&plan);
    // 20 x 3,400 / 3,400 = 20 units; 50 x 3,400 / 4,750 = 35.8, so 40.
    let units: Vec<(&str, u64)> =
        row.pools.iter().map(|pool| (pool.pool.as_str(), pool.floor_units)).collect();
    assert_eq!(units, [(PTU, 20), (other, 40)]);
    assert_eq!(
        (row.recommended, row.action.as_str()),
        (row.pools.iter().map(|pool| pool.units).sum(), "step_down")
    );
    assert_eq!(row.bound_to, "any model of the deployment type");
}

/// Protects from a peak that is bought for a year: what a close adds is bought by the hour, for its hours alone.
#[test]
fn a_close_is_bought_by_the_hour() {
    let shape = Shape { input: 3400, cached: 0, output: 0 };
    let spec = format!(
        "{}\n[[event]]\nname = \"close\"\nwhen = \"2026-11-20, 09:00-12:00\"\nworkflows = {{ copilot = {{ runs_per_min = 200 }} }}\n",
        held(PTU, 20, "price_usd_month = \"5400\"")
    );
    let plan = planned(
        &spec,
        &measured(vec![steady("copilot", 0, PTU, 20, shape)], vec![pool(PTU, shape)]),
        catalog(),
    );
    let row = one(&plan);
    assert_eq!((row.recommended, row.action.as_str()), (20, "hold"), "{row:?}");
    let close = &row.by_the_hour[0];
    assert_eq!((close.event.as_str(), close.units, close.minutes), ("close", 180, 180));
    // 180 units for three hours at 1.10.
    assert_eq!(close.usd, "594.00");
}

/// Protects a buyer: a flat load on demand that a term would serve for less is told, with the steps in order, and
/// one that its owner wants on demand is left there.
#[test]
fn a_flat_load_on_demand_may_be_bought() {
    let standard = "azure.ai.openai/standard/global/gpt-5.6-sol";
    let shape = Shape { input: 1000, cached: 0, output: 300 };
    let with = |workflow: &str| {
        let measured = measured(vec![steady("search", 1, standard, 193, shape)], vec![pool(standard, shape)]);
        planned(workflow, &measured, catalog())
    };
    let plan = with("");
    let row = one(&plan);
    assert_eq!((row.held, row.action.as_str(), row.term.as_deref()), (0, "buy", Some("1-year")));
    assert!(row.recommended > 400 && row.recommended <= 450, "193 calls of 2,800 fill 450: {row:?}");
    assert!(
        row.steps.iter().position(|step| step.contains("deploy"))
            < row.steps.iter().position(|step| step.contains("reservation")),
        "{:?}",
        row.steps
    );
    assert_eq!(row.insurance_usd.as_deref(), Some("0.00"));
    assert!(with("[[workflow]]\nname = \"search\"\ncapacity = \"on_demand\"\n").reservations.is_empty());
}

/// Protects an idle reservation from growing by what nobody asked for: another model that customers call on demand is
/// bought where that pays, never for a floor.
#[test]
fn what_is_on_demand_has_no_floor_in_units() {
    let mini = "azure.ai.openai/standard/datazone/gpt-5-mini";
    let (mut copilot, mut runs) = steady("copilot", 0, PTU, 2, TINY);
    copilot.draws.push(crate::world::draw(mini, "settlement.requests", stat(100, 1, 1.0)));
    for run in &mut runs {
        let rewrite = SampledCall { pool: mini.to_owned(), ..run.calls[0].clone() };
        run.calls.push(rewrite);
    }
    let spec = format!(
        "{}[[workflow]]\nname = \"copilot\"\ncapacity = \"reserved\"\n",
        held(PTU, 15, "price_usd_month = \"4050\"")
    );
    let pools = vec![pool(PTU, TINY), pool(mini, TINY)];
    let plan = planned(&spec, &measured(vec![(copilot, runs)], pools), catalog());
    let row = one(&plan);
    assert_eq!((row.recommended, row.floor_units, row.pools.len()), (15, 15, 1), "{row:?}");
}

/// Protects reproducibility: the same bytes each time, since seeds are places.
#[test]
fn replayed_reservations_are_the_same_each_time() {
    let workflows = || measured(vec![steady("copilot", 0, PTU, 20, TINY)], vec![pool(PTU, TINY)]);
    let made =
        || serde_json::to_string(&planned(&held(PTU, 20, ""), &workflows(), catalog()).reservations).unwrap();
    assert_eq!(made(), made());
}
