//! What the plan says of its rates: the rows of `document` from what was learned.
//!
//! The invariant: figures are the ones that the plan was made with, rounded for reading only.

use crate::context::Context;
use crate::quantity::Quantity;
use crate::rates::days::SLOTS;
use crate::rates::document::{EventRatePlan, GrowthAhead, GrowthPlan, GrowthScore, LoadPlan, OccurrencePlan};
use crate::rates::growth::{Growth, Trend};
use crate::rates::load::{Load, Share};
use crate::rates::past::run_minutes;
use crate::rates::rhythm::{Learned, Rhythm};
use crate::windows::EventWindows;

/// One row per event and measured workflow that it moves, at its next occurrence.
pub(crate) fn event_rates(context: &Context<'_>, rhythm: &Rhythm<'_>) -> Vec<EventRatePlan> {
    let mut rows = Vec::new();
    for event in &context.spec().events {
        let next = context.windows.coming.iter().find(|coming| coming.event == event.name);
        let Some(next) = next else { continue };
        let moved = next.workflows.keys().filter_map(|name| rhythm.workflows.get(name.as_str()));
        rows.extend(moved.filter_map(|learned| event_rate(context, rhythm, learned, next)));
    }
    rows
}

fn event_rate(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    learned: &Learned<'_>,
    next: &EventWindows,
) -> Option<EventRatePlan> {
    let outlook = learned.outlooks.get(next.event.as_str())?;
    let rate = rhythm.in_event(learned, next, next.start());
    let forecast = rate.as_ref().is_some_and(|rate| ["measured", "assumed"].contains(&rate.from));
    let expected = outlook
        .expected(rhythm.growth(learned, next.start()))
        .filter(|_| forecast)
        .map(|expected| expected.p80);
    let effect = outlook.effect.as_ref().filter(|_| forecast);
    let seen = effect.filter(|effect| effect.n() > 0);
    let detail = rate.as_ref().map_or_else(|| unknown(learned, next), |rate| rate.how.to_string());
    Some(EventRatePlan {
        event: next.event.clone(),
        workflow: learned.measured.workflow.clone(),
        next: next.start(),
        rate_from: rate.as_ref().map(|rate| rate.from.to_owned()),
        runs_per_min: rate.as_ref().map(|rate| shown(&rate.per_min)),
        runs_per_min_p80: expected.as_ref().or(rate.as_ref().map(|rate| &rate.per_min)).map(shown),
        runs_per_min_p95: rate.as_ref().map(|rate| shown(&rate.high)),
        occurrences: count(outlook.lived.len()),
        censored: count(outlook.censored()),
        own_weight: effect.map(|effect| round(effect.own_weight())),
        assumed_ratio: round(rhythm.prior.ratio()),
        assumed_from: count(rhythm.prior.learned_from),
        normal_busy_runs_per_min: outlook.normal.as_ref().map(shown),
        highest_seen: seen.and_then(|effect| effect.highest()).map(round),
        highest_seen_covers: seen.map(|effect| round(effect.highest_covers())),
        conformal_p90: seen.and_then(|effect| effect.conformal(0.90)).map(round),
        past: outlook
            .lived
            .iter()
            .zip(outlook.hindsight())
            .map(|(occurrence, expected)| OccurrencePlan {
                day: context.input.calendar.local_date(occurrence.start),
                runs_per_min: shown(&occurrence.per_min),
                ratio: occurrence.ratio.as_ref().map(shown),
                censored: occurrence.censored,
                forecast_p50: expected.as_ref().map(|expected| shown(&expected.p50)),
                forecast_p95: expected.as_ref().map(|expected| shown(&expected.planned)),
            })
            .collect(),
        detail,
    })
}

