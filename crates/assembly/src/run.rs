//! From a run's parts to its row.
//!
//! Nothing is decided about spans here any more: what is a call, a try or a tool stands in the
//! parts. Sums keep to "missing is not zero": one unknown count makes the total unknown.

use std::borrow::Cow;

use crate::call_rows::ShownScopes;
use crate::calls::{Call, Calls};
use crate::classify::framework_scope;
use crate::failure::Failure;
use crate::forest::Forest;
use crate::intervals::{Interval, covered, critical, most_at_once};
use crate::kinds::{Kind, Outcome, Status, UsageSource};
use crate::operations::Operation;
use crate::quality;
use crate::rows::{Assembled, Attempt, ModelCall, Run};
use crate::span::{Span, Tokens};
use crate::tools::Tool;
use crate::workflow;

/// What assembly found, before it is written down.
pub(crate) struct Parts<'p, 's, 'a> {
    pub(crate) run_id: &'a str,
    pub(crate) trace_ids: Vec<&'a str>,
    pub(crate) forest: &'p Forest<'s, 'a>,
    pub(crate) kinds: &'p [Kind],
    pub(crate) calls: &'p Calls<'a>,
    pub(crate) operations: &'p [Operation],
    pub(crate) tools: &'p [Tool<'a>],
    pub(crate) codes: Vec<&'a str>,
}

/// Start and end of the run, nanoseconds, and its root where that has been seen.
struct Extent {
    root: Option<usize>,
    window: Interval,
    duration_ms: Option<f64>,
}

impl<'a> Parts<'_, '_, 'a> {
    /// Writes the rows.
    pub(crate) fn into_rows(mut self, first_received: i64, last_received: i64) -> Assembled<'a> {
        let extent = self.extent();
        let root = extent.root.map(|node| self.forest.nodes[node]);
        let workflow = workflow::name_of(self.forest, self.kinds, extent.root);
        let tier = self.told(root, |span| span.tier);

        let run_start_time = micros(extent.window.0);
        let shown = ShownScopes::new(self.forest, self.kinds);
        let mut model_calls = Vec::with_capacity(self.operations.len());
        let mut attempts = Vec::with_capacity(self.calls.list.len());
        let mut step_index = 0;
        for operation in self.operations {
            let first_attempt = attempts.len();
            let mut row = self.operation(operation, &shown, tier, &mut attempts);
            if row.kind == Kind::ModelCall {
                step_index += 1;
                row.step_index = Some(step_index);
            }
            row.workflow.clone_from(&workflow);
            row.run_start_time = run_start_time;
            for attempt in &mut attempts[first_attempt..] {
                attempt.workflow.clone_from(&workflow);
                attempt.run_start_time = run_start_time;
            }
            model_calls.push(row);
        }
        let tool_calls = self.tool_rows(workflow.as_ref(), run_start_time, &model_calls);
        let tools_counted = self.tools_counted(&model_calls);
        self.note_calls_not_traced();

