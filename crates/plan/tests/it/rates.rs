//! Rates through the planner: what they come from, what is said of them, and what follows.
#![expect(clippy::print_stdout, reason = "figures are told")]

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan};
use plimsoll_plan::{EventRatePlan, Measured, OccurrenceMeasured, Plan, Windows, WorkflowMeasured, windows};

use crate::plan::{codes, row};
use crate::world::{CLOSE, SONNET, as_of, at, measured, new_york, plan};

const INPUT: &str = "input_tokens_per_min";
/// A year of closes, of the published worked example.
const TWELVE: [f64; 12] = [1.62, 1.70, 1.85, 1.74, 1.90, 1.66, 1.78, 1.81, 1.69, 1.95, 1.73, 1.77];

/// The close's spec with another rate for the invoice agent.
fn close(rate: &str) -> String {
    CLOSE.replace("{ in_flight = 40 }", rate)
}

/// The windows of a spec as of the day of the plan.
fn windows_of(spec: &str) -> Windows {
    windows(&plimsoll_plan::Spec::parse(spec).unwrap(), &new_york(), as_of()).unwrap()
}

/// A lake that begins so many weeks before the plan, in which the invoice agent starts `usual` runs an
/// hour from 9 to 17 o'clock on every weekday, by the week, and inside the last past occurrences of the
/// spec's events `ratios` times as many.
fn lake(spec: &str, weeks: i64, usual: impl Fn(i64) -> u64, events: &[(&str, &[f64])]) -> Measured {
    let mut measured = measured();
    let calendar = new_york();
    let today = calendar.local_date(as_of());
    let first = today.checked_sub((weeks * 7).days()).unwrap();
    measured.history.first_run = Some(calendar.start_of_day(first.yesterday().unwrap()).unwrap());
    let windows = windows_of(spec);
    let workflow = &mut measured.workflows[0];
    let mut times: Vec<(Timestamp, Timestamp, f64)> = Vec::new();
    for (event, ratios) in events {
        let past: Vec<_> = windows.past.iter().filter(|past| past.event == *event).collect();
        for (past, ratio) in past[past.len() - ratios.len()..].iter().zip(*ratios) {
            times.extend(past.windows.iter().map(|(start, end)| (*start, *end, *ratio)));
        }
    }
    for (date, week) in (0..weeks * 7).map(|day| (first.checked_add(day.days()).unwrap(), day / 7)) {
        if date.weekday().to_monday_zero_offset() >= 5 {
            continue;
        }
        for hour in 9..17 {
            let start = calendar.instant(date.at(hour, 0, 0, 0)).unwrap();
            let in_event = times.iter().find(|(from, to, _)| *from <= start && start < *to);
            let runs = usual(week) as f64 * in_event.map_or(1.0, |(_, _, ratio)| *ratio);
            workflow.hourly_starts.push((start, runs.round() as u64));
        }
    }
    for (event, ratios) in events {
        let past: Vec<_> = windows.past.iter().filter(|past| past.event == *event).collect();
        for past in &past[past.len() - ratios.len()..] {
            let inside = workflow.hourly_starts.iter().filter(|(hour, _)| past.contains(*hour));
            let runs = inside.map(|(_, runs)| runs).sum();
            workflow.occurrences.push(occurrence(event, past.start(), past.end(), runs));
        }
    }
    measured
}

fn occurrence(event: &str, start: Timestamp, end: Timestamp, runs: u64) -> OccurrenceMeasured {
    let event = event.to_owned();
    OccurrenceMeasured { event, start, end, runs, attempts: 9 * runs, ..OccurrenceMeasured::default() }
}

fn event_rate<'p>(plan: &'p Plan, event: &str) -> &'p EventRatePlan {
    plan.event_rates.iter().find(|row| row.event == event).unwrap()
}

fn near(got: Option<f64>, expected: f64) -> bool {
    got.is_some_and(|got| (got - expected).abs() < 0.0006 * expected)
}

