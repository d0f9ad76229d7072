//! Whose token counts count.
//!
//! The call's own, where it told them. Else those of the nearest span above that tells any, once,
//! and only if no call below that span told its own: an agent's total repeats its calls'. Source:
//! `DESIGN.md` counting rule 1, `facts/dialects.md` 2, rules 3 and 4.

use crate::calls::{Call, Calls};
use crate::classify::{framework_scope, shadow};
use crate::doubles::NEAR_NANOS;
use crate::failure::Failure;
use crate::forest::Forest;
use crate::kinds::{Kind, UsageSource};
use crate::quality::{CALLS_NOT_TRACED, USAGE_AGGREGATE};

/// Calls among which those that a total repeats are sought.
const NEIGHBOURS: usize = 64;

/// Hands totals of wrappers and agents down to calls that lack their own.
pub(crate) fn settle<'a>(
    calls: &mut Calls<'a>,
    forest: &Forest<'_, 'a>,
    kinds: &[Kind],
    codes: &mut Vec<&'a str>,
) {
    let n = forest.len();
    let may_stand_in = |node: usize| {
        let span = forest.nodes[node];
        span.tokens.any() && !shadow(span) && span.operation != Some("fetch_response")
    };
    // Beside logs, which tell of every call, a span's total is the same usage once more.
    let by_logs = calls.list.iter().any(|call| call.span.from_log);
    if by_logs || (0..n).all(|node| calls.at(node).is_some() || !may_stand_in(node)) {
        return;
    }
    let recorded = calls.list.len();
    let below_agent = below_agents(forest, kinds);
    let mut settled = vec![false; n + 1];
    for &node in forest.top_down.iter().rev() {
        let node = node as usize;
        if let Some(call) = calls.at(node) {
            settled[node] |= calls.list[call].usage != UsageSource::Missing;
        } else if !settled[node] && may_stand_in(node) {
            if !beside_its_calls(&calls.list[..recorded], forest, &below_agent, node) {
                stand_in(calls, forest, kinds, node, codes);
            }
            settled[node] = true;
        }
        settled[forest.parents[node] as usize] |= settled[node];
    }
    note_silent_agents(&calls.list[recorded..], forest, kinds, &settled, codes);
}

/// Whether each node hangs below an agent.
fn below_agents(forest: &Forest<'_, '_>, kinds: &[Kind]) -> Vec<bool> {
    let mut below = vec![false; forest.len() + 1];
    for &node in &forest.top_down {
        let parent = forest.parents[node as usize] as usize;
        below[node as usize] = below[parent] || kinds.get(parent) == Some(&Kind::Agent);
    }
    below
}

/// Whether the calls that a total repeats stand beside it and not below: calls of its scope, within its
/// time, that are below no agent (Agent Framework 1.0 when it streams).
fn beside_its_calls(
    recorded: &[Call<'_>],
    forest: &Forest<'_, '_>,
    below_agent: &[bool],
    node: usize,
) -> bool {
    let span = forest.nodes[node];
    let (from, to) =
        (span.start_unix_nano.saturating_sub(NEAR_NANOS), forest.ends[node].saturating_add(NEAR_NANOS));
    let first = recorded.partition_point(|call| call.span.start_unix_nano < from);
    let within = recorded[first..].iter().take(NEIGHBOURS).take_while(|call| call.span.start_unix_nano <= to);
    let mut own = within.filter(|call| call.span.scope.is_some() && call.span.scope == span.scope);
    own.any(|call| call.usage == UsageSource::Reported && call.end <= to && !below_agent[call.node])
}

/// Where totals stand in for calls that a client does not record, an agent of that client without a total
/// made calls that nobody knows of.
fn note_silent_agents<'a>(
    stand_ins: &[Call<'a>],
    forest: &Forest<'_, 'a>,
    kinds: &[Kind],
    settled: &[bool],
    codes: &mut Vec<&'a str>,
) {
    if stand_ins.is_empty() {
        return;
    }
    let mut scopes: Vec<Option<&str>> = stand_ins.iter().map(|call| call.span.scope).collect();
    scopes.sort_unstable();
    scopes.dedup();
    // What is below a total is in it.
    let mut covered = vec![false; forest.len() + 1];
    for call in stand_ins {
        covered[call.node] = true;
    }
    for &node in &forest.top_down {
        let node = node as usize;
        covered[node] |= covered[forest.parents[node] as usize];
        let silent = kinds[node] == Kind::Agent && !settled[node] && !covered[node];
        let span = forest.nodes[node];
        let of_client = scopes.binary_search(&span.scope).is_ok();
        if silent && of_client && Failure::of(span).is_none() {
            codes.push(CALLS_NOT_TRACED);
        }
    }
}

/// Gives a span's total to the last call below it that lacks usage (sums stay right; the row says
/// that the total is not its own), or, where nothing was recorded below, to a call of its own.
fn stand_in<'a>(
    calls: &mut Calls<'a>,
    forest: &Forest<'_, 'a>,
    kinds: &[Kind],
    node: usize,
    codes: &mut Vec<&'a str>,
) {
    let span = forest.nodes[node];
    let mut lacking: Vec<usize> = Vec::new();
    let mut to_visit = vec![node as u32];
    while let Some(next) = to_visit.pop() {
        let next = next as usize;
        lacking.extend(calls.at(next).filter(|&call| calls.list[call].lacks_usage()));
        to_visit.extend_from_slice(forest.children(next));
    }
    lacking.sort_unstable();
    lacking.dedup();
    match lacking[..] {
        [call] if kinds[node] == calls.list[call].span.kind => {
            calls.list[call].take_usage(span, UsageSource::Reported);
        }
        [.., call] => {
            calls.list[call].take_usage(span, UsageSource::Aggregate);
            for covered in lacking {
                calls.list[covered].covered = covered != call;
            }
            codes.push(USAGE_AGGREGATE);
        }
        [] => {
            let kind = if kinds[node].is_model() { kinds[node] } else { Kind::ModelCall };
            let mut call = Call::new(node, span, kind, forest.ends[node], codes);
            call.usage = UsageSource::Aggregate;
            call.stand_in = true;
            calls.list.push(call);
            codes.push(USAGE_AGGREGATE);
        }
    }
}

