//! Requests made so far, in a sentence: what is open, and what came of the last one decided.

use plimsoll_plan::{LedgerPlan, Plan};

use crate::{
    format::{compact, count, day, day_year, percent},
    names,
};

/// Most open requests that are told one by one.
const MOST: usize = 3;

pub(super) fn list(plan: &Plan) -> Vec<String> {
    let open: Vec<&LedgerPlan> = plan.ledger.iter().filter(|r| r.state != "decided").collect();
    let mut said: Vec<String> = open.iter().take(MOST).map(|r| under_way(r)).collect();
    if open.len() > MOST {
        said.push(count((open.len() - MOST) as u64, "more request is open", "more requests are open"));
    }
    if open.is_empty() {
        said.push("no request is open".to_owned());
    }
    let last = plan.ledger.iter().filter(|r| r.decided.is_some()).max_by_key(|r| r.decided);
    said.extend(last.map(decided));
    said
}

fn what(request: &LedgerPlan) -> String {
    format!("{} on {}", names::dimension(&request.dimension), names::model(&request.pool))
}

fn under_way(request: &LedgerPlan) -> String {
    let asked = compact(request.asked as f64);
    match (request.filed, request.days) {
        (Some(filed), Some(days)) => format!(
            "open request: {asked} {}, filed on {}, {} ago",
            what(request),
            day(filed),
            count(days.unsigned_abs(), "day", "days")
        ),
        (Some(filed), None) => {
            format!("open request: {asked} {}, to be filed on {}", what(request), day(filed))
        }
        _ => format!("drafted and not filed: {asked} {}", what(request)),
    }
}

fn decided(request: &LedgerPlan) -> String {
    let granted = request.granted.unwrap_or(0);
    let share = granted as f64 / request.asked.max(1) as f64;
    let came = match granted {
        0 => "denied".to_owned(),
        _ => format!("{} granted ({} of it)", compact(granted as f64), percent(share)),
    };
    let after = request
        .days
        .map_or_else(String::new, |d| format!(" after {}", count(d.unsigned_abs(), "day", "days")));
    let on = request.decided.map_or_else(String::new, |d| format!(", on {}", day_year(d)));
    format!("last decided: {} {} asked, {came}{after}{on}", compact(request.asked as f64), what(request))
}