/// Protects the order of sources: the spec's runs a minute, its in-flight over the run's length, what
/// past occurrences measured, the spec's multiplier, what is assumed of events; and that a figure of the
/// spec which is not used is said.
#[test]
fn the_source_of_a_rate_is_the_best_that_is_known() {
    let with = |rate: &str, ratios: &[f64]| {
        let spec = close(rate);
        let plan = plan(&spec, "", &lake(&spec, 8, |_| 60, &[("month-end close", ratios)]));
        let input = row(&plan, SONNET, INPUT);
        let unused = codes(&plan).contains(&"multiplier_unused");
        assert_eq!(event_rate(&plan, "month-end close").rate_from.as_deref(), Some(&*input.rate_from));
        (input.rate_from.clone(), input.mean_demand, unused)
    };
    let is = |from: &str, per_min: f64| (from.to_owned(), (per_min * 54_000.0).ceil() as u64, false);
    assert_eq!(with("{ runs_per_min = 20 }", &[3.0]), is("runs_per_min", 20.0));
    assert_eq!(with("{ in_flight = 40 }", &[3.0]), is("in_flight", 40.0 / 3.0));
    let (from, _, unused) = with("{ multiplier = 15 }", &[3.0]);
    assert_eq!((from.as_str(), unused), ("measured", true));
    assert_eq!(with("{ multiplier = 15 }", &[]), is("multiplier", 15.0));
    assert_eq!(with("{}", &[]), is("assumed", 1.8));
}

/// Protects the wiring of the golden numbers: with none, one, three and twelve occurrences the plan has
/// the published multipliers of the busy hour of normal days, the weight of own data, and says of one
/// occurrence that it is no trend and of several how much the highest of them covers.
#[test]
fn occurrences_give_the_published_multipliers() {
    let cases: [(&[f64], f64, f64, f64, f64); 4] = [
        (&[], 1.8000, 2.5105, 3.8248, 0.0),
        (&[2.4], 2.0785, 2.7278, 3.7712, 0.5),
        (&[1.6, 1.9, 1.7], 1.7464, 2.1234, 2.6401, 0.75),
        (&TWELVE, 1.7669, 1.9912, 2.2490, 12.0 / 13.0),
    ];
    let spec = close("{}");
    for (ratios, p50, p80, p95, weight) in cases {
        // A busy hour of 6,000 runs, so that ratios survive rounding to whole runs; 57 weeks that do not grow.
        let plan = plan(&spec, "", &lake(&spec, 57, |_| 6000, &[("month-end close", ratios)]));
        let told = event_rate(&plan, "month-end close");
        println!("{} occurrences: {}", ratios.len(), told.detail);
        assert_eq!((told.occurrences as usize, told.normal_busy_runs_per_min), (ratios.len(), Some(100.0)));
        assert!(near(told.runs_per_min, 100.0 * p50) && near(told.runs_per_min_p80, 100.0 * p80), "{told:?}");
        assert!(near(told.runs_per_min_p95, 100.0 * p95), "{told:?}");
        assert!((told.own_weight.unwrap() - weight).abs() < 1e-4);
        assert_eq!((told.assumed_ratio, told.assumed_from), (1.8, 0));
        assert_eq!(told.highest_seen, ratios.iter().copied().reduce(f64::max));
        assert_eq!(told.conformal_p90.is_some(), ratios.len() >= 9);
        let input = row(&plan, SONNET, INPUT);
        assert!((input.own_weight.unwrap() - weight).abs() < 1e-12);
        // Headroom is not put on top of the forecast: the larger of the two counts.
        let (headed, forecast) = (input.p95_floor as f64 * 1.35, input.forecast_p95.unwrap() as f64);
        assert!((input.need as f64 - headed.max(forecast)).abs() <= 2.0, "{input:?}");
        assert_eq!(forecast > headed, p95 / p50 > 1.35, "here the forecast counts, or the headroom");
        let lines = input.derivation.join("\n");
        assert_eq!(lines.contains("no trend"), ratios.len() == 1, "{lines}");
        assert_eq!(lines.contains("an assumption"), ratios.is_empty(), "{lines}");
        if ratios.len() > 1 {
            assert!(lines.contains(&format!("with probability 1 in {}", ratios.len() + 1)), "{lines}");
        }
    }
}

