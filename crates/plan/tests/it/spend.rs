//! The spend forecast, by hand.

use jiff::SignedDuration;
use plimsoll_plan::{
    Measured, OccurrenceMeasured, Plan, PoolMeasured, RunCost, SpendPlan, WorkflowMeasured, WorkflowShare,
};
use rust_decimal::Decimal;

use crate::world::{history, measured, plan, stat};

fn usd(text: &str) -> Decimal {
    text.parse().unwrap()
}

/// Two tenants of a workflow that starts two runs a minute, night and day.
fn company() -> Measured {
    let cost = |tenant: &str, runs, priced_runs, all: &str, p50| RunCost {
        tenant: Some(tenant.to_owned()),
        runs,
        priced_runs,
        usd: usd(all),
        p50_nano_usd: Some(p50),
        to_date_usd: Some(usd("12.345")),
    };
    let from = history().from;
    Measured {
        history: history(),
        workflows: vec![WorkflowMeasured {
            workflow: "copilot".to_owned(),
            tier: Some(0),
            runs: 1000,
            metrics: [("duration_ms".to_owned(), stat(1000, 60_000_000, 60_000_000.0))].into(),
            hourly_starts: (0..28 * 24).map(|hour| (from + SignedDuration::from_hours(hour), 120)).collect(),
            // 0.10 and 0.30 USD a run; half of north's costs are unknown and taken to be like the rest.
            costs: vec![cost("north", 800, 400, "40", 9e7), cost("south", 200, 200, "60", 2.5e8)],
            ..WorkflowMeasured::default()
        }],
        ..Measured::default()
    }
}

const POLICY: &str = "[policy]\ntime_zone = \"America/New_York\"\nholidays = \"US-federal\"\nhorizon = \"60d\"\nbudget_usd_month = \"13000\"\n";

fn month<'p>(plan: &'p Plan, month: &str) -> &'p SpendPlan {
    plan.spend.iter().find(|row| row.month == month).unwrap()
}

/// Protects finance: December has 31 days of 2,880 runs, four fifths at 0.10 USD and a fifth at 0.30, medians beside
/// the means; tenants stand apart and add up; the budget is held against the total.
#[test]
fn a_whole_month_by_hand() {
    let plan = plan(POLICY, "", &company());
    assert_eq!(
        plan.spend.iter().map(|row| row.month.as_str()).collect::<Vec<_>>(),
        ["2026-11", "2026-12", "2027-01"]
    );
    let december = month(&plan, "2026-12");
    let runs = Decimal::from(31 * 2880);
    let [north, south] = [usd("0.8"), usd("0.2")].map(|share| runs * share);
    let expected = north * usd("0.1") + south * usd("0.3");
    assert_eq!(usd(&december.on_demand_usd), expected);
    assert_eq!(usd(&december.p50_usd), north * usd("0.09") + south * usd("0.25"));
    assert_eq!(
        (december.low_usd.as_str(), december.high_usd.as_str()),
        (december.on_demand_usd.as_str(), december.on_demand_usd.as_str())
    );
    assert_eq!((december.to_date_usd.as_deref(), december.reserved_usd.as_str()), (None, "0.00"));
    assert_eq!(
        usd(december.over_usd.as_ref().unwrap_or(&"0".to_owned())),
        (expected - usd("13000")).max(Decimal::ZERO)
    );
    assert!((december.coverage - 0.6).abs() < 1e-12);
    let parts: Vec<(&str, Option<u8>, u64)> =
        december.parts.iter().map(|part| (part.tenant.as_deref().unwrap(), part.tier, part.runs)).collect();
    assert_eq!(parts, [("north", Some(0), 71_424), ("south", Some(0), 17_856)]);
    let sum: Decimal = december.parts.iter().map(|part| usd(&part.on_demand_usd)).sum();
    assert_eq!(sum, expected);
}

/// Protects the month to date: what is spent counts beside what is still to come, from the plan's instant on.
#[test]
fn the_present_month_is_spent_and_forecast() {
    let plan = plan(POLICY, "", &company());
    let november = month(&plan, "2026-11");
    assert_eq!(november.to_date_usd.as_deref(), Some("24.69"));
    // From 2 November 05:00 to the end of the month in New York: 28 days and 19 hours.
    let runs = Decimal::from((28 * 24 + 19) * 120);
    let rest = runs * usd("0.8") * usd("0.1") + runs * usd("0.2") * usd("0.3");
    assert_eq!(usd(&november.on_demand_usd), rest);
    assert_eq!(usd(&november.total_usd), rest + usd("24.69"));
}

/// Protects from counting an event's runs twice, or not at all: inside it its rate stands in place of the hour's.
#[test]
fn an_event_takes_the_place_of_its_hours() {
    let event = "[[event]]\nname = \"sale\"\nwhen = \"2026-12-10, 09:00-12:00\"\nworkflows = { copilot = { runs_per_min = 100 } }\n";
    let (with, without) = (plan(&format!("{POLICY}{event}"), "", &company()), plan(POLICY, "", &company()));
    let more = usd(&month(&with, "2026-12").on_demand_usd) - usd(&month(&without, "2026-12").on_demand_usd);
    // 98 more runs a minute for three hours, at 0.14 USD each.
    assert_eq!(more, Decimal::from(98 * 180) * usd("0.14"));
}

/// Protects from counting units twice: what is held is paid once, by those who drew on it, and the budget sees it.
#[test]
fn units_are_paid_once() {
    let pool = "azure.ai.openai/provisioned/datazone/gpt-5.2";
    let mut measured = company();
    let share = |workflow: &str, amount| WorkflowShare {
        workflow: workflow.to_owned(),
        measure: "settlement.tokens".to_owned(),
        amount,
    };
    measured.pools.push(PoolMeasured {
        pool: pool.to_owned(),
        minutes_covered: 44_000,
        by_workflow: vec![share("copilot", 300), share("search", 100)],
        ..PoolMeasured::default()
    });
    let spec = format!(
        "{POLICY}[[reservation]]\npool = \"{pool}\"\nunits = 15\nterm = \"1-month\"\nprice_usd_month = \"4000\"\n"
    );
    let plan = plan(&spec, "", &measured);
    let december = month(&plan, "2026-12");
    assert_eq!(december.reserved_usd, "4000.00");
    let of =
        |tenant: Option<&str>| december.parts.iter().find(|part| part.tenant.as_deref() == tenant).unwrap();
    // Three quarters are the copilot's, of which north has four fifths; nobody that is forecast drew the rest.
    assert_eq!(
        (of(Some("north")).reserved_usd.as_str(), of(Some("south")).reserved_usd.as_str()),
        ("2400.00", "600.00")
    );
    assert_eq!((of(None).workflow.as_deref(), of(None).reserved_usd.as_str()), (None, "1000.00"));
    let total: Decimal =
        december.parts.iter().map(|part| usd(&part.reserved_usd) + usd(&part.on_demand_usd)).sum();
    assert_eq!(total, usd(&december.total_usd));
    let warned = plan.warnings.iter().find(|warning| warning.code == "over_budget").unwrap();
    assert!(warned.detail.starts_with("2026-11 is expected to end at"), "{}", warned.detail);
}

/// Protects "missing is not zero": without any known cost there is no forecast, and an event of unknown rate adds
/// nothing that looks like a figure.
#[test]
fn unknown_costs_are_no_forecast() {
    assert!(plan(POLICY, "", &measured()).spend.is_empty());
    let mut company = company();
    company.workflows[0].occurrences = vec![OccurrenceMeasured::default()];
    company.workflows[0].costs.clear();
    assert!(plan(POLICY, "", &company).spend.is_empty());
}
