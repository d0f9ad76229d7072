//! Needs by replay, and rehearsals of an instant, on the close of the invoice agent.

use plimsoll_plan::{
    AttemptMeasured, ClientRules, LimitInstead, Measured, PlanInput, QuarterStarts, Rehearsal, Rehearsed,
    SampledCall, SampledRun, Scene, largest_needs, make, rehearse,
};

use crate::world::{CLOSE, SONNET, as_of, at, measured, plan, with_input};

const INPUT: &str = "input_tokens_per_min";

/// S6 with whole runs to replay: 100 runs of 9 calls, one after another over three minutes, some of
/// them larger than others, 54,000 input tokens on average.
pub(crate) fn with_runs() -> Measured {
    let call = |run: u64, number: i64| {
        let tokens = [3_000, 6_000, 9_000][(run % 3) as usize];
        SampledCall {
            account: Some("prod".to_owned()),
            pool: SONNET.to_owned(),
            wanted_us: number * 20_000_000,
            start_us: number * 20_000_000,
            latency_us: 19_000_000,
            billed: true,
            input_tokens: Some(tokens),
            input_uncached: Some(tokens),
            output_tokens: Some(600),
            ..SampledCall::default()
        }
    };
    let run = |number| SampledRun {
        workflow: "invoice-reconciliation".to_owned(),
        calls: (0..9).map(|place| call(number, place)).collect(),
        ..SampledRun::default()
    };
    Measured { sampled_runs: (0..99).map(run).collect(), ..measured() }
}

/// The close, an hour of it.
pub(crate) fn close() -> Rehearsal {
    Rehearsal {
        what: Scene::Instant { at: at("2026-11-30T15:00:00Z"), minutes: 60 },
        seeds: 4,
        limits: Vec::new(),
        client: ClientRules::default(),
        policy: None,
        plan: None,
    }
}

fn rehearsed(limits: Vec<LimitInstead>) -> Rehearsed {
    let asked = Rehearsal { limits, ..close() };
    with_input(CLOSE, "", &with_runs(), as_of(), |input| {
        let one = rehearse(input, &asked, 1).unwrap();
        assert_eq!(one, rehearse(input, &asked, 2).unwrap(), "threads change nothing");
        one
    })
}

/// Protects the need: it lies between the mean demand and the peak of the replay, it is the replayed
/// limit with headroom, the percentile's figure stands beside it, and it is the same each time.
#[test]
fn the_need_is_what_whole_runs_need() {
    let made = plan(CLOSE, "", &with_runs());
    let row = made.pools[0].dimensions.iter().find(|row| row.dimension == INPUT).unwrap();
    let replay = row.replay.as_ref().unwrap();
    assert_eq!((row.p95_floor, row.p95_need), (1_584_000, 2_138_400));
    assert!(row.mean_demand < replay.most && replay.most <= replay.upper, "{replay:?}");
    assert_eq!(row.replayed, Some(replay.most));
    assert_eq!(row.need, (replay.most * 135).div_ceil(100));
    assert!(row.need < row.p95_need * 3 / 4, "evened out over nine calls: {row:?}");
    assert!(row.derivation.iter().any(|line| line.contains("less than the P95 tells")), "{row:?}");
    assert_eq!(made, plan(CLOSE, "", &with_runs()));
}

/// Protects the plan without replays: the percentile's figure is the need, and the plan has another id.
#[test]
fn a_quick_plan_takes_the_percentile() {
    let (quick, replayed) = with_input(CLOSE, "", &with_runs(), as_of(), |input| {
        (make(&PlanInput { quick: true, ..*input }).unwrap(), make(input).unwrap())
    });
    let row = |plan: &plimsoll_plan::Plan| {
        plan.pools[0].dimensions.iter().find(|row| row.dimension == INPUT).unwrap().clone()
    };
    assert_eq!((row(&quick).replayed, row(&quick).need), (None, 2_138_400));
    assert!(row(&replayed).replayed.is_some());
    assert_ne!(quick.plan_id, replayed.plan_id);
}