/// Why an event's rate is not known.
fn unknown(learned: &Learned<'_>, next: &EventWindows) -> String {
    let rate = next.workflows.get(&learned.measured.workflow);
    let no_length = rate.is_some_and(|rate| rate.in_flight.is_some())
        && run_minutes(learned.measured, &next.event).is_none();
    if no_length {
        "no finished run tells how long one takes".to_owned()
    } else if rate.is_some_and(|rate| rate.multiplier.is_some()) {
        "the history never saw that hour of the week outside an event".to_owned()
    } else {
        "no past occurrence was measured, and no busy hour of normal days".to_owned()
    }
}

/// One row per measured workflow.
pub(crate) fn growth(rhythm: &Rhythm<'_>) -> Vec<GrowthPlan> {
    let row = |(workflow, learned): (&&str, &Learned<'_>)| match &learned.growth {
        Growth::Unknown(why) => GrowthPlan {
            workflow: (*workflow).to_owned(),
            method: None,
            baseline: None,
            weeks: 0,
            ahead: Vec::new(),
            scorecard: Vec::new(),
            detail: format!("no growth is assumed: {why}"),
        },
        Growth::Known(trend) => GrowthPlan {
            workflow: (*workflow).to_owned(),
            method: Some(trend.method.name().to_owned()),
            baseline: Some(trend.baseline.name().to_owned()),
            weeks: count(trend.weeks),
            ahead: (1..=trend.farthest()).map(|weeks| ahead(&learned.growth, weeks)).collect(),
            scorecard: scorecard(trend),
            detail: chosen(trend),
        },
    };
    rhythm.workflows.iter().map(row).collect()
}

fn ahead(growth: &Growth, weeks: usize) -> GrowthAhead {
    let factor = growth.after(weeks);
    GrowthAhead {
        weeks: count(weeks),
        low: round(factor.low),
        factor: round(factor.point),
        high: round(factor.high),
    }
}

fn scorecard(trend: &Trend) -> Vec<GrowthScore> {
    let row = |score: &crate::rates::growth::Score| GrowthScore {
        method: score.method.name().to_owned(),
        mase: round(score.mean()),
        by_origin: score.origins.iter().copied().map(round).collect(),
    };
    trend.scores.iter().map(row).collect()
}

fn chosen(trend: &Trend) -> String {
    let mase = |method| {
        let score = trend.scores.iter().find(|score| score.method == method);
        score.map_or(f64::NAN, crate::rates::growth::Score::mean)
    };
    let origins = trend.scores.first().map_or(0, |score| score.origins.len());
    let (method, baseline) = (trend.method, trend.baseline);
    let held = format!("held after week {}, past which nothing was tested", trend.farthest());
    if method == baseline {
        format!(
            "{}: no forecaster beat it from {origins} origins (MASE {:.2}); {held}",
            method.words(),
            mase(method)
        )
    } else {
        format!(
            "{} beat {} from {origins} origins (MASE {:.2} against {:.2}); {held}",
            method.words(),
            baseline.words(),
            mase(method),
            mase(baseline)
        )
    }
}

/// One row per workflow that started runs outside its events.
pub(crate) fn load(rhythm: &Rhythm<'_>) -> Vec<LoadPlan> {
    let of = |load: &Load, figure: &dyn Fn(&Load, usize) -> Option<Quantity>| {
        (0..SLOTS).map(|slot| figure(load, slot).as_ref().map(shown)).collect()
    };
    let row = |(workflow, learned): (&&str, &Learned<'_>)| LoadPlan {
        workflow: (*workflow).to_owned(),
        hours: (0..SLOTS).map(|slot| count(learned.load.hours(slot))).collect(),
        mean: of(&learned.load, &Load::mean),
        p50: of(&learned.load, &|load, slot| load.quantile(slot, Share(50))),
        p90: of(&learned.load, &|load, slot| load.quantile(slot, Share(90))),
    };
    rhythm.workflows.iter().filter(|(_, learned)| !learned.load.is_empty()).map(row).collect()
}

/// A figure for people: four decimals.
fn shown(of: &Quantity) -> f64 {
    round(of.to_f64())
}

fn round(of: f64) -> f64 {
    (of * 1e4).round() / 1e4
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}