        let mut run = Run {
            run_id: self.run_id,
            trace_ids: std::mem::take(&mut self.trace_ids),
            service: self.told(root, |span| span.service),
            tenant: self.told(root, |span| span.tenant),
            request_class: self.told(root, |span| span.request_class),
            tier,
            start_time: run_start_time,
            end_time: (self.forest.len() > 0).then(|| micros(extent.window.1)),
            duration_ms: extent.duration_ms,
            outcome: self.outcome(extent.root),
            business_outcome: self.told(root, |span| span.outcome),
            tool_calls: tools_counted,
            degraded: self.degraded(),
            parked: self.parked(),
            resumed_from_step: self.told(root, |span| span.resumed_from_step),
            model_version: most_common(&model_calls),
            prompt_version: self.told(root, |span| span.prompt_version),
            complete: !self.forest.orphans && !self.forest.cycle && root.is_some(),
            weight: root.or(self.forest.nodes.first().copied()).map_or(1.0, Span::sane_weight),
            spans: self.forest.len() as i64,
            first_received,
            last_received,
            workflow,
            ..Run::default()
        };
        self.count(&mut run, &model_calls, &attempts);
        self.retrieved(&mut run, root, &model_calls);
        self.times(&mut run, &extent, root, &model_calls);
        self.codes.sort_unstable();
        self.codes.dedup();
        run.quality = std::mem::take(&mut self.codes);
        Assembled { run, model_calls, attempts, tool_calls }
    }

    /// The first root decides the start, the last to end the end; without a root, all spans do.
    fn extent(&self) -> Extent {
        let spans = || {
            self.forest.nodes.iter().map(|span| span.start_unix_nano).zip(self.forest.ends.iter().copied())
        };
        let first_start = spans().map(|(start, _)| start).min().unwrap_or(0);
        let last_end = spans().map(|(_, end)| end).max().unwrap_or(0);
        let Some(root) = self.forest.roots().next() else {
            return Extent { root: None, window: (first_start, last_end), duration_ms: None };
        };
        let start = self.forest.nodes[root].start_unix_nano;
        let mut others = self.forest.roots().skip(1).peekable();
        if others.peek().is_none() {
            let duration_ms = self.forest.nodes[root].duration_ms;
            let end = if duration_ms.is_some() { self.forest.ends[root] } else { last_end.max(start) };
            return Extent { root: Some(root), window: (start, end), duration_ms };
        }
        let end = others.map(|node| self.forest.ends[node]).fold(self.forest.ends[root], i64::max);
        Extent {
            root: Some(root),
            window: (start, end),
            duration_ms: Some(millis(end.saturating_sub(start))),
        }
    }

    /// How the run ended: by the root that ended last.
    fn outcome(&self, root: Option<usize>) -> Outcome {
        let Some(root) = root else {
            return Outcome::Open;
        };
        let last = self.forest.roots().max_by_key(|&node| (self.forest.ends[node], node)).unwrap_or(root);
        let Some(failure) = Failure::of(self.forest.nodes[last]) else {
            return Outcome::Ok;
        };
        let cause = match failure {
            // A root seldom knows why; the last operation that stayed failed does.
            Failure::Unknown | Failure::Server => self
                .operations
                .iter()
                .filter_map(|operation| self.last_call(operation))
                .filter(|call| call.failure.is_some())
                .max_by_key(|call| call.end)
                .and_then(|call| call.failure)
                .unwrap_or(failure),
            told => told,
        };
        match cause {
            Failure::Throttled => Outcome::Throttled,
            Failure::Timeout => Outcome::Timeout,
            _ => Outcome::Error,
        }
    }

    /// Numbers of calls and tokens.
    fn count(&self, run: &mut Run<'a>, model_calls: &[ModelCall<'a>], attempts: &[Attempt<'a>]) {
        let mut totals = Tokens::NONE_SERVED;
        let (mut known_input, mut known_output, mut asked, mut known) = (0_i64, 0_i64, 0_i64, 0_i64);
        let (mut generations, mut model_attempts, mut retries) = (0, Some(0), Some(0));
        let (mut embeddings, mut embedding_tokens) = (0, Some(0_i64));
        for (row, operation) in model_calls.iter().zip(self.operations) {
            let usage_due = row.status == Status::Ok || row.tokens.known();
            match row.kind {
                Kind::ModelCall => {
                    generations += 1;
                    model_attempts = model_attempts.zip(row.attempts).map(|(sum, n)| sum + n);
                    retries = retries.zip(row.attempts).map(|(sum, n)| sum + (n - 1).max(0));
                    if !usage_due {
                        continue;
                    }
                    asked += 1;
                    if self.last_call(operation).is_some_and(|call| call.covered) {
                        known += 1;
                        continue;
                    }
                    let told = match row.usage_source {
                        UsageSource::Reported | UsageSource::Aggregate => row.tokens,
                        UsageSource::Estimated | UsageSource::Missing => Tokens::default(),
                    };
                    known += i64::from(told.known());
                    known_input = known_input.saturating_add(told.input_tokens.unwrap_or(0));
                    known_output = known_output.saturating_add(told.output_tokens.unwrap_or(0));
                    totals = totals.plus(told);
                }
                Kind::Embedding => {
                    embeddings += 1;
                    if usage_due {
                        embedding_tokens =
                            embedding_tokens.zip(row.tokens.input_tokens).map(|(a, b)| a.saturating_add(b));
                    }
                }
                _ => {}
            }
        }
        let requests = || attempts.iter().filter(|attempt| attempt.kind == Kind::ModelCall);
        // Requests that were only counted, or failed without a reason, may have been throttled.
        let undecided = self.codes.contains(&quality::ATTEMPT_DETAIL_MISSING)
            || self.calls.list.iter().any(|call| call.failure == Some(Failure::Unknown));
        let not_traced = self.codes.contains(&quality::CALLS_NOT_TRACED);
        let number_known = !not_traced && !self.calls.list.iter().any(|call| call.stand_in);
        run.model_calls = number_known.then_some(generations);
        run.model_attempts = model_attempts.filter(|_| number_known);
        run.retries = retries.filter(|_| number_known);
        run.throttled_attempts = run
            .model_attempts
            .filter(|_| !undecided)
            .map(|_| requests().filter(|attempt| attempt.throttled).count() as i64);
        run.tokens = if not_traced { Tokens::default() } else { totals };
        run.known_input_tokens = Some(known_input);
        run.known_output_tokens = Some(known_output);
        run.usage_coverage = (asked > 0).then(|| known as f64 / asked as f64);
        run.embedding_calls = Some(embeddings);
        run.embedding_tokens = embedding_tokens;
        run.expansion = run.model_calls.zip(run.tool_calls).map(|(calls, tools)| (calls + tools) as f64);
        run.retries_after_timeout = run.retries.map(|_| {
            let unchanged = requests().filter(|attempt| attempt.unchanged == Some(true));
            unchanged.filter(|attempt| attempt.after == Failure::Timeout.name()).count() as i64
        });
        run.input_growth = input_growth(model_calls);
        run.stall_ms = model_calls.iter().filter_map(|call| call.stall_ms).reduce(f64::max);
    }

    /// An agent that ended well, or a framework's tools, without any model call: the calls went by unseen.
    fn note_calls_not_traced(&mut self) {
        let agents = self.forest.nodes.iter().zip(self.kinds).filter(|(_, kind)| **kind == Kind::Agent);
        let mut ended_well = agents.map(|(span, _)| span).filter(|span| Failure::of(span).is_none());
        let dispatched = || self.tools.iter().any(|tool| tool.span.scope.is_some_and(framework_scope));
        let no_calls = !self.calls.list.iter().any(|call| call.span.kind == Kind::ModelCall);
        if no_calls && (ended_well.next().is_some() || dispatched()) {
            self.codes.push(quality::CALLS_NOT_TRACED);
        }
    }

    /// Tool executions seen; `None` where none was and models asked for tools, or may have: then their
    /// number is unknown, not zero.
    fn tools_counted(&mut self, model_calls: &[ModelCall<'a>]) -> Option<i64> {
        let calls =
            || model_calls.iter().filter(|call| call.kind == Kind::ModelCall && call.status == Status::Ok);
        let asks = |reason: &str| reason.contains("tool") || reason.contains("function_call");
        let asked = || calls().any(|call| call.finish_reason.is_some_and(asks));
        // The answer to a tool takes a further call. Gemini ends a request for tools as any other, and some
        // clients never say why an answer ended; one that writes the convention's own spans shows its tools.
        let silent = |call: &ModelCall<'_>| {
            call.provider.is_some_and(|provider| provider.starts_with("gcp."))
                || (call.finish_reason.is_none()
                    && call.dialect.is_some_and(|dialect| dialect != "otel-genai"))
        };
        let may_have = || calls().nth(1).is_some() && calls().any(silent);
        if self.tools.is_empty() && (asked() || may_have()) {
            self.codes.push(quality::TOOLS_NOT_TRACED);
            return None;
        }
        Some(self.tools.len() as i64)
    }

    /// Context that retrieval added: the request's own figure, else the searches', else the calls'.
    fn retrieved(&self, run: &mut Run<'a>, root: Option<&Span<'a>>, model_calls: &[ModelCall<'a>]) {
        let sum = |counts: &mut dyn Iterator<Item = i64>| counts.reduce(i64::saturating_add);
        let searches = self.forest.nodes.iter().zip(self.kinds).filter(|(_, kind)| **kind == Kind::Retrieval);
        run.retrieved_tokens = root
            .and_then(|root| root.retrieved_tokens)
            .or_else(|| sum(&mut searches.filter_map(|(span, _)| span.retrieved_tokens)))
            .or_else(|| sum(&mut model_calls.iter().filter_map(|call| call.retrieved_tokens)));
    }

    /// Where the run's time went.
    fn times(
        &self,
        run: &mut Run<'a>,
        extent: &Extent,
        root: Option<&Span<'a>>,
        model_calls: &[ModelCall<'a>],
    ) {
        let provider_calls = || self.calls.list.iter().filter(|call| !call.stand_in);
        let generations: Vec<Interval> = provider_calls()
            .filter(|call| call.span.kind == Kind::ModelCall)
            .map(|call| (call.span.start_unix_nano, call.end))
            .collect();
        let tools: Vec<Interval> =
            self.tools.iter().map(|tool| (tool.span.start_unix_nano, tool.end)).collect();
        run.max_parallel_model_calls = Some(most_at_once(&generations));
        run.max_parallel_tools = Some(most_at_once(&tools));

        let mut work: Vec<Interval> =
            provider_calls().map(|call| (call.span.start_unix_nano, call.end)).collect();
        let calls = work.len();
        work.extend_from_slice(&tools);
        let mut on_path = [0_i64; 2];
        for (i, nanos) in critical(&work, extent.window) {
            on_path[usize::from(i >= calls)] += nanos;
        }
        run.critical_model_ms = Some(millis(on_path[0]));
        run.critical_tool_ms = Some(millis(on_path[1]));

        let mut busy = work[..calls].to_vec();
        let model = covered(&mut busy, extent.window);
        busy.extend_from_slice(&tools);
        let model_or_tool = if tools.is_empty() { model } else { covered(&mut busy, extent.window) };
        run.model_ms = Some(millis(model));
        run.tool_ms = Some(millis(model_or_tool - model));
        if extent.duration_ms.is_some() {
            run.own_ms =
                Some(millis((extent.window.1.saturating_sub(extent.window.0) - model_or_tool).max(0)));
        }

        let waits = root.and_then(|root| root.queue_wait_ms).into_iter();
        let waits = waits.chain(model_calls.iter().filter_map(|call| call.queue_wait_ms));
        run.queue_wait_ms = waits.reduce(|sum, wait| sum + wait);
        run.ttft_ms = provider_calls()
            .filter(|call| call.span.kind == Kind::ModelCall)
            .filter_map(|call| call.span.ttft_ms.map(|ttft| (call.span.start_unix_nano, ttft)))
            .max_by_key(|(start, _)| *start)
            .map(|(start, ttft)| millis(start.saturating_sub(extent.window.0)) + ttft);
    }

    /// What the root tells, else the outermost span that does.
    fn told<T>(&self, root: Option<&Span<'a>>, field: impl Fn(&Span<'a>) -> Option<T>) -> Option<T> {
        root.and_then(&field)
            .or_else(|| self.forest.top_down.iter().find_map(|&node| field(self.forest.nodes[node as usize])))
    }

    /// Degraded modes that any span names, each once, sorted.
    fn degraded(&self) -> Option<Cow<'a, str>> {
        let mut modes: Vec<&'a str> = Vec::new();
        for span in &self.forest.nodes {
            let named = span.degraded.into_iter().flat_map(|modes| modes.split(','));
            modes.extend(named.map(str::trim).filter(|mode| !mode.is_empty()));
        }
        modes.sort_unstable();
        modes.dedup();
        match modes[..] {
            [] => None,
            [mode] => Some(Cow::Borrowed(mode)),
            _ => Some(Cow::Owned(modes.join(","))),
        }
    }

    /// True where any span says so, `None` where none says anything.
    fn parked(&self) -> Option<bool> {
        self.forest.nodes.iter().filter_map(|span| span.parked).reduce(|a, b| a || b)
    }

    fn last_call(&self, operation: &Operation) -> Option<&Call<'a>> {
        operation.calls.last().map(|&call| &self.calls.list[call as usize])
    }
}