/// Protects a rehearsal: at the limit of today the close is throttled, at the need it is not, and
/// Little's law holds at every boundary.
#[test]
fn the_close_stalls_at_the_limit_of_today_and_not_at_the_need() {
    let today = rehearsed(Vec::new());
    let need = plan(CLOSE, "", &with_runs()).pools[0]
        .dimensions
        .iter()
        .find(|row| row.dimension == INPUT)
        .unwrap()
        .need;
    let asked =
        rehearsed(vec![LimitInstead { pool: SONNET.to_owned(), dimension: INPUT.to_owned(), most: need }]);
    let (stalled, served) = (&today.tiers[0].summary, &asked.tiers[0].summary);
    assert!(stalled.throttled_share > 0.01 && stalled.runs_failed * 20 > stalled.runs, "{stalled:?}");
    assert!(served.throttled_share <= 0.001 && served.runs_failed == 0, "{served:?}");
    assert!(today.little.exact && asked.little.exact);
    let runs = asked.little.boundaries.iter().find(|at| at.boundary == "run").unwrap();
    assert!((35.0..45.0).contains(&runs.l), "40 in flight: {runs:?}");
}

/// Protects page one of the report: if nothing is signed the close is refused and late, with what is asked for it
/// is neither, by the same arrivals; a plan without replays says nothing of it.
#[test]
fn nothing_signed_is_told_beside_what_is_asked_for() {
    let made = plan(CLOSE, "", &with_runs());
    let told: Vec<_> = made.unsigned.iter().map(|row| (row.pool.as_str(), row.dimension.as_str())).collect();
    assert_eq!(told, [(SONNET, INPUT)]);
    assert_eq!(made.unsigned[0].workflows.len(), 1, "one workflow runs at the close");
    let workflow = &made.unsigned[0].workflows[0];
    assert_eq!((workflow.workflow.as_str(), workflow.tier), ("invoice-reconciliation", 1));
    let (today, asked) = (&workflow.today, &workflow.asked);
    assert_eq!(today.runs, asked.runs, "the same arrivals");
    assert!(today.throttled_share > 0.01 && today.lost_share > 0.0, "{today:?}");
    assert!(asked.throttled_share <= 0.001 && asked.lost_share == 0.0, "{asked:?}");
    let quick = with_input(CLOSE, "", &with_runs(), as_of(), |input| {
        make(&PlanInput { quick: true, ..*input }).unwrap()
    });
    assert!(quick.unsigned.is_empty());
}

/// Protects against a limit that is set nowhere: it is an error, not ignored.
#[test]
fn an_unknown_limit_is_refused() {
    let limit = LimitInstead { pool: SONNET.to_owned(), dimension: "tokens_per_min".to_owned(), most: 1 };
    let asked = Rehearsal { limits: vec![limit], ..close() };
    let error = with_input(CLOSE, "", &with_runs(), as_of(), |input| rehearse(input, &asked, 1))
        .unwrap_err()
        .to_string();
    assert!(error.contains("draws tokens_per_min"), "{error}");
}

/// Protects the stress table: every stress of the policy is replayed at what is asked for; the close holds
/// with a third of the limit gone, since the step asked for is far above the need, and breaks on three
/// times the runs.
#[test]
fn stresses_are_replayed_at_what_is_asked_for() {
    let made = plan(CLOSE, "", &with_runs());
    assert_eq!(
        made.pools[0].dimensions.iter().find(|row| row.dimension == INPUT).unwrap().ask,
        Some(2_000_000)
    );
    assert_eq!(made.stress.len(), 10);
    for stress in &made.stress {
        assert_eq!(stress.holds, stress.breaks.is_none(), "{stress:?}");
        assert_eq!(stress.holds, stress.tiers.is_empty() && stress.first.is_none(), "{stress:?}");
    }
    let holds = |name: &str| made.stress.iter().find(|stress| stress.stress == name).unwrap().holds;
    assert!(holds("limits -30 %") && holds("latency x2") && holds("price +25 %"));
    let burst = made.scenarios.iter().find(|scenario| scenario.scenario == "success burst").unwrap();
    assert!(!burst.holds && (2.0..=3.0).contains(&burst.factor), "{burst:?}");
    assert!(made.scenarios.iter().find(|scenario| scenario.scenario == "expected").unwrap().holds);
}