/// Protects the scorecard: each past occurrence is forecast from those before it alone, by the published
/// multipliers of none, one and three of them, whatever came after.
#[test]
fn past_occurrences_are_forecast_from_what_was_known_before() {
    let spec = close("{}");
    let past = |ratios: &[f64]| {
        let plan = plan(&spec, "", &lake(&spec, 57, |_| 6000, &[("month-end close", ratios)]));
        event_rate(&plan, "month-end close").past.clone()
    };
    let one = past(&[2.4, 1.1]);
    assert!(near(one[0].forecast_p50, 180.0) && near(one[0].forecast_p95, 382.48), "{one:?}");
    assert!(near(one[1].forecast_p50, 207.85) && near(one[1].forecast_p95, 377.12), "{one:?}");
    let three = past(&[1.6, 1.9, 1.7, 9.0]);
    assert!(near(three[3].forecast_p50, 174.64) && near(three[3].forecast_p95, 264.01), "{three:?}");
    assert!(three[3].runs_per_min > 800.0, "it came far above: {three:?}");
}

/// Protects against limits that hide demand: a throttled occurrence is a lower bound. It is marked, it
/// raises what is planned for where it is high, and does not lower it where it is low.
#[test]
fn lower_bounds_raise_and_never_lower() {
    let spec = close("{}");
    let with = |ratios: &[f64], throttled: usize| {
        let mut lake = lake(&spec, 30, |_| 6000, &[("month-end close", ratios)]);
        for occurrence in lake.workflows[0].occurrences.iter_mut().rev().take(throttled) {
            occurrence.throttled_attempts = 100;
        }
        event_rate(&plan(&spec, "", &lake), "month-end close").clone()
    };
    let planned = |rate: &EventRatePlan| rate.runs_per_min_p95.unwrap();
    let (two, low, high) = (with(&[2.0, 2.2], 0), with(&[2.0, 2.2, 1.1], 1), with(&[2.0, 2.2, 6.0], 1));
    assert_eq!((low.occurrences, low.censored, low.past[2].censored), (3, 1, true));
    assert!(low.detail.contains("lower bound"), "{}", low.detail);
    assert!(planned(&low) >= planned(&two), "{} {}", planned(&low), planned(&two));
    assert!(planned(&high) >= 600.0 && planned(&high) > planned(&two));
}

/// Protects ordinary closes from quarter-ends: an occurrence that meets a rarer event of the workflow
/// teaches that one only, as the spec says who takes whose place.
#[test]
fn a_rarer_event_answers_for_itself() {
    let quarter = "\n[[event]]\nname = \"quarter-end\"\nwhen = \"last business day of quarter, 09:00-12:00\"\nover = [\"month-end close\"]\nworkflows = { invoice-reconciliation = {} }\n";
    let spec = format!("{}{quarter}", close("{}"));
    let ordinary = windows_of(&spec).past.iter().filter(|past| past.event == "month-end close").count();
    assert!(ordinary >= 6, "{ordinary}");
    let mut lake = lake(&spec, 30, |_| 6000, &[("month-end close", &[2.0; 6]), ("quarter-end", &[5.0; 2])]);
    // Where both are on, the runs are the quarter-end's.
    let ends: Vec<(Timestamp, Timestamp)> = lake.workflows[0]
        .occurrences
        .iter()
        .filter(|one| one.event == "quarter-end")
        .map(|one| (one.start, one.end))
        .collect();
    for (hour, runs) in &mut lake.workflows[0].hourly_starts {
        if ends.iter().any(|(from, to)| from <= hour && *hour < *to) {
            *runs = 30_000;
        }
    }
    let plan = plan(&spec, "", &lake);
    let (close, quarter) = (event_rate(&plan, "month-end close"), event_rate(&plan, "quarter-end"));
    assert_eq!((close.occurrences, quarter.occurrences), (4, 2));
    assert!(close.past.iter().all(|past| past.ratio == Some(2.0)), "{:?}", close.past);
    assert!(quarter.past.iter().all(|past| past.ratio == Some(5.0)), "{:?}", quarter.past);
    let input = row(&plan, SONNET, INPUT);
    assert!(
        input.need > (close.runs_per_min_p95.unwrap() * 118_800.0) as u64,
        "December is a quarter-end too"
    );
}

