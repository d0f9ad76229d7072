//! Tools at work within a run, and how many of each are at work across runs.

use std::collections::BTreeMap;

use rand::RngExt;

use super::MILLI;
use super::time::nanos;
use crate::file::Tools;
use crate::random::{Random, chance};
use crate::telemetry::span_id;

/// One execution of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Execution {
    pub(crate) span: [u8; 8],
    /// Place in the workflow's list of names; `None` is the posting tool.
    pub(crate) tool: Option<usize>,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Executions of the same tool at work when this one started.
    pub(crate) concurrency: u64,
    pub(crate) retries: u64,
    pub(crate) payload_bytes: u64,
    /// The tool had done this before under the same idempotency key.
    pub(crate) replayed: bool,
}

/// What a run executes at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dispatch {
    pub(super) workflow: usize,
    /// Tools now, and left in the run including these.
    pub(super) count: u64,
    pub(super) left: u64,
    /// What latencies are multiplied by.
    pub(super) slower: f64,
    /// Whether the run has posted before.
    pub(super) posted: bool,
}

/// Ends of the executions at work, by workflow and tool.
#[derive(Debug, Default)]
pub(super) struct Busy(BTreeMap<(usize, Option<usize>), Vec<u64>>);

impl Busy {
    /// Enters an execution; how many of its kind were at work.
    fn enter(&mut self, key: (usize, Option<usize>), start: u64, end: u64) -> u64 {
        let ends = self.0.entry(key).or_default();
        ends.retain(|end| *end > start);
        ends.push(end);
        ends.len() as u64 - 1
    }
}

/// How many of the tools that are left run in this gap between generations, of `gaps` to come.
pub(super) fn due(tools: &Tools, left: u64, gaps: u64, random: &mut Random) -> u64 {
    if gaps <= 1 {
        return left;
    }
    let share = left as f64 / gaps as f64;
    let mut due = share as u64 + u64::from(chance(random, share.fract()));
    if due > 0 && chance(random, tools.beside_share) {
        due += 1;
    }
    due.min(left)
}

/// Executes tools at once, in order of their ends; the very last of a run posts.
pub(super) fn execute(
    tools: &Tools,
    run: Dispatch,
    now: u64,
    busy: &mut Busy,
    random: &mut Random,
) -> Vec<Execution> {
    let one = |place| {
        let posts = tools.post.is_some() && place + 1 == run.left;
        let tool = (!posts).then(|| random.random_range(0..tools.names.len()));
        // Dispatch takes a moment.
        let start = now + random.random_range(MILLI..5 * MILLI);
        let retries = u64::from(chance(random, tools.retry_share));
        let seconds: f64 = (0..=retries).map(|_| tools.latency_s.draw(random) * run.slower).sum();
        let end = start + nanos(seconds);
        Execution {
            span: span_id(random),
            tool,
            start,
            end,
            concurrency: busy.enter((run.workflow, tool), start, end),
            retries,
            payload_bytes: tools.payload_bytes.draw_whole(random, 1),
            // A repeated post finds its first try done about half of the time.
            replayed: posts && (run.posted || (retries > 0 && chance(random, 0.5))),
        }
    };
    let mut executions: Vec<_> = (0..run.count).map(one).collect();
    executions.sort_unstable_by_key(|execution| (execution.end, execution.span));
    executions
}