/// Protects backtests: the largest need of the horizon is the plan's own at the event that binds, without
/// headroom and whatever the limits are, and both figures are of the same instant.
#[test]
fn the_largest_need_of_the_horizon() {
    let made = plan(CLOSE, "", &with_runs());
    let row = made.pools[0].dimensions.iter().find(|row| row.dimension == INPUT).unwrap();
    let needs = with_input(CLOSE, "", &with_runs(), as_of(), |input| largest_needs(input).unwrap());
    let need = needs.iter().find(|need| need.quota.dimension == INPUT).unwrap();
    assert_eq!((Some(need.replayed), need.p95), (row.replayed, row.p95_floor));
    assert_eq!((need.event.as_deref(), need.measure.as_str()), (Some("month-end close"), "input_tokens"));
    let without_limits = CLOSE.replace("input_tokens_per_min = 750000,", "");
    let again = with_input(&without_limits, "", &with_runs(), as_of(), |input| largest_needs(input).unwrap());
    assert_eq!(needs, again);
}

/// Attempts of 6,000 input tokens every 400 ms, far more than 750,000 a minute, as a bucket that holds so many
/// seconds of that lets them in and refuses them.
fn refusals(seconds: u64) -> Vec<AttemptMeasured> {
    let holds = 12_500 * seconds * 1_000;
    let (mut level, mut last) = (holds, 0);
    let first: u64 = 1_793_365_200_000; // 30 October 2026, 13:00 UTC, in milliseconds
    let attempt = |number: u64| {
        let at = number * 400;
        level = holds.min(level + (at - last) * 12_500);
        last = at;
        let refused = level < 6_000_000;
        if !refused {
            level -= 6_000_000;
        }
        AttemptMeasured {
            at_us: (first + at) * 1_000,
            until_us: (first + at + 300) * 1_000,
            refused,
            admission_requests: Some(1),
            settlement_requests: Some(1),
            admission_input_tokens: Some(6_000),
            settlement_input_tokens: Some(6_000),
            admission_output_tokens: Some(0),
            ..AttemptMeasured::default()
        }
    };
    (0..2_000).map(attempt).collect()
}

/// Protects the need from a model that is kinder than the provider: a pool whose refusals tell that its bucket
/// holds five seconds, not a minute, needs more; what was learned is told, and the percentile does not count
/// beside it, since nothing is left unexplained. Where the refusals fit no bucket, it does.
#[test]
fn refusals_tell_how_a_limit_is_held() {
    let row = |refusals: Vec<AttemptMeasured>| {
        let mut measured = with_runs();
        measured.pools[0].refusals = refusals;
        let workflow = &mut measured.workflows[0];
        workflow.occurrences = vec![plimsoll_plan::OccurrenceMeasured {
            event: "month-end close".to_owned(),
            start: at("2026-10-30T13:00:00Z"),
            end: at("2026-10-30T16:00:00Z"),
            runs: 900,
            attempts: 9_000,
            throttled_attempts: 1_000,
            ..plimsoll_plan::OccurrenceMeasured::default()
        }];
        let made = plan(CLOSE, "", &measured);
        made.pools[0].dimensions.iter().find(|row| row.dimension == INPUT).unwrap().clone()
    };
    let (whole, short) = (row(refusals(60)), row(refusals(5)));
    let of = |row: &plimsoll_plan::DimensionPlan| row.replay.clone().unwrap();
    assert_eq!((of(&whole).holds_s, of(&short).holds_s), (None, Some(5)));
    assert!(short.replayed.unwrap() * 10 > whole.replayed.unwrap() * 11, "{short:?} {whole:?}");
    assert_eq!((of(&whole).lower_bound, of(&short).lower_bound), (None, None));
    assert!(short.derivation.iter().any(|line| line.contains("within 5 s")), "{:?}", short.derivation);
    let mut odd = refusals(60);
    odd.iter_mut().for_each(|attempt| attempt.refused = attempt.at_us % 7_000_000 == 0);
    for attempt in &mut odd {
        (attempt.admission_input_tokens, attempt.settlement_input_tokens) = (Some(60), Some(60));
    }
    let odd = row(odd);
    assert!(of(&odd).lower_bound.is_some_and(|why| why.contains("does not know")), "{odd:?}");
    assert_eq!(odd.need, odd.p95_need);
}