/// Protects rates over a change of the clock: a window that straddles it is as long as it lasted, an hour
/// is counted once, and the days around it are normal days.
#[test]
fn a_window_over_the_change_of_the_clock() {
    // Sunday 1 November 2026, the clock goes back at 02:00: this window lasts five hours.
    let spec = close("{}").replace("last business day of month, 09:00-12:00", "daily, 00:00-04:00");
    let past = windows_of(&spec).past;
    let sunday = past.iter().find(|past| past.start() == at("2026-11-01T04:00:00Z")).unwrap();
    assert_eq!(sunday.end().duration_since(sunday.start()), SignedDuration::from_hours(5));
    let mut lake = lake(&spec, 8, |_| 60, &[]);
    let workflow = &mut lake.workflows[0];
    let night = (0..5).map(|hour| (sunday.start() + SignedDuration::from_hours(hour), 300));
    workflow.hourly_starts.extend(night);
    workflow.hourly_starts.sort_unstable();
    workflow.occurrences.push(occurrence("month-end close", sunday.start(), sunday.end(), 1500));
    let plan = plan(&spec, "", &lake);
    let told = event_rate(&plan, "month-end close");
    assert_eq!(told.past[0].runs_per_min, 5.0, "1,500 runs in five hours, not in four");
    assert_eq!(told.past[0].day, "2026-11-01".parse::<Date>().unwrap());
}

/// Protects growth: over half a year of 2 % a week a forecaster or a drift is chosen over "no growth",
/// ordinary hours and multipliers rise with it until it is held, and its scorecard and interval are kept.
#[test]
fn levels_grow() {
    let spec = close("{ multiplier = 3 }");
    let grown = |week: i64| (6000.0 * 1.02_f64.powi(week as i32)).round() as u64;
    let plan = plan(&spec, "", &lake(&spec, 30, grown, &[]));
    let growth = &plan.growth[0];
    println!("{}\n{:?}", growth.detail, growth.scorecard);
    assert_eq!(
        (growth.workflow.as_str(), growth.weeks, growth.ahead.len()),
        ("invoice-reconciliation", 30, 13)
    );
    assert_ne!(growth.method.as_deref(), Some("level"));
    // From the middle of the last four weeks: 2.5 weeks to today's, and thirteen on.
    let expected = 1.02_f64.powf(14.5);
    let last = growth.ahead.last().unwrap();
    assert!((last.factor - expected).abs() < 0.08, "{last:?} {expected}");
    assert!(growth.ahead.iter().all(|ahead| ahead.low <= ahead.factor && ahead.factor <= ahead.high));
    assert!(growth.scorecard.iter().any(|score| score.method == "ets" && score.by_origin.len() == 10));
    assert!(!codes(&plan).contains(&"no_growth"));
    let told = event_rate(&plan, "month-end close");
    assert!(told.detail.contains("grown 1."), "{}", told.detail);
    // The close of 30 November is in the fifth week; the hour's mean is over the last four.
    let mean = (26..30).map(grown).sum::<u64>() as f64 / 4.0 / 60.0;
    let rate = told.runs_per_min.unwrap() / 3.0 / mean;
    assert!((rate - growth.ahead[4].factor).abs() < 0.01, "{rate} {:?}", growth.ahead[4]);
}

/// Protects against growth from thin air: eight weeks tell none, and the plan says so, with the figure.
#[test]
fn too_little_history_does_not_grow() {
    let spec = close("{}");
    let plan = plan(&spec, "", &lake(&spec, 8, |week| 60 + 20 * week as u64, &[]));
    assert_eq!((plan.growth[0].method.as_deref(), plan.growth[0].ahead.len()), (None, 0));
    let told = plan.warnings.iter().find(|warning| warning.code == "no_growth").unwrap();
    assert!(told.detail.contains("8 whole weeks of history, and 12 are the least"), "{}", told.detail);
}

