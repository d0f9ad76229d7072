//! Which spans are requests to a provider: the innermost of each path.
//!
//! A model span above another of its kind is a wrapper (a framework's view of a client's call, or a
//! loop of calls): it lends what the inner one lacks and is not counted. Source: `facts/dialects.md`
//! 2, rule 3. Whether two spans side by side are one call is decided in `doubles`, whose usage
//! counts in `usage`, which calls are tries of one operation in `operations`.

use crate::classify::framework_scope;
use crate::failure::Failure;
use crate::forest::{Forest, NOBODY};
use crate::kinds::{Kind, UsageSource};
use crate::quality::{BAD_TTFT, CACHE_ASSUMED, CACHE_HIT, USAGE_ESTIMATED, ZERO_USAGE};
use crate::span::{Span, Tokens};

/// A request to a provider, as the spans that saw it tell.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// Node that it stands on.
    pub(crate) node: usize,
    /// The innermost span, with what the others told filled in.
    pub(crate) span: Span<'a>,
    /// End, nanoseconds.
    pub(crate) end: i64,
    /// Why it failed, if it did.
    pub(crate) failure: Option<Failure>,
    /// Where its token counts come from.
    pub(crate) usage: UsageSource,
    /// A framework's cache answered.
    pub(crate) cached: bool,
    /// Its own usage is unknown, but within the total that another call was given.
    pub(crate) covered: bool,
    /// Stands for calls that nobody recorded, so that their number is unknown.
    pub(crate) stand_in: bool,
    /// Nodes of the HTTP requests that it made, where an HTTP client is instrumented, too; by start.
    pub(crate) requests: Vec<u32>,
}

/// The calls of a run.
#[derive(Debug)]
pub(crate) struct Calls<'a> {
    /// By start; stand-ins for unrecorded calls after all others.
    pub(crate) list: Vec<Call<'a>>,
    /// Call that each node is or was merged into; `NOBODY` for other spans.
    pub(crate) of_node: Vec<u32>,
}

impl<'a> Call<'a> {
    /// The call that one span tells of.
    pub(crate) fn new(node: usize, span: &Span<'a>, kind: Kind, end: i64, codes: &mut Vec<&'a str>) -> Self {
        let mut span = Span { kind, ..span.clone() };
        let failure = Failure::of(&span);
        let cached = !span.quality.is_empty() && span.has(CACHE_HIT);
        let estimated = !span.quality.is_empty() && span.has(USAGE_ESTIMATED);
        if kind == Kind::ModelCall && span.tokens.known() && !span.tokens.any() {
            // No generation takes nothing in: zeros are how some clients write "not told".
            if failure.is_none() && !cached {
                codes.push(ZERO_USAGE);
            }
            span.tokens = Tokens::default();
        }
        if cached {
            span.tokens = Tokens::NONE_SERVED;
        }
        let usage = match (span.tokens.known(), estimated) {
            (true, false) => UsageSource::Reported,
            (true, true) => UsageSource::Estimated,
            (false, _) => UsageSource::Missing,
        };
        let mut call = Self {
            node,
            span,
            end,
            failure,
            usage,
            cached,
            covered: false,
            stand_in: false,
            requests: Vec::new(),
        };
        if call.span.ttft_ms.is_some() && !call.plausible_ttft() {
            call.span.ttft_ms = None;
            codes.push(BAD_TTFT);
        }
        call
    }

    /// A first token comes after the start and before the end. One at the very end of a longer
    /// output is the duration under another name (OpenLIT, and Langfuse with some frameworks).
    fn plausible_ttft(&self) -> bool {
        let span = &self.span;
        let (Some(ttft), Some(duration)) = (span.ttft_ms, span.duration_ms) else {
            return span.ttft_ms.is_some_and(|ttft| ttft > 0.0) && span.streaming != Some(false);
        };
        let just_the_duration = ttft > 0.99 * duration && span.tokens.output_tokens.is_none_or(|n| n > 1);
        ttft > 0.0 && ttft <= duration && !just_the_duration && span.streaming != Some(false)
    }

