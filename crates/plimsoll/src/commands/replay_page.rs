//! What a replay showed, in lines for people; `--format json` has it all.
//!
//! Invariant: figures are of the first seed, and beside them stand P5 to P95 over all where they differ.

use plimsoll_plan::Rehearsed;
use plimsoll_replay::{Durations, Spread, Summary};

/// The lines, each under its name.
pub(super) fn told(replayed: &Rehearsed) -> Vec<(String, String)> {
    let mut lines = vec![("replayed".to_owned(), scene(replayed))];
    for rate in &replayed.rates {
        let rates = format!("{:.2} runs/min ({})", rate.runs_per_min, rate.from.replace('_', " "));
        lines.push((format!("rate {}", rate.workflow), rates));
    }
    let page = Page(&replayed.spread);
    for tier in &replayed.tiers {
        let of = format!("tier {}", tier.tier);
        lines.push((of.clone(), page.operations(&of, &tier.summary)));
        lines.push((format!("  {of} runs"), page.runs(&of, &tier.summary)));
    }
    for workflow in &replayed.workflows {
        let of = format!("workflow {} (tier {})", workflow.workflow, workflow.tier);
        lines.push((of.clone(), page.runs(&of, &workflow.summary)));
    }
    for pool in &replayed.pools {
        let of = format!("pool {}, {} over {} s", pool.pool, pool.dimension, pool.window_s);
        lines.push((
            format!("pool {}", pool.pool),
            format!(
                "{} over {} s: limit {}, busiest window {}{}, {} throttled",
                pool.dimension,
                pool.window_s,
                pool.limit,
                pool.peak,
                page.spread(&of, "peak", |peak| format!("{peak:.0}")),
                percent(pool.throttled_share)
            ),
        ));
    }
    for queue in replayed.queues.iter().filter(|queue| queue.waiting_max > 0) {
        let of = format!("pool {}", queue.pool);
        lines.push((
            format!("queue {}", queue.pool),
            format!(
                "{:.1} waiting on average, {} at most, {:+.2} a minute{}; {:.1} running, {} at most",
                queue.waiting_mean,
                queue.waiting_max,
                queue.growth_per_min,
                page.spread(&of, "growth_per_min", |growth| format!("{growth:+.2}")),
                queue.in_flight_mean,
                queue.in_flight_max,
            ),
        ));
    }
    let cost = page.spread("all", "usd", |usd| format!("${usd:.2}"));
    lines.push(("cost".to_owned(), format!("${}{cost}", replayed.cost_usd)));
    let exact =
        if replayed.little.exact { "holds at every boundary" } else { "is broken: please report this" };
    lines.push(("Little's law".to_owned(), exact.to_owned()));
    for tier in &replayed.served {
        lines.push((
            format!("tier {} served", tier.tier),
            format!(
                "{}: {} throttled and {} lost at worst, {} are allowed",
                if tier.held { "yes" } else { "no" },
                percent(tier.throttled_share),
                percent(tier.lost_share),
                percent(tier.target),
            ),
        ));
    }
    lines.extend(plan(replayed));
    for unlimited in &replayed.unlimited {
        lines.push(("no limit".to_owned(), format!("{unlimited}: none is given, so nothing is turned away")));
    }
    lines
}

fn scene(replayed: &Rehearsed) -> String {
    let seeds = replayed.seeds;
    match &replayed.recorded {
        None => format!(
            "{}, {:.0} min at its rates, {seeds} times; figures of the first, P5 to P95 over all in brackets",
            replayed.at, replayed.minutes
        ),
        Some(stretch) => {
            let left_out = match stretch.left_out {
                0 => String::new(),
                left_out => format!(", without {left_out} of which the use is not known"),
            };
            format!(
                "{} to {} as it was: {} runs at their times{left_out}; {seeds} times, figures of the first, P5 to P95 \
                 over all in brackets",
                stretch.from, stretch.to, stretch.runs
            )
        }
    }
}

/// Whether the plan held.
fn plan(replayed: &Rehearsed) -> Vec<(String, String)> {
    let Some(plan) = &replayed.plan else { return Vec::new() };
    let id: String = plan.plan_id.chars().take(12).collect();
    let verdict = if plan.held { "held" } else { "did not hold" };
    let mut lines = vec![("plan".to_owned(), format!("{id} of {} {verdict}", plan.as_of))];
    for row in plan.dimensions.iter().filter(|row| row.busiest > 0) {
        let covers = if row.covered { "covers" } else { "does not cover" };
        lines.push((
            format!("  {}", row.dimension),
            format!(
                "{}: the need of {} {covers} the busiest window, {}{}; {} throttled at {}",
                row.pool,
                row.need,
                row.busiest,
                row.over_provision.map_or_else(String::new, |times| format!(" ({times:.2} times)")),
                percent(row.throttled_share),
                row.limit,
            ),
        ));
    }
    lines
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// What is known of the spread of figures.
struct Page<'s>(&'s [Spread]);

impl Page<'_> {
    /// ` (P5 to P95)`, where they differ.
    fn spread(&self, of: &str, figure: &str, told: impl Fn(f64) -> String) -> String {
        let found = self.0.iter().find(|each| each.of == of && each.figure == figure);
        let ends = found.map(|spread| (told(spread.p5), told(spread.p95))).filter(|(low, high)| low != high);
        ends.map_or_else(String::new, |(low, high)| format!(" ({low} to {high})"))
    }

    fn operations(&self, of: &str, summary: &Summary) -> String {
        format!(
            "{} of {} operations throttled, {}{}; {} failed, {} expired; wait P95 {} ms (n = {}); {:+.2} waiting a minute{}",
            summary.throttled,
            summary.operations,
            percent(summary.throttled_share),
            self.spread(of, "throttled_share", percent),
            summary.failed,
            summary.expired,
            ms(summary.waits.p95_ms),
            summary.waits.n,
            summary.queue_growth_per_min,
            self.spread(of, "queue_growth_per_min", |growth| format!("{growth:+.2}")),
        )
    }

    fn runs(&self, of: &str, summary: &Summary) -> String {
        let Durations { n, p50_ms, p95_ms, .. } = summary.completion;
        format!(
            "{} of {} runs completed{}; {:.1} in flight{}; completion P50 {} ms, P95 {} ms{} (n = {n}); first token P95 {} ms{}; ${:.2}{}",
            summary.runs_completed,
            summary.runs,
            match summary.runs_failed + summary.runs_expired {
                0 => String::new(),
                lost => format!(", {lost} lost"),
            },
            summary.in_flight_mean,
            self.spread(of, "in_flight_mean", |mean| format!("{mean:.1}")),
            ms(p50_ms),
            ms(p95_ms),
            self.spread(of, "completion_p95_ms", |p95| format!("{p95:.0}")),
            ms(summary.ttft.p95_ms),
            self.spread(of, "ttft_p95_ms", |p95| format!("{p95:.0}")),
            summary.nano_usd as f64 / 1e9,
            self.spread(of, "usd", |usd| format!("${usd:.2}")),
        )
    }
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |ms| format!("{ms:.0}"))
}
