//! Degradation triggers, by hand.

use plimsoll_plan::DegradationPlan;

use crate::world::{CLOSE, SONNET, measured, plan, stat};

fn of(spec: &str) -> DegradationPlan {
    let mut measured = measured();
    let metrics = &mut measured.workflows[0].metrics;
    metrics.insert("max_parallel_tools".to_owned(), stat(1000, 2, 3.0));
    let rows = plan(spec, "", &measured).degradation;
    rows.into_iter().find(|row| row.pool == SONNET && row.dimension == "input_tokens_per_min").unwrap()
}

/// S6 at a limit of 10,000,000: demand grows from nothing to 1,584,000 over a run of three minutes, 528,000 a
/// minute; a step is felt after a window of one minute and a call of twenty seconds; so the last of five is due at
/// `1 - 528,000 x 4/3 / 10,000,000`, and each milder one as much earlier again.
#[test]
fn triggers_are_checked_by_hand() {
    let row = of(&CLOSE.replace("input_tokens_per_min = 750000", "input_tokens_per_min = 10000000"));
    assert_eq!((row.limit, row.from_demand, row.to_demand), (10_000_000, 0, 1_584_000));
    assert_eq!((row.ramp_minutes, row.growth_per_min, row.felt_after_minutes), (3.0, 528_000.0, 1.333_333));
    assert_eq!((row.event.as_deref(), row.exhausts), (Some("month-end close"), false));
    let steps: Vec<&str> = row.steps.iter().map(|step| step.step.as_str()).collect();
    assert_eq!(steps, ["cut_context", "stop_parallel_tools", "smaller_model", "go_async", "reject"]);
    for (step, left) in row.steps.iter().zip([5.0, 4.0, 3.0, 2.0, 1.0]) {
        let minutes = left * 4.0 / 3.0;
        assert!((step.minutes - minutes).abs() < 1e-6, "{step:?}");
        let expected = 1.0 - 528_000.0 * minutes / 10_000_000.0;
        assert!((step.utilization.unwrap() - expected).abs() < 1e-6, "{step:?}");
        assert_eq!(step.workflows, ["invoice-reconciliation"]);
    }
}

/// Protects from a trigger that nobody could act on: at the limit of today the close passes it within two minutes
/// of its start, so milder steps are taken as it starts.
#[test]
fn a_steep_event_is_met_at_its_start() {
    let row = of(CLOSE);
    assert!(row.exhausts && row.limit == 750_000);
    // 750,000 / 528,000 are 1.42 minutes: only the last step has a use of its own.
    assert!(row.steps[..4].iter().all(|step| step.utilization.is_none()), "{row:?}");
    let last = row.steps.last().unwrap().utilization.unwrap();
    assert!((last - (1.0 - 528_000.0 * 4.0 / 3.0 / 750_000.0)).abs() < 1e-6, "{last}");
}

/// Protects pools whose busy minutes bind: from their mean of 300,000 to their P95 of 600,000 within one minute, at a
/// limit of 750,000.
#[test]
fn busy_minutes_grow_within_a_window() {
    let mut measured = measured();
    measured.pools[0].per_minute =
        [("settlement.input_tokens".to_owned(), stat(3000, 300_000, 600_000.0))].into();
    let spec = CLOSE.split("[[event]]").next().unwrap();
    let rows = plan(spec, "", &measured).degradation;
    let row = rows.iter().find(|row| row.dimension == "input_tokens_per_min").unwrap();
    assert_eq!((row.from_demand, row.to_demand, row.ramp_minutes), (300_000, 600_000, 1.0));
    // 4/3 of a minute at 300,000 a minute are 400,000 of 750,000.
    assert_eq!(row.steps.last().unwrap().utilization, Some(0.466_667));
    assert_eq!((row.event.as_deref(), row.exhausts), (None, false));
}