/// Protects the ordinary week: median, mean and upper hours by hour of the week with their n; hours of
/// holidays apart, and hours of events in none.
#[test]
fn holidays_stand_apart() {
    let spec = close("{}");
    let mut lake = lake(&spec, 8, |_| 60, &[("month-end close", &[3.0])]);
    // Columbus Day, 12 October, is a Monday: nearly nobody works.
    let holiday: Vec<Timestamp> =
        (9..17).map(|hour| at("2026-10-12T04:00:00Z") + SignedDuration::from_hours(hour)).collect();
    for (hour, runs) in &mut lake.workflows[0].hourly_starts {
        if holiday.contains(hour) {
            *runs = 6;
        }
    }
    let plan = plan(&spec, "", &lake);
    let load = &plan.load[0];
    assert_eq!([load.hours.len(), load.mean.len(), load.p50.len(), load.p90.len()], [192; 4]);
    let (monday, friday, on_holiday) = (9, 4 * 24 + 9, 168 + 9);
    assert_eq!((load.hours[monday], load.mean[monday], load.p50[monday]), (3, Some(1.0), Some(1.0)));
    assert_eq!((load.hours[on_holiday], load.mean[on_holiday]), (1, Some(0.1)));
    assert_eq!((load.hours[friday], load.p90[friday]), (3, Some(1.0)), "the close of 30 October is left out");
    assert_eq!(load.hours.iter().sum::<u32>(), 28 * 24 - 3);
}

/// Protects a workflow without a normal busy hour to compare with: the busiest occurrence stands, and
/// it is said how often it will be exceeded.
#[test]
fn without_normal_days_the_busiest_stands() {
    let spec = close("{}");
    let mut lake = lake(&spec, 30, |_| 6000, &[("month-end close", &[2.0, 3.0])]);
    let workflow: &mut WorkflowMeasured = &mut lake.workflows[0];
    let past = windows_of(&spec).past;
    workflow.hourly_starts.retain(|(hour, _)| past.iter().any(|past| past.contains(*hour)));
    let plan = plan(&spec, "", &lake);
    let told = event_rate(&plan, "month-end close");
    assert_eq!((told.rate_from.as_deref(), told.runs_per_min), (Some("measured"), Some(300.0)));
    assert_eq!((told.own_weight, told.past[0].ratio), (None, None));
    assert!(told.detail.contains("probability 1 in 3"), "{}", told.detail);
}

/// Protects the reviewer at the provider: where the forecast asks for more than headroom does, the
/// request says that it is the forecast, and calls the figure so.
#[test]
fn a_request_says_which_margin_it_has() {
    let spec = close("{}");
    let asked = |ratios: &[f64]| {
        let plan = plan(&spec, "", &lake(&spec, 57, |_| 600, &[("month-end close", ratios)]));
        let request = plan.quota_requests.iter().find(|request| request.dimension == INPUT).unwrap();
        let by = |margin: &str| request.evidence.contains_key(&format!("planned_p95_{margin}_{INPUT}"));
        (request.justification.clone(), by("at_forecast_p95"), by("with_headroom"))
    };
    let (text, forecast, headroom) = asked(&[2.4]);
    assert!(forecast && !headroom && text.contains("the forecast stays below in 95 of 100 cases"), "{text}");
    let (text, forecast, headroom) = asked(&TWELVE);
    assert!(headroom && !forecast && text.contains("35 % headroom"), "{text}");
}

/// Protects from a rate of the spec that is less than a past close brought on average: it is planned with, and said.
#[test]
fn a_rate_below_what_was_seen_is_said() {
    let with = |rate: &str| {
        let spec = close(rate);
        let plan = plan(&spec, "", &lake(&spec, 8, |_| 60, &[("month-end close", &[20.0])]));
        plan.warnings
            .iter()
            .find(|warning| warning.code == "below_past")
            .map(|warning| warning.detail.clone())
    };
    assert_eq!(with("{ runs_per_min = 20 }"), None);
    let told = with("{ in_flight = 40 }").unwrap();
    assert!(told.contains("13.33 runs/min") && told.contains("20.00 on average"), "{told}");
}
