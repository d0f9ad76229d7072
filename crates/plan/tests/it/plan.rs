//! Plans from measurements by hand: the worked figures, the dates, the decisions.

use jiff::civil::date;
use plimsoll_plan::{
    DimensionPlan, LimitStep, Measured, OccurrenceMeasured, Peaks, Plan, PoolMeasured, Quantity, TokenSums,
    WorkflowMeasured, break_even,
};

use crate::world::{CLOSE, LAST_SAFE, SONNET, as_of, at, draw, invoices, measured, plan, plan_as_of, stat};

pub(crate) fn row<'p>(plan: &'p Plan, pool: &str, dimension: &str) -> &'p DimensionPlan {
    let pool = plan.pools.iter().find(|row| row.pool == pool).unwrap();
    pool.dimensions.iter().find(|row| row.dimension == dimension).unwrap()
}

pub(crate) fn codes(plan: &Plan) -> Vec<&str> {
    plan.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

/// S6 through the planner: the same figures as the worksheet's, exact, and a request for the step that
/// covers them.
#[test]
fn s6_from_measured_runs() {
    let plan = plan(CLOSE, "", &measured());
    let input = row(&plan, SONNET, "input_tokens_per_min");
    assert_eq!(
        (input.mean_demand, input.p95_floor, input.p95_need, input.need),
        (720_000, 1_584_000, 2_138_400, 2_138_400)
    );
    assert_eq!((input.limit, input.basis.as_str(), input.window_s), (Some(750_000), "settlement", 60));
    assert_eq!((input.ask, input.grant_step.as_deref()), (Some(5_000_000), Some("Build")));
    assert_eq!(input.utilization_p95, Some(2.112));
    assert_eq!((input.decision.as_str(), input.rate_from.as_str(), input.n), ("file_now", "in_flight", 1000));
    assert_eq!(
        (input.event.as_deref(), input.event_start),
        (Some("month-end close"), Some(at("2026-11-30T14:00:00Z")))
    );
    assert_eq!((input.last_safe, input.file_by), (Some(LAST_SAFE), Some(date(2026, 8, 31))));

    let requests = row(&plan, SONNET, "requests_per_min");
    assert_eq!(
        (requests.mean_demand, requests.p95_floor, requests.need),
        (120, 264, 357),
        "356.4, rounded up once"
    );
    assert_eq!((requests.decision.as_str(), requests.ask), ("hold", None));
    let output = row(&plan, SONNET, "output_tokens_per_min");
    assert_eq!((output.mean_demand, output.p95_floor, output.need), (72_000, 158_400, 213_840));

    let pool = &plan.pools[0];
    assert_eq!((pool.binding.as_deref(), pool.coincidence), (Some("input_tokens_per_min"), 1.0));
    assert_eq!(pool.contributors[0].share, 1.0);
    assert_eq!(pool.owner.as_deref(), Some("finance platform"));
    let inside = pool.concurrency.as_ref().unwrap();
    assert_eq!((inside.mean, inside.p95, inside.max), (40.0, 51, Some(63)));

    assert_eq!(plan.quota_requests.len(), 1);
    let request = &plan.quota_requests[0];
    assert_eq!((request.from, request.to, request.last_safe), (Some(750_000), 5_000_000, LAST_SAFE));
    assert_eq!(plan.tiers[0].floor_per_min, 1_584_000);
    assert!(
        plan.verdict.contains("month-end close of 30 November 2026")
            && plan.verdict.contains("9 November 2026"),
        "{}",
        plan.verdict
    );
}

/// Protects the reviewer at the provider: the prose names statistic, window, period and n, and every
/// field of the form is filled or says what is missing.
#[test]
fn a_request_can_be_acted_on() {
    let plan = plan(CLOSE, "", &measured());
    let request = &plan.quota_requests[0];
    for part in [
        "from 750,000 to 5,000,000",
        "needed from 2026-11-30",
        "2026-10-05 to 2026-11-02",
        "1,000 finished runs",
        "118,800 at P95 (n = 1000)",
        "54,000 input tokens on average",
        "1,584,000 at P95 per 60 s window",
        "2,138,400",
        "Build",
    ] {
        assert!(request.justification.contains(part), "`{part}` in: {}", request.justification);
    }
    assert_eq!(request.fields["Organisation or workspace"], "prod");
    assert_eq!(request.fields["Current tier and tier asked for"], "Build");
    assert!(request.fields["Spend expected in a month"].starts_with("missing: "));
    assert!(request.fields.values().all(|value| !value.is_empty()));
    assert_eq!(request.evidence["planned_p95_input_tokens_per_min"], 1_584_000);
    assert_eq!(request.evidence["n"], 1000);
}

/// Protects telemetry that does not tell its account: it falls under the only entry that it can, and
/// under none where there are two.
#[test]
fn an_untold_account_falls_under_the_only_entry() {
    let mut measured = measured();
    measured.pools[0].account = None;
    for draw in &mut measured.workflows[0].draws {
        draw.account = None;
    }
    let one = plan(CLOSE, "", &measured);
    assert_eq!((one.pools.len(), one.pools[0].account.as_deref()), (1, Some("prod")));
    assert_eq!(one.quota_requests[0].to, 5_000_000);
    let two = plan(&format!("{CLOSE}\n[[pool]]\nkey = \"{SONNET}\"\naccount = \"dev\"\n"), "", &measured);
    assert_eq!(two.pools.len(), 3, "the telemetry's own, and two that were not seen");
    assert!(two.quota_requests.is_empty());
}

/// Protects the four decisions, from the dates alone: planned before file_by, file_now through the
/// last safe day, late after it.
#[test]
fn the_decision_follows_the_calendar() {
    let spec = CLOSE.replace("last business day of month, 09:00-12:00", "2026-11-30, 09:00-12:00");
    let decided = |day: &str| {
        let plan = plan_as_of(&spec, "", &measured(), at(&format!("{day}T17:00:00Z")));
        row(&plan, SONNET, "input_tokens_per_min").decision.clone()
    };
    assert_eq!(decided("2026-08-30"), "planned");
    assert_eq!(decided("2026-08-31"), "file_now");
    assert_eq!(decided("2026-11-09"), "file_now");
    assert_eq!(decided("2026-11-10"), "late");
}

/// Protects lead times: the catalog's ten business days, walked back over Veterans Day and
/// Thanksgiving, where neither spec nor ledger knows better; the ledger's P90 before it.
#[test]
fn lead_times_come_from_spec_then_ledger_then_catalog() {
    let spec = CLOSE.replace("lead_time = \"21d\"\n", "");
    let catalog = plan(&spec, "", &measured());
    // Back from 30 November: 27, 25, 24, 23, 20, 19, 18, 17, 16, 13.
    assert_eq!(row(&catalog, SONNET, "input_tokens_per_min").last_safe, Some(date(2026, 11, 13)));
    let outcome = |asked: u64| {
        format!(
            "[[request]]\npool = \"anthropic/direct/global/claude-haiku-4.5\"\ndimension = \"requests_per_min\"\nasked = {asked}\nfiled = \"2026-06-01\"\ndecided = \"2026-06-13\"\ngranted = 1\n"
        )
    };
    let outcomes = |n: u64| (1..=n).map(outcome).collect::<String>();
    let ledger = plan(&spec, &outcomes(5), &measured());
    assert_eq!(row(&ledger, SONNET, "input_tokens_per_min").last_safe, Some(date(2026, 11, 18)), "12 days");
}

/// Protects "one open request per quota": what is filed is held, what is drafted is not drafted again.
#[test]
fn what_is_open_is_not_asked_again() {
    let request = |day: &str| {
        format!(
            "[[request]]\npool = \"{SONNET}\"\naccount = \"prod\"\ndimension = \"input_tokens_per_min\"\nasked = 5000000\n{day} = \"2026-11-01\"\n"
        )
    };
    let filed = plan(CLOSE, &request("filed"), &measured());
    assert!(filed.quota_requests.is_empty() && codes(&filed).contains(&"open_request"));
    assert_eq!(row(&filed, SONNET, "input_tokens_per_min").decision, "hold");
    let drafted = plan(CLOSE, &request("drafted"), &measured());
    assert!(drafted.quota_requests.is_empty() && codes(&drafted).contains(&"open_request"));
    assert_eq!(
        row(&drafted, SONNET, "input_tokens_per_min").decision,
        "file_now",
        "it still has to be filed"
    );
    assert_ne!(filed.plan_id, drafted.plan_id, "the ledger is an input too");
}

/// Protects effective dates: the limit that counts is the one in force at the event.
#[test]
fn the_limit_in_force_at_the_event_counts() {
    let spec = CLOSE
        .replace("limits = [{", "limits = [{ input_tokens_per_min = 5000000, from = \"2026-11-20\" }, {");
    let input = row(&plan(&spec, "", &measured()), SONNET, "input_tokens_per_min").clone();
    assert_eq!(
        (input.limit, input.decision.as_str(), input.ask),
        (Some(5_000_000), "hold", None),
        "never a decrease"
    );
    let step = |from, value| LimitStep { from, value };
    assert_eq!(input.limits, [step(None, 750_000), step(Some(date(2026, 11, 20)), 5_000_000)]);
}

/// Protects against double counting and under counting: workflows that draw at the same instant are
/// summed, others count at their own hour's rate, and the coincidence factor tells how far they meet.
#[test]
fn workflows_of_one_instant_are_summed() {
    let mut measured = measured();
    // Four hundred runs from 01:00 to 02:00 New York every night of the history.
    let nights =
        (0..28).map(|night| (at("2026-10-05T05:00:00Z") + jiff::SignedDuration::from_hours(24 * night), 400));
    measured.workflows.push(WorkflowMeasured {
        workflow: "nightly-evals".to_owned(),
        tier: Some(3),
        runs: 1000,
        draws: vec![draw(SONNET, "settlement.input_tokens", stat(1000, 76_000, 430_000.0))],
        hourly_starts: nights.collect(),
        ..WorkflowMeasured::default()
    });
    let plan = plan(CLOSE, "", &measured);
    let input = row(&plan, SONNET, "input_tokens_per_min");
    assert_eq!(input.p95_floor, 1_584_000, "at 09:00 nothing runs but the close");
    let pool = &plan.pools[0];
    assert_eq!(pool.contributors.len(), 1);
    // 400 runs an hour at P95 are 2,866,667 a minute: the two never meet.
    let expected = 2_866_666.0 / (2_866_666.0 + 1_584_000.0);
    assert!((pool.coincidence - expected).abs() < 1e-3, "{}", pool.coincidence);
    assert_eq!(input.largest_need, Some(3_870_000), "the request covers the nights too");
    assert_eq!(input.ask, Some(5_000_000));
    assert!(plan.risks.iter().any(|risk| risk.risk == "deferrable work in a production pool"));
}

/// Protects the event's own run lengths: they set the rate, but runs that a throttle stretched do not.
#[test]
fn throttled_occurrences_do_not_hide_demand() {
    let occurrence = |throttled_attempts| OccurrenceMeasured {
        event: "month-end close".to_owned(),
        start: at("2026-10-30T13:00:00Z"),
        end: at("2026-10-30T16:00:00Z"),
        runs: 900,
        attempts: 9000,
        throttled_attempts,
        ..OccurrenceMeasured::default()
    };
    let with = |throttled, minutes: i64| {
        let mut measured = measured();
        let workflow = &mut measured.workflows[0];
        workflow.occurrences = vec![occurrence(throttled)];
        workflow.event_duration.insert("month-end close".to_owned(), stat(900, minutes * 60_000_000, 1.0));
        row(&plan(CLOSE, "", &measured), SONNET, "input_tokens_per_min").clone()
    };
    assert_eq!(with(0, 6).mean_demand, 360_000, "six minutes a run halve the rate");
    let censored = with(900, 6);
    assert_eq!((censored.mean_demand, censored.censored, censored.occurrences), (720_000, 0.1, 1));
    assert!(
        censored.derivation.iter().any(|line| line.contains("which is no trend")),
        "{:?}",
        censored.derivation
    );
    assert!(censored.derivation.iter().any(|line| line.contains("lower bound")));
}

/// Protects an event whose rate cannot be known from being planned at the ordinary rate.
#[test]
fn an_unknown_event_rate_is_no_rate() {
    let mut measured = measured();
    measured.workflows[0].hourly_starts = vec![(at("2026-10-26T13:00:00Z"), 6000)];
    let plan = plan(&CLOSE.replace("{ in_flight = 40 }", "{}"), "", &measured);
    assert!(codes(&plan).contains(&"no_event_rate"));
    assert_ne!(row(&plan, SONNET, "input_tokens_per_min").event.as_deref(), Some("month-end close"));
}

/// T40: admission reserves an unset max_tokens, so a pool is refused far below its visible use. Both
/// draws are told, and the fix comes before any request.
#[test]
fn t40_set_max_tokens_before_asking() {
    let pool = "aws.bedrock/runtime/geo/claude-haiku-4.5";
    let mut measured = Measured { history: crate::world::history(), ..Measured::default() };
    measured.workflows = vec![WorkflowMeasured {
        workflow: "crm-enrichment".to_owned(),
        tier: Some(2),
        runs: 100,
        draws: [
            ("admission.tokens", 65_000, 65_000.0),
            ("settlement.tokens", 1_500, 1_500.0),
            ("admission.requests", 1, 1.0),
        ]
        .map(|(measure, mean, p95)| draw(pool, measure, stat(100, mean, p95)))
        .into(),
        max_tokens_unset: (100, 100),
        output_per_call: stat(100, 100, 100.0),
        ..WorkflowMeasured::default()
    }];
    let spec = format!(
        "[[pool]]\nkey = \"{pool}\"\nlimits = [{{ tokens_per_min = 200000 }}]\n[[event]]\nname = \"burst\"\nwhen = \"2026-11-10, 09:00-10:00\"\nworkflows = {{ crm-enrichment = {{ runs_per_min = 10 }} }}\n"
    );
    let plan = plan(&spec, "", &measured);
    let tokens = row(&plan, pool, "tokens_per_min");
    assert_eq!((tokens.p95_floor_admission, tokens.p95_floor_settlement), (Some(650_000), Some(15_000)));
    assert_eq!(
        (tokens.basis.as_str(), tokens.decision.as_str(), tokens.fix_first),
        ("admission", "hold", true)
    );
    assert!(plan.quota_requests.is_empty(), "a setting comes before a request");
    let fix = &plan.cheaper_first[0];
    // P99 of 100 and a quarter, in steps of 64: 128, so each of ten calls frees 63,872.
    assert_eq!((fix.fix.as_str(), fix.frees), ("max_tokens", 638_720));
    assert!(fix.detail.contains("set max_tokens to 128") && codes(&plan).contains(&"fix_first"));
}

/// Protects "missing is not zero": a pool that telemetry shows is planned without a limit, calls
/// without a pool are warned of, and where nothing was measured nothing is decided.
#[test]
fn what_is_not_known_is_said() {
    let mut measured = measured();
    measured.history.days_with_runs = 3;
    measured.history.model_calls_with_usage = 8000;
    measured.workflows[0].runs = 12;
    measured.pools.push(PoolMeasured { attempts: 17, ..PoolMeasured::default() });
    let plan_without = plan("", "", &measured);
    let input = row(&plan_without, SONNET, "input_tokens_per_min");
    assert_eq!((input.limit, input.decision.as_str(), input.ask), (None, "no_data", None));
    for code in ["no_limit", "unknown_pool", "thin_history", "thin_runs", "low_coverage"] {
        assert!(codes(&plan_without).contains(&code), "{code} in {:?}", plan_without.warnings);
    }
    let empty = plan(CLOSE, "", &Measured::default());
    assert!(
        empty.pools[0]
            .dimensions
            .iter()
            .all(|row| row.decision == "no_data" && row.need == 0 && row.ask.is_none())
    );
    assert!(codes(&empty).contains(&"no_data") && codes(&empty).contains(&"unmeasured_workflow"));
    assert!(empty.verdict.contains("not enough data"));
}

/// Protects sustained use: busy minutes whose P95 is above the review line are a reason to file, with
/// no event in sight.
#[test]
fn sustained_use_above_the_review_line_is_filed() {
    let spec = CLOSE.split("[[event]]").next().unwrap();
    let mut measured = measured();
    let busy = |p95: f64| [("settlement.input_tokens".to_owned(), stat(3000, 300_000, p95))].into();
    measured.pools[0].per_minute = busy(560_000.0);
    let input = row(&plan(spec, "", &measured), SONNET, "input_tokens_per_min").clone();
    assert_eq!(
        (input.need, input.decision.as_str(), input.rate_from.as_str()),
        (756_000, "file_now", "measured")
    );
    measured.pools[0].per_minute = busy(550_000.0);
    assert_eq!(row(&plan(spec, "", &measured), SONNET, "input_tokens_per_min").decision, "hold");
}

/// T38: a burst that a minute's mean hides is told against the second that the provider enforces, and
/// each stage against the limit of its own window.
#[test]
fn bursts_are_held_against_their_own_window() {
    let mut measured = measured();
    let peaks = Peaks { s1: 90, s10: 300, s60: 900, s300: 3_000 };
    measured.pools[0].peaks = [("settlement.requests".to_owned(), peaks)].into();
    let plan = plan(CLOSE, "", &measured);
    let bursts: Vec<_> = plan.warnings.iter().filter(|warning| warning.code == "burst_over_limit").collect();
    assert_eq!(bursts.len(), 1, "900 of 4,000 a minute are fine, 90 of 66 a second are not");
    assert!(
        bursts[0].detail.contains("busiest 1 s of the history drew 90") && bursts[0].detail.contains("of 66"),
        "{}",
        bursts[0].detail
    );
}

/// S7: a unit at $40 an hour is worth its price above its break-even, for any unit whose full hour is
/// worth $47.06 to $200: bought at 85 % used, not at 20 %.
#[test]
fn s7_buy_or_not() {
    let quantity = |text: &str| text.parse::<Quantity>().unwrap();
    for full_hour in ["47.06", "60", "100", "199.99"] {
        let even = break_even(&quantity("40"), &quantity(full_hour)).unwrap();
        assert!(quantity("85%") >= even && quantity("20%") < even, "{full_hour}: {even}");
    }
    assert_eq!(break_even(&quantity("40"), &quantity("200")), Some(quantity("0.2")));
}

/// T41: units and quotas are rounded up once, after headroom, in exact arithmetic.
#[test]
fn t41_rounded_once() {
    let key = "azure.ai.openai/provisioned/datazone/gpt-5.2".parse().unwrap();
    let unit = crate::world::CATALOG.find(&key, date(2026, 11, 2)).unwrap().units.first().cloned().unwrap();
    assert_eq!((unit.min, unit.increment), (15, 5));
    let units = |demand: u128, tenths: u128| unit.units_for(ratio(demand, 1), ratio(tenths, 10)).unwrap();
    let each = u128::from(unit.throughput.unwrap());
    assert_eq!(units(16 * each, 1), 20, "double rounding gives 25");
    assert_eq!((units(15 * each, 0), units(15 * each + 1, 0)), (15, 20));
    assert_eq!(units(100 * each, 1), 110, "floats give 115");
}

fn ratio(numerator: u128, denominator: u128) -> num_rational::Ratio<u128> {
    num_rational::Ratio::new(numerator, denominator)
}

/// Protects finance: an idle reservation is named, with its use, its cost and what to do; no price, no
/// claim about cost.
#[test]
fn an_idle_reservation_is_named() {
    let pool = "azure.ai.openai/provisioned/datazone/gpt-5.2";
    let mut measured = measured();
    // 15 PTU carry 51,000 a minute; a quarter of the minutes use all of it, the rest nothing.
    measured.pools.push(PoolMeasured {
        account: Some("prod".to_owned()),
        pool: pool.to_owned(),
        minute_amounts: [("settlement.tokens".to_owned(), vec![51_000; 11_000])].into(),
        minutes_covered: 44_000,
        ..PoolMeasured::default()
    });
    let spec = format!(
        "{CLOSE}\n[[reservation]]\npool = \"{pool}\"\nunits = 15\nterm = \"1-month\"\nuntil = \"2026-12-31\"\nprice_usd_month = \"3900\"\n"
    );
    let plan = plan(&spec, "", &measured);
    let row = &plan.reservations[0];
    assert_eq!((row.unit.as_str(), row.held, row.utilization), ("PTU", 15, Some(0.25)));
    assert_eq!((row.held_cost_usd.as_deref(), row.idle_usd.as_deref()), (Some("3900.00"), Some("2925.00")));
    assert_eq!((row.recommended, row.action.as_str(), row.break_even), (0, "let_lapse", None));
    assert_eq!((row.load_duration[0], row.load_duration[100]), ((0.0, 15.0), (1.0, 0.0)));
    assert!(row.reason.contains("25 % of 15 units used over 44,000 covered minutes"), "{}", row.reason);
    assert!(plan.verdict.contains("should lapse"), "{}", plan.verdict);
}

/// AZ5: where prices are known, break-even is the price of a unit over what its full use costs on
/// demand (0.99 here, not 260 / 730), and the cheapest count sold is what is recommended.
#[test]
fn az5_prices_decide_where_they_are_known() {
    let pool = "azure.ai.openai/provisioned/global/gpt-5.6-sol";
    let with = |busy: usize| {
        let mut measured = measured();
        measured.pools.push(PoolMeasured {
            account: Some("prod".to_owned()),
            pool: pool.to_owned(),
            // 45 PTU carry 54,000 a minute; a call of 1,000 in and 300 out draws 2,800 of it.
            minute_amounts: [("settlement.tokens".to_owned(), vec![54_000; busy])].into(),
            minutes_covered: 43_800,
            tokens: TokenSums { input_uncached: 1_000_000, output: 300_000, ..TokenSums::default() },
            ..PoolMeasured::default()
        });
        let spec = format!("{CLOSE}\n[[reservation]]\npool = \"{pool}\"\nunits = 45\nterm = \"1-month\"\n");
        plan(&spec, "", &measured).reservations[0].clone()
    };
    let full = with(43_800);
    assert!(
        (full.break_even.unwrap() - 260.0 / (14.0 / 2_800.0 * 1_200.0 * 43_800.0 / 1_000.0)).abs() < 1e-12
    );
    // A year costs less than a month's price, twelve times.
    assert_eq!((full.action.as_str(), full.term.as_deref()), ("hold", Some("1-year")));
    assert_eq!(
        (full.held_cost_usd.as_deref(), full.monthly_cost_usd.as_deref()),
        (Some("11700.00"), Some("9945.00"))
    );
    // On demand the same hours cost 16.20 USD each, 730 of them 11,826.
    assert_eq!((full.alternatives[0].units, full.alternatives[0].monthly_cost_usd.as_str()), (0, "11826.00"));
    let half = with(21_900);
    assert_eq!((half.action.as_str(), half.recommended, half.utilization), ("let_lapse", 0, Some(0.5)));
}

/// Protects fallbacks: one that others live on, or that nobody proved, is a risk with its reason.
#[test]
fn fallbacks_that_would_not_hold_are_risks() {
    let other = "aws.bedrock/runtime/geo/claude-haiku-4.5";
    let mut measured = measured();
    measured.workflows.push(WorkflowMeasured {
        workflow: "crm-enrichment".to_owned(),
        tier: Some(2),
        runs: 100,
        draws: vec![
            draw(other, "settlement.tokens", stat(100, 2_000, 9_000.0)),
            draw(other, "settlement.requests", stat(100, 2, 3.0)),
        ],
        ..WorkflowMeasured::default()
    });
    let spec = format!("{CLOSE}\n[[pool]]\nkey = \"{other}\"\nfallback = {{ pool = \"{SONNET}\" }}\n");
    let plan = plan(&spec, "", &measured);
    let find =
        |name: &str| plan.risks.iter().find(|risk| risk.risk == name && risk.pool.as_deref() == Some(other));
    assert!(find("shared fallback pool").unwrap().detail.contains("invoice-reconciliation"));
    assert!(find("unproven fallback").unwrap().detail.contains("no confirmed quota, no tested credentials"));
    assert!(find("unknown provider answers").is_some());
    assert!(plan.risks.iter().any(|risk| risk.risk == "concentration" && risk.detail.contains("100 %")));
}

/// Protects budgets: declared caps are checked against what was measured, others come from P99.
#[test]
fn budgets_say_what_they_would_have_cut() {
    let spec = CLOSE.replace(
        "owner = \"finance platform\"",
        "owner = \"finance platform\"\nbudget = { tokens = 100000 }",
    );
    let plan = plan(&spec, "", &measured());
    let budget = |limit: &str| plan.budgets.iter().find(|row| row.limit == limit).unwrap();
    assert_eq!((budget("model_calls").value, budget("model_calls").would_cut), (20, 0.0));
    assert_eq!((budget("tokens").value, budget("tokens").would_cut), (100_000, 0.5));
    assert_eq!(budget("wall_clock_s").value, 430);
}

/// Protects reproducibility: the same inputs give the same bytes, in whatever order they were listed,
/// and each of the four inputs changes the name.
#[test]
fn the_same_inputs_give_the_same_bytes() {
    let bytes = |plan: &Plan| serde_json::to_string(plan).unwrap();
    let first = plan(CLOSE, "", &measured());
    assert_eq!(bytes(&first), bytes(&plan(CLOSE, "", &measured())));
    let mut later = measured();
    later.lake_version = 8;
    assert_ne!(first.plan_id, plan(CLOSE, "", &later).plan_id);
    assert_ne!(first.plan_id, plan(&format!("{CLOSE}\n"), "", &measured()).plan_id);
    assert_ne!(
        first.plan_id,
        plan_as_of(CLOSE, "", &measured(), as_of() + jiff::SignedDuration::from_secs(1)).plan_id
    );
    assert_eq!(serde_json::from_str::<Plan>(&bytes(&first)).unwrap(), first, "reads back as it was written");
    assert_eq!(invoices().draws.len(), 5);
}