/// Mean growth of the input between consecutive generation calls of one step: how fast a context fills.
fn input_growth(model_calls: &[ModelCall<'_>]) -> Option<f64> {
    let mut last: Vec<(Option<&str>, i64)> = Vec::new();
    let (mut growth, mut pairs) = (0_i64, 0_i64);
    for call in model_calls.iter().filter(|call| call.kind == Kind::ModelCall) {
        let Some(input) = call.tokens.input_tokens else { continue };
        match last.iter_mut().find(|(step, _)| *step == call.step) {
            Some((_, before)) => {
                growth = growth.saturating_add(input.saturating_sub(*before));
                pairs += 1;
                *before = input;
            }
            None => last.push((call.step, input)),
        }
    }
    (pairs > 0).then(|| growth as f64 / pairs as f64)
}

/// The response model of most generation calls; of equals, the last by name.
fn most_common<'a>(model_calls: &[ModelCall<'a>]) -> Option<&'a str> {
    let mut versions: Vec<&'a str> = model_calls
        .iter()
        .filter(|call| call.kind == Kind::ModelCall)
        .filter_map(|call| call.response_model)
        .collect();
    versions.sort_unstable();
    versions.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0])
}

/// Nanoseconds to microseconds, towards the past.
pub(crate) fn micros(nanos: i64) -> i64 {
    nanos.div_euclid(1_000)
}

/// Nanoseconds to milliseconds.
pub(crate) fn millis(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}