/// Reads a detail that a client leaves out of some calls as zero where it tells it of others.
///
/// Clients that report cache or reasoning counts at all omit them where they are zero (for one,
/// OpenTelemetry's python-genai). A scope that never tells them in this run leaves them unknown, and a
/// model that always reasons leaves its reasoning unknown: a client may tell it for one API and not for
/// another (OpenLIT).
pub(crate) fn fill_details<'a>(calls: &mut Calls<'a>, forest: &Forest<'_, 'a>, kinds: &[Kind]) {
    let partial = |call: &Call<'_>| {
        let tokens = &call.span.tokens;
        tokens.known()
            && (tokens.input_uncached.is_none()
                || tokens.cache_read.is_none()
                || tokens.cache_write.is_none()
                || tokens.reasoning_tokens.is_none())
    };
    if !calls.list.iter().any(partial) {
        return;
    }
    let told = Told::of(forest, kinds);
    for call in
        calls.list.iter_mut().filter(|call| call.span.kind == Kind::ModelCall && call.span.tokens.known())
    {
        let (scope, client) = (call.span.scope, (call.span.scope, call.span.provider));
        let reasons = call.span.any_model().is_some_and(always_reasons);
        let tokens = &mut call.span.tokens;
        // A part of what is unknown is unknown.
        let zero_if = |told: bool, whole: Option<i64>| whole.filter(|_| told).map(|_| 0);
        tokens.cache_read = tokens.cache_read.or(zero_if(told.reads.contains(&scope), tokens.input_tokens));
        tokens.cache_write =
            tokens.cache_write.or(zero_if(told.writes.contains(&scope), tokens.input_tokens));
        tokens.reasoning_tokens = tokens
            .reasoning_tokens
            .or(zero_if(!reasons && told.reasoning.contains(&client), tokens.output_tokens));
        if tokens.input_uncached.is_none()
            && let (Some(input), Some(read), Some(write)) =
                (tokens.input_tokens, tokens.cache_read, tokens.cache_write)
        {
            // Counts that contradict each other have no split.
            tokens.input_uncached = Some(input - read - write).filter(|uncached| *uncached >= 0);
        }
    }
}

/// Which clients tell which details anywhere in a run, which has a handful of them.
struct Told<'a> {
    /// Scopes that tell what a cache served, and what was written to one.
    reads: Vec<Option<&'a str>>,
    writes: Vec<Option<&'a str>>,
    /// Scopes that tell reasoning, with the provider: what one provider reports apart another does not.
    reasoning: Vec<(Option<&'a str>, Option<&'a str>)>,
}

impl<'a> Told<'a> {
    fn of(forest: &Forest<'_, 'a>, kinds: &[Kind]) -> Self {
        fn note<T: PartialEq>(list: &mut Vec<T>, told: Option<i64>, client: T) {
            if told.is_some() && !list.contains(&client) {
                list.push(client);
            }
        }
        let mut told = Self { reads: Vec::new(), writes: Vec::new(), reasoning: Vec::new() };
        let generations = forest.nodes.iter().zip(kinds).filter(|(_, kind)| **kind == Kind::ModelCall);
        for (span, _) in generations {
            note(&mut told.reads, span.tokens.cache_read, span.scope);
            note(&mut told.writes, span.tokens.cache_write, span.scope);
            note(&mut told.reasoning, span.tokens.reasoning_tokens, (span.scope, span.provider));
        }
        told
    }
}

/// Marks calls of client libraries below which tools ran although no further call was recorded: a loop of
/// requests and tools under one span (automatic function calling), which tells of the last request at best.
/// A framework may hang tools under the call that asked for them, and records the next call by itself
/// (Google ADK).
pub(crate) fn doubt_loops<'a>(
    calls: &mut Calls<'a>,
    forest: &Forest<'_, 'a>,
    kinds: &[Kind],
    codes: &mut Vec<&'a str>,
) {
    if !kinds.contains(&Kind::ToolCall) {
        return;
    }
    let mut ran_tools = vec![false; forest.len() + 1];
    for &node in forest.top_down.iter().rev() {
        let node = node as usize;
        let framework = || forest.nodes[node].scope.is_none_or(framework_scope);
        if let Some(call) = calls.stands_on(node).filter(|_| ran_tools[node] && !framework()) {
            let call = &mut calls.list[call];
            call.stand_in = true;
            if call.usage == UsageSource::Reported {
                call.usage = UsageSource::Estimated;
            }
            codes.push(CALLS_NOT_TRACED);
        }
        ran_tools[forest.parents[node] as usize] |= ran_tools[node] || kinds[node] == Kind::ToolCall;
    }
}

/// Whether a model seldom answers without reasoning: OpenAI's o-series and GPT-5.
fn always_reasons(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    ["gpt-5", "o1", "o3", "o4"].iter().any(|family| model.starts_with(family))
}
