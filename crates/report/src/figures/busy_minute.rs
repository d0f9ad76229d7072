//! Who is in the busiest minute: the coincident minute of a pool by workflow, beside each workflow's own.

use plimsoll_plan::{BusiestMinute, Plan, PoolPlan, WorkflowMinute};

use super::{Figure, Table, series::Drawn, sql_text, whereabouts};
use crate::{
    charts::{BusyMinute, Label, Share},
    format::{NONE, about, capital, compact, count, day, day_year, group},
    local::Local,
    names,
};

/// Most workflows drawn apart; the rest stand together.
const MOST: usize = 6;

/// Share of the largest amount below which a workflow's own busiest minute is one of "others".
const SMALL: f64 = 0.02;

pub(super) fn figure(number: usize, plan: &Plan, drawn: &Drawn<'_>, local: &Local) -> Option<Figure> {
    let busiest = drawn.pool.busiest.get(&drawn.measure)?;
    let chart = BusyMinute { parts: parts(busiest), limit: drawn.dimension.limit };
    let total = chart.total();
    // Of one workflow alone there is nothing to tell that the chart of days does not.
    if total == 0 || chart.parts.len() < 2 {
        return None;
    }
    let words = names::dimension(&drawn.dimension.dimension);
    let label = Label {
        id: format!("minute-{number}"),
        title: title(drawn.plan, &chart, busiest),
        desc: description(&chart, busiest, &words, local),
    };
    let n = drawn.pool.per_minute.get(&drawn.measure).map_or(0, |stat| stat.n);
    let alone = if chart.parts.iter().any(|p| p.own_peak.is_some_and(|own| own > p.amount)) {
        " \u{b7} filled: its part of that minute; outline: its own busiest minute"
    } else {
        ""
    };
    Some(Figure {
        subtitle: format!(
            "{}, {} \u{b7} busiest of {} in the history, {} to {}: {} {}, {} time{alone} \u{b7} {}",
            capital(&words),
            drawn.dimension.basis,
            count(n, "busy minute", "busy minutes"),
            day(local.day(plan.history.from)),
            day_year(local.last_day(plan.history.to)),
            day(local.day(busiest.minute)),
            local.clock(busiest.minute),
            local.city(),
            whereabouts(drawn.plan),
        ),
        svg: chart.svg(&label),
        table: table(&chart, busiest, local),
        source: format!(
            "sql/plan/busiest_minutes.sql, pool = {} and measure = {}",
            sql_text(&drawn.plan.pool),
            sql_text(&drawn.measure)
        ),
        label,
    })
}

fn name(workflow: &WorkflowMinute) -> String {
    workflow.workflow.clone().unwrap_or_else(|| "workflow unknown".to_owned())
}

/// Every workflow that matters, and the rest in one.
fn parts(busiest: &BusiestMinute) -> Vec<Share> {
    let total: u64 = busiest.workflows.iter().fold(0, |sum, w| sum.saturating_add(w.amount));
    let largest = busiest.workflows.iter().map(|w| w.own_peak).max().unwrap_or(0).max(total);
    let matters = |w: &&WorkflowMinute| w.own_peak as f64 >= SMALL * largest as f64;
    let (mut shown, mut rest): (Vec<_>, Vec<_>) = busiest.workflows.iter().partition(matters);
    if shown.len() > MOST {
        rest.splice(0..0, shown.split_off(MOST));
    }
    // One alone has a name, and is no "others".
    if rest.len() == 1 {
        shown.append(&mut rest);
    }
    let part = |w: &WorkflowMinute| Share { name: name(w), amount: w.amount, own_peak: Some(w.own_peak) };
    let mut parts: Vec<Share> = shown.into_iter().map(part).collect();
    if !rest.is_empty() {
        let amount = rest.iter().fold(0_u64, |sum, w| sum.saturating_add(w.amount));
        parts.push(Share { name: format!("{} others", group(rest.len() as u64)), amount, own_peak: None });
    }
    parts
}

/// Peak of the sum over sum of the peaks below which workflows are said to peak at different times.
const APART: f64 = 0.9;

/// Peak of the sum over the sum of the peaks: how far the workflows' busiest minutes fall together.
fn coincidence(busiest: &BusiestMinute) -> f64 {
    let sum =
        |of: fn(&WorkflowMinute) -> u64| -> f64 { busiest.workflows.iter().map(|w| of(w) as f64).sum() };
    sum(|w| w.amount) / sum(|w| w.own_peak).max(1.0)
}

/// Share of the limit that a workflow's own busiest minute has to reach before it is said to fill it.
const FILLS: f64 = 0.9;

fn title(pool: &PoolPlan, chart: &BusyMinute, busiest: &BusiestMinute) -> String {
    let model = names::model(&pool.pool);
    let fills = |part: &&Share| {
        let (own, limit) = (part.own_peak.unwrap_or(0) as f64, chart.limit.unwrap_or(u64::MAX) as f64);
        own >= FILLS * limit
    };
    let apart = coincidence(busiest) < APART;
    if let [one, other] = chart.parts.iter().filter(fills).collect::<Vec<_>>().as_slice()
        && apart
    {
        return format!(
            "{} and {} each fill the limit of {model} alone, at different times",
            one.name, other.name
        );
    }
    let total = chart.total().max(1) as f64;
    let largest = chart.parts.iter().max_by_key(|p| p.amount);
    let who = match largest {
        Some(part) if part.amount as f64 >= total * 0.9995 => {
            format!("{} alone makes the busiest minute of {model}", part.name)
        }
        Some(part) => {
            format!(
                "{} makes {} of the busiest minute of {model}",
                part.name,
                about(part.amount as f64 / total)
            )
        }
        None => format!("Who is in the busiest minute of {model}"),
    };
    if apart { format!("{who}; the others peak at other times") } else { who }
}

fn description(chart: &BusyMinute, busiest: &BusiestMinute, words: &str, local: &Local) -> String {
    let part = |p: &Share| match p.own_peak {
        Some(own) => {
            format!("{} {}, its own busiest minute {}", p.name, compact(p.amount as f64), compact(own as f64))
        }
        None => format!("{} {}", p.name, compact(p.amount as f64)),
    };
    let parts: Vec<String> = chart.parts.iter().map(part).collect();
    let limit = chart.limit.map_or_else(String::new, |l| format!("; limit {}", compact(l as f64)));
    format!(
        "On {} at {}: {} {words}. {}{limit}. Peak of the sum over sum of the peaks: {}.",
        day_year(local.day(busiest.minute)),
        local.clock(busiest.minute),
        group(chart.total()),
        parts.join("; "),
        about(coincidence(busiest)),
    )
}

fn table(chart: &BusyMinute, busiest: &BusiestMinute, local: &Local) -> Table {
    let when = |name: &str| {
        let found = busiest.workflows.iter().find(|w| self::name(w) == name);
        found.map_or_else(|| NONE.to_owned(), |w| local.moment(w.own_minute))
    };
    let mut rows: Vec<Vec<String>> = chart
        .parts
        .iter()
        .map(|p| {
            let own = p.own_peak.map_or_else(|| NONE.to_owned(), group);
            vec![p.name.clone(), when(&p.name), group(p.amount), own]
        })
        .collect();
    rows.push(vec![
        "all together".to_owned(),
        local.moment(busiest.minute),
        group(chart.total()),
        NONE.to_owned(),
    ]);
    Table {
        head: vec!["workflow", "its own busiest minute", "drawn in the busiest of all", "drawn in its own"],
        text_columns: 2,
        rows,
    }
}
