//! Whether reserved units are used: the load-duration curve of each reservation.

use plimsoll_plan::{Plan, ReservationPlan};

use super::{Figure, Table, sql_text};
use crate::{
    charts::{Label, LoadDuration},
    format::{compact, count, day, day_year, percent, window},
    local::Local,
    names,
};

/// Most curves drawn; the table of reservations has all of them.
const MOST: usize = 4;

/// Shares at which the table tells the curve.
const SHARES: [f64; 7] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 1.0];

pub(super) fn figures(plan: &Plan, local: &Local) -> Vec<Figure> {
    plan.reservations
        .iter()
        .filter(|r| r.load_duration.len() > 1)
        .take(MOST)
        .enumerate()
        .map(|(i, r)| figure(i + 1, plan, r, local))
        .collect()
}

fn figure(number: usize, plan: &Plan, reservation: &ReservationPlan, local: &Local) -> Figure {
    let chart = LoadDuration {
        points: reservation.load_duration.clone(),
        unit: reservation.unit.clone(),
        held: reservation.held,
        recommended: reservation.recommended,
        break_even: reservation.break_even,
    };
    let label = Label {
        id: format!("reservation-{number}"),
        title: title(reservation),
        desc: description(reservation),
    };
    Figure {
        subtitle: subtitle(plan, reservation, local),
        svg: chart.svg(&label),
        table: Table {
            head: vec!["share of the time", "units at least"],
            text_columns: 0,
            rows: SHARES
                .iter()
                .filter_map(|share| {
                    let units = at(&reservation.load_duration, *share)?;
                    Some(vec![percent(*share), compact(units)])
                })
                .collect(),
        },
        source: if is_replayed(reservation) {
            format!("plan.json, reservations, {}, load_duration", reservation.pool)
        } else {
            format!(
                "select bucket, measure, amount from draw where pool = {} and window_s = 60 order by bucket",
                sql_text(&reservation.pool)
            )
        },
        label,
    }
}

/// Whether the demand is that of the term to come, by the calendar's rates, and not of the minutes measured.
fn is_replayed(reservation: &ReservationPlan) -> bool {
    reservation.basis.as_deref() == Some("replayed")
}

/// Measure, window, period and n.
fn subtitle(plan: &Plan, reservation: &ReservationPlan, local: &Local) -> String {
    let (pool, unit) = (names::pool(&reservation.pool), &reservation.unit);
    if !is_replayed(reservation) {
        return format!(
            "{pool} \u{b7} {unit} needed by the minute, {} to {}",
            day(local.day(plan.history.from)),
            day_year(local.last_day(plan.history.to)),
        );
    }
    let n = reservation.replay.as_ref().map_or_else(String::new, |replay| {
        format!(
            " \u{b7} n = {}, {}",
            count(replay.calls, "call", "calls"),
            count(replay.states, "kind of hours", "kinds of hours")
        )
    });
    format!(
        "{pool} \u{b7} {unit} needed in windows of {}, measured runs replayed at the calendar\u{2019}s rates over the term{n}",
        window(f64::from(reservation.window_s))
    )
}

/// Units in demand at a share: of the first point at or beyond it.
fn at(points: &[(f64, f64)], share: f64) -> Option<f64> {
    let beyond = points.iter().find(|p| p.0 >= share - 1e-9);
    beyond.or(points.last()).map(|p| p.1)
}

fn title(reservation: &ReservationPlan) -> String {
    let model = names::model(&reservation.pool);
    match (reservation.utilization, reservation.break_even) {
        (Some(used), Some(even)) if used < even => {
            format!("{model}: {} of what is held is used", percent(used))
        }
        (Some(used), _) => format!("{model}: {} of the held units are used", percent(used)),
        (None, _) if reservation.held == 0 => format!("{model}: what a reservation would carry"),
        (None, _) => format!("{model}: how much of the time units are needed"),
    }
}

fn description(reservation: &ReservationPlan) -> String {
    let unit = &reservation.unit;
    let mut parts = Vec::new();
    for (share, words) in [(0.0, "at the most"), (0.05, "for 5 % of the time"), (0.5, "for half of it")] {
        if let Some(units) = at(&reservation.load_duration, share) {
            parts.push(format!("{} {unit} {words}", compact(units)));
        }
    }
    let used = reservation.utilization.map_or_else(String::new, |u| format!(", {} used", percent(u)));
    parts.push(format!("held {} {unit}{used}", reservation.held));
    if reservation.recommended != reservation.held {
        parts.push(format!("recommended {} {unit}", reservation.recommended));
    }
    if let Some(even) = reservation.break_even {
        parts.push(format!("break-even at {}", percent(even)));
    }
    format!("Demand: {}.", parts.join("; "))
}