    /// Whether usage must be asked for: the call succeeded and none was told.
    pub(crate) fn lacks_usage(&self) -> bool {
        self.failure.is_none() && self.usage == UsageSource::Missing
    }

    /// Fills what this span does not tell from another span of the same request; its token counts
    /// are left alone.
    pub(crate) fn absorb(&mut self, other: &Span<'a>) {
        let told = &mut self.span;
        macro_rules! fill {
            ($($field:ident),+ $(,)?) => { $( told.$field = told.$field.or(other.$field); )+ };
        }
        fill!(
            provider,
            region,
            endpoint,
            model,
            response_model,
            service_tier,
            operation,
            step,
            account,
            pool,
            response_id,
            cache_write_1h,
            audio_tokens,
            retrieved_tokens,
            history_tokens,
            tool_result_tokens,
            max_output_tokens,
            queue_wait_ms,
            stall_ms,
            streaming,
            attempt,
            finish_reason,
            retries,
            prompt_version,
        );
        if told.ttft_ms.is_none() {
            let earlier_ms = (told.start_unix_nano.saturating_sub(other.start_unix_nano)) as f64 / 1e6;
            told.ttft_ms = other.ttft_ms.map(|ttft| ttft - earlier_ms);
            if told.ttft_ms.is_some() && !self.plausible_ttft() {
                self.span.ttft_ms = None;
            }
        }
        let told = &mut self.span;
        if self.failure.is_some() && Failure::of(other).is_some() {
            told.http_status = told.http_status.or(other.http_status);
            told.error_type = told.error_type.or(other.error_type);
            self.failure = Failure::of(told);
        }
    }

    /// Takes token counts that another span told for this call.
    pub(crate) fn take_usage(&mut self, from: &Span<'a>, source: UsageSource) {
        self.span.tokens = from.tokens;
        self.span.input_basis = self.span.input_basis.or(from.input_basis);
        self.usage = source;
    }
}

impl<'a> Calls<'a> {
    /// The innermost spans of each provider kind.
    pub(crate) fn innermost(forest: &Forest<'_, 'a>, kinds: &[Kind], codes: &mut Vec<&'a str>) -> Self {
        let n = forest.len();
        let mut below = vec![0_u8; n + 1];
        for &node in forest.top_down.iter().rev() {
            let node = node as usize;
            below[forest.parents[node] as usize] |= below[node] | bit(kinds[node]);
        }
        let mut calls = Self { list: Vec::new(), of_node: vec![NOBODY; n] };
        for node in 0..n {
            let kind = kinds[node];
            if kind.is_model() && below[node] & bit(kind) == 0 {
                calls.of_node[node] = calls.list.len() as u32;
                calls.list.push(Call::new(node, forest.nodes[node], kind, forest.ends[node], codes));
            }
        }
        calls
    }

    /// The call on a node, if it is one.
    pub(crate) fn at(&self, node: usize) -> Option<usize> {
        let call = self.of_node[node];
        (call != NOBODY).then_some(call as usize)
    }

    /// Whether a call stands on this node, rather than having been merged into one elsewhere.
    pub(crate) fn stands_on(&self, node: usize) -> Option<usize> {
        self.at(node).filter(|&call| self.list[call].node == node)
    }

    /// Lets each wrapper that has a single call beneath it tell what that call's own span does not.
    pub(crate) fn fill_from_wrappers(&mut self, forest: &Forest<'_, 'a>, kinds: &[Kind]) {
        const MANY: u32 = NOBODY - 1;
        let n = forest.len();
        let mut only = vec![NOBODY; n + 1];
        for &node in forest.top_down.iter().rev() {
            let node = node as usize;
            if let Some(call) = self.at(node) {
                only[node] = call as u32;
            } else if kinds[node].is_model() && only[node] < MANY {
                let call = &mut self.list[only[node] as usize];
                if call.span.kind == kinds[node] {
                    call.absorb(forest.nodes[node]);
                }
            }
            let parent = forest.parents[node] as usize;
            only[parent] = match (only[parent], only[node]) {
                (one, NOBODY) | (NOBODY, one) => one,
                (one, other) if one == other => one,
                _ => MANY,
            };
        }
    }

