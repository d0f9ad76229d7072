//! Tokens per run by workflow: typical and P95, with the n behind them.

use plimsoll_plan::{MetricPlan, Plan, WorkflowPlan};

use super::{Figure, Table};
use crate::{
    charts::{Dumbbell, Label, Range, RangeRow},
    format::{NONE, compact, day, day_year, group, ratio},
    local::Local,
};

/// Most workflows drawn; the table of workflows has more.
const MOST: usize = 12;

pub(super) fn figure(plan: &Plan, local: &Local) -> Option<Figure> {
    let rows: Vec<RangeRow> = plan.workflows.iter().filter_map(row).take(MOST).collect();
    let widest = widest(&rows)?;
    let label = Label {
        id: "runs".to_owned(),
        title: format!("A P95 run of {} takes {} the input of a typical one", widest.0, ratio(widest.1)),
        desc: description(&rows),
    };
    let left = plan.workflows.len().saturating_sub(rows.len());
    let cut = if left > 0 { format!(" \u{b7} {left} more in plan.json") } else { String::new() };
    let chart = Dumbbell { rows };
    Some(Figure {
        subtitle: format!(
            "Tokens per finished run, exact percentiles, logarithmic axis \u{b7} {} to {} \u{b7} n: runs whose usage is known{cut}",
            day(local.day(plan.history.from)),
            day_year(local.last_day(plan.history.to)),
        ),
        svg: chart.svg(&label),
        table: table(&chart.rows),
        source: "select workflow, metric, n, p50, p95 from run_profiles where metric in ('input_tokens', 'output_tokens')".to_owned(),
        label,
    })
}

fn row(workflow: &WorkflowPlan) -> Option<RangeRow> {
    let range = |metric: &str| {
        let m: &MetricPlan = workflow.metrics.get(metric)?;
        (m.n > 0).then_some(Range { p50: m.p50, p95: m.p95, n: m.n })
    };
    let row = RangeRow {
        name: workflow.workflow.clone(),
        input: range("input_tokens"),
        output: range("output_tokens"),
    };
    (row.input.is_some() || row.output.is_some()).then_some(row)
}

/// The workflow whose P95 lies farthest above its P50, and by how much.
fn widest(rows: &[RangeRow]) -> Option<(&str, f64)> {
    rows.iter()
        .filter_map(|row| {
            let input = row.input.as_ref().filter(|r| r.p50 > 0.0)?;
            Some((row.name.as_str(), input.p95 / input.p50))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

fn description(rows: &[RangeRow]) -> String {
    let said: Vec<String> = rows
        .iter()
        .map(|row| {
            let tell = |range: &Option<Range>, what: &str| match range {
                Some(r) => format!("{what} P50 {}, P95 {}, n {}", compact(r.p50), compact(r.p95), group(r.n)),
                None => format!("{what} unknown"),
            };
            format!("{}: {}, {}", row.name, tell(&row.input, "input"), tell(&row.output, "output"))
        })
        .collect();
    format!("{}.", said.join("; "))
}

fn table(rows: &[RangeRow]) -> Table {
    let mut out = Vec::new();
    for row in rows {
        for (what, range) in [("input", &row.input), ("output", &row.output)] {
            let figures = match range {
                Some(r) => [compact(r.p50), compact(r.p95), group(r.n)],
                None => [NONE, NONE, NONE].map(str::to_owned),
            };
            let mut cells = vec![row.name.clone(), what.to_owned()];
            cells.extend(figures);
            out.push(cells);
        }
    }
    Table { head: vec!["workflow", "tokens", "P50", "P95", "n, runs"], text_columns: 2, rows: out }
}
