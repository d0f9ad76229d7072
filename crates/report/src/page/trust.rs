//! How far the data behind a plan can be trusted: n, coverage, occurrences, censored share.

use std::collections::BTreeMap;

use plimsoll_plan::Plan;

use crate::{
    figures::score,
    format::{count, group, percent},
};

pub(super) fn list(plan: &Plan) -> Vec<String> {
    let history = &plan.history;
    let mut out = vec![
        format!(
            "{} on {}",
            count(history.runs, "finished run", "finished runs"),
            count(u64::from(history.days), "day", "days")
        ),
        format!("usage known for {} of model calls", percent(history.coverage)),
    ];
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for event in &plan.events {
        let most = seen.entry(&event.event).or_default();
        *most = (*most).max(event.occurrences);
    }
    for (event, occurrences) in seen {
        out.push(match occurrences {
            0 if is_assumed(plan, event) => format!("{event}: never measured, so its rate is an assumption"),
            0 => format!("{event}: never measured"),
            1 => format!("{event}: measured once, which is no trend"),
            n => format!("{event}: measured {} times", group(u64::from(n))),
        });
    }
    let score = score(plan);
    if score.forecast > 0 {
        out.push(format!(
            "past forecasts: {} of {} stayed within P95",
            score.within,
            count(score.forecast as u64, "occurrence", "occurrences")
        ));
    }
    if score.above_declared > 0 {
        out.push(format!(
            "{} of {} started more runs a minute than plan.toml declares for the next",
            score.above_declared,
            count(score.with_declared as u64, "past occurrence", "past occurrences")
        ));
    }
    out.push(if history.censored > 0.0 {
        format!("{} of busy minutes throttled: demand there is a lower bound", percent(history.censored))
    } else {
        "no busy minute was throttled".to_owned()
    });
    out
}

/// Whether a rate of the event is neither declared nor measured.
fn is_assumed(plan: &Plan, event: &str) -> bool {
    plan.event_rates.iter().any(|row| row.event == event && row.rate_from.as_deref() == Some("assumed"))
}