    /// Finds a framework's calls that its own cache answered: its other calls have the client library's below
    /// them, these have none, and it tells no usage by itself (DSPy).
    pub(crate) fn find_cached(&mut self, forest: &Forest<'_, 'a>, kinds: &[Kind], codes: &mut Vec<&'a str>) {
        let alone = |call: &Call<'_>| call.lacks_usage() && call.span.scope.is_some_and(framework_scope);
        let mut scopes: Vec<&str> =
            self.list.iter().filter(|c| alone(c)).filter_map(|c| c.span.scope).collect();
        scopes.sort_unstable();
        scopes.dedup();
        for scope in scopes {
            let of_scope =
                || (0..forest.len()).filter(|&n| kinds[n].is_model() && forest.nodes[n].scope == Some(scope));
            let wraps = of_scope().any(|node| self.at(node).is_none());
            if !wraps || of_scope().any(|node| forest.nodes[node].tokens.known()) {
                continue;
            }
            for call in self.list.iter_mut().filter(|call| call.span.scope == Some(scope) && alone(call)) {
                (call.cached, call.span.tokens, call.usage) =
                    (true, Tokens::NONE_SERVED, UsageSource::Reported);
                codes.push(CACHE_ASSUMED);
            }
        }
    }

    /// Gives each call the HTTP requests below it: what it sent on the wire, retries of the library too.
    ///
    /// An HTTP span below another is the same request, seen by the layer beneath.
    pub(crate) fn find_requests(&mut self, forest: &Forest<'_, 'a>, kinds: &[Kind]) {
        let request = |node: usize| kinds[node] == Kind::Other && forest.nodes[node].http_status.is_some();
        if !(0..forest.len()).any(request) {
            return;
        }
        let mut call_above = vec![NOBODY; forest.len() + 1];
        for &node in &forest.top_down {
            let node = node as usize;
            let above = call_above[forest.parents[node] as usize];
            call_above[node] = match (self.at(node), kinds[node]) {
                (Some(call), _) => call as u32,
                (None, Kind::Other | Kind::Step) if above != NOBODY && request(node) => {
                    self.list[above as usize].requests.push(node as u32);
                    NOBODY
                }
                (None, Kind::Other | Kind::Step) => above,
                (None, _) => NOBODY,
            };
        }
        for call in self.list.iter_mut().filter(|call| !call.requests.is_empty()) {
            // Nodes are numbered by start.
            call.requests.sort_unstable();
            let last = call.requests.last().map(|&node| forest.nodes[node as usize]);
            if let (Some(_), None, Some(last)) = (call.failure, call.span.http_status, last) {
                call.span.http_status = last.http_status;
                call.span.error_type = call.span.error_type.or(last.error_type);
                call.failure = Failure::of(&call.span);
            }
        }
    }

    /// Gives every call the step of the nearest span above it that names one.
    pub(crate) fn inherit_steps(&mut self, forest: &Forest<'_, 'a>) {
        if self.list.iter().all(|call| call.span.step.is_some()) {
            return;
        }
        let mut steps: Vec<Option<&'a str>> = vec![None; forest.len() + 1];
        for &node in &forest.top_down {
            let node = node as usize;
            steps[node] = forest.nodes[node].step.or(steps[forest.parents[node] as usize]);
        }
        for call in &mut self.list {
            call.span.step = call.span.step.or(steps[call.node]);
        }
    }
}

/// The bit of a provider kind.
const fn bit(kind: Kind) -> u8 {
    match kind {
        Kind::ModelCall => 1,
        Kind::Embedding => 2,
        Kind::Rerank => 4,
        _ => 0,
    }
}