/// Protects an event's course: where past closes started half of their runs in the first of three hours (a little
/// less once chance is taken off), that
/// hour is replayed, at half as many runs again; without such starts the rate is even.
#[test]
fn the_busiest_hour_of_an_event_is_replayed() {
    let with = |starts: &[u64]| {
        let mut measured = with_runs();
        let quarters = (0u32..).zip(starts).map(|(quarter, &starts)| QuarterStarts { quarter, starts });
        measured.workflows[0].event_starts.insert("month-end close".to_owned(), quarters.collect());
        let made = plan(CLOSE, "", &measured);
        let row = made.pools[0].dimensions.iter().find(|row| row.dimension == INPUT).unwrap().clone();
        (row.replayed.unwrap() as f64, row.derivation.join("\n"))
    };
    let (even, told) = with(&[600; 12]);
    assert!(!told.contains("did not start evenly"), "{told}");
    let mut front = [450; 12];
    front[..4].fill(900);
    let (busy, told) = with(&front);
    assert!(told.contains("from minute 0 of a window on, at 1.49 times the rate"), "{told}");
    assert!(busy > 1.25 * even && busy < 1.75 * even, "{busy} {even}");
}

/// Protects a recorded hour: every run at its own time, once, whatever the rates of the calendar; throttled at a
/// small limit and not at a large one; and a plan's need is held against what came.
#[test]
fn an_hour_is_replayed_as_it_was() {
    let mut runs = with_runs().sampled_runs;
    let (from, to) = (at("2026-10-30T13:00:00Z"), at("2026-10-30T14:00:00Z"));
    for (number, run) in (0..).zip(&mut runs) {
        // One every thirty seconds, so that those of the last ten minutes began before an end and some after it.
        run.arrival_us = from.as_microsecond() + number * 30_000_000;
    }
    let known = plan(CLOSE, "", &with_runs());
    let replayed = |limit: u64, runs: &[SampledRun]| {
        let limit = LimitInstead { pool: SONNET.to_owned(), dimension: INPUT.to_owned(), most: limit };
        let what = Scene::Stretch { from, to, runs: runs.to_vec() };
        let asked = Rehearsal { what, limits: vec![limit], plan: Some(known.clone()), ..close() };
        with_input(CLOSE, "", &with_runs(), as_of(), |input| rehearse(input, &asked, 2))
    };
    let (wide, narrow) = (replayed(10_000_000, &runs).unwrap(), replayed(60_000, &runs).unwrap());
    let tier = &wide.tiers[0].summary;
    assert_eq!((tier.runs, tier.throttled, tier.runs_failed), (99, 0, 0));
    assert!(tier.runs_completed + tier.runs_in_flight == 99 && wide.little.exact);
    assert_eq!(wide.recorded.as_ref().map(|stretch| (stretch.runs, stretch.left_out)), Some((99, 0)));
    assert!(wide.rates.is_empty() && wide.minutes == 60.0);
    let (held, broke) = (wide.plan.unwrap(), narrow.plan.unwrap());
    let row = held.dimensions.iter().find(|row| row.dimension == INPUT).unwrap();
    assert!(held.held && row.covered && row.busiest > 0 && row.over_provision.unwrap() > 1.0, "{row:?}");
    assert!(!broke.held && narrow.tiers[0].summary.throttled > 0 && !narrow.served[0].held);
    // What nobody knows the use of is left out, and said.
    runs[0].calls[0].input_tokens = None;
    runs[0].calls[0].input_uncached = None;
    let stretch = replayed(10_000_000, &runs).unwrap().recorded.unwrap();
    assert_eq!((stretch.runs, stretch.left_out), (98, 1));
    assert!(replayed(1, &[]).unwrap_err().to_string().contains("choose a stretch"));
}
