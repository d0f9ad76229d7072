//! Which calls are tries of one operation.
//!
//! A call that failed in a way that is worth another try, and the next call of that model from the
//! same parent, are attempts of one operation; so are calls that number themselves as such. Where the
//! retry is made farther up (a task or an agent loop run again), the failed call is the last of its
//! branch and the retry the first of the next, like-named one. Under one wrapper span of a model call
//! (a gateway, a framework's list of fallbacks) they are tries of it whatever model they go to. Sources: `facts/dialects.md` 1.9, N7;
//! `facts/torture.md` T05; the corpora `vercel-ai-6-json`, `pydantic-ai`, `openai-agents-*`.

use crate::calls::{Call, Calls};
use crate::doubles::models_agree;
use crate::failure::Failure;
use crate::forest::{Forest, NOBODY, parent_id};
use crate::kinds::Kind;
use crate::quality::RETRY_ASSUMED;

/// Siblings that start next, among which a retry is sought.
const NEIGHBOURS: usize = 64;
/// More resends than any client makes.
const MOST_RESENDS: i64 = 100;

/// An operation: its calls in the order in which they were tried.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) calls: Vec<u32>,
}

/// Groups the calls; operations come by the start of their first call.
pub(crate) fn group<'a>(
    calls: &Calls<'a>,
    forest: &Forest<'_, 'a>,
    kinds: &[Kind],
    codes: &mut Vec<&'a str>,
) -> Vec<Operation> {
    let list = &calls.list;
    let mut next = vec![NOBODY; list.len()];
    if list.iter().any(|call| call.failure.is_some()) {
        Linker {
            calls,
            forest,
            kinds,
            edges: Edges::new(calls, forest),
            wrappers: wrappers(forest, kinds),
            tried_before: vec![false; list.len()],
        }
        .link(&mut next, codes);
    }
    let mut follows = vec![false; list.len()];
    for &successor in next.iter().filter(|&&successor| successor != NOBODY) {
        follows[successor as usize] = true;
    }
    let mut operations: Vec<Operation> = Vec::with_capacity(list.len());
    for first in (0..list.len() as u32).filter(|&call| !follows[call as usize]) {
        let mut tries = Vec::with_capacity(1);
        let mut call = first;
        while call != NOBODY {
            tries.push(call);
            call = next[call as usize];
        }
        operations.push(Operation { calls: tries });
    }
    // Stand-ins come last in the list of calls, whenever they started.
    operations.sort_by_key(|operation| {
        let first = operation.calls[0] as usize;
        (list[first].span.start_unix_nano, first)
    });
    operations
}

/// Whether two names differ in numbers only, as those of steps do.
fn like_names(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a == b };
    let letters = |name: &str| name.bytes().filter(|byte| !byte.is_ascii_digit()).collect::<Vec<_>>();
    a == b || letters(a) == letters(b)
}

/// The nearest span of a model call above each node.
fn wrappers(forest: &Forest<'_, '_>, kinds: &[Kind]) -> Vec<u32> {
    let mut wrappers = vec![NOBODY; forest.len()];
    for &node in &forest.top_down {
        let parent = forest.parents[node as usize];
        if (parent as usize) < forest.len() {
            let above = wrappers[parent as usize];
            wrappers[node as usize] = match kinds[parent as usize] {
                kind if kind.is_model() => parent,
                // What an agent or a tool does below a call is work of its own.
                Kind::Agent | Kind::Workflow | Kind::ToolCall => NOBODY,
                _ => above,
            };
        }
    }
    wrappers
}

/// First and last call below each node, by start.
struct Edges {
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Edges {
    fn new(calls: &Calls<'_>, forest: &Forest<'_, '_>) -> Self {
        let n = forest.len();
        let mut edges = Self { first: vec![NOBODY; n + 1], last: vec![NOBODY; n + 1] };
        for &node in forest.top_down.iter().rev() {
            let node = node as usize;
            if let Some(call) = calls.stands_on(node) {
                edges.include(node, call as u32, call as u32);
            }
            edges.include(forest.parents[node] as usize, edges.first[node], edges.last[node]);
        }
        edges
    }

    fn include(&mut self, node: usize, first: u32, last: u32) {
        if first == NOBODY {
            return;
        }
        self.first[node] = self.first[node].min(first);
        self.last[node] = if self.last[node] == NOBODY { last } else { self.last[node].max(last) };
    }
}

struct Linker<'c, 's, 'a> {
    calls: &'c Calls<'a>,
    forest: &'c Forest<'s, 'a>,
    kinds: &'c [Kind],
    edges: Edges,
    /// Nearest span of a model call above each node; `NOBODY` where there is none.
    wrappers: Vec<u32>,
    /// Calls that are already the retry of another.
    tried_before: Vec<bool>,
}

impl<'a> Linker<'_, '_, 'a> {
    /// Finds each failed call's retry, in the order in which the calls started.
    fn link(&mut self, next: &mut [u32], codes: &mut Vec<&'a str>) {
        for (failed, next) in next.iter_mut().enumerate() {
            let call = &self.calls.list[failed];
            // What wrote tokens and names no reason answered, whatever its status says (one exporter marks
            // every span after a failure as failed): nobody asks that again.
            let answered = call.failure == Some(Failure::Unknown)
                && call.span.tokens.output_tokens.is_some_and(|n| n > 0);
            if call.failure.is_none() || call.stand_in || answered {
                continue;
            }
            let retry = match self.among_siblings(failed).or_else(|| self.under_wrapper(failed)) {
                Some(retry) => Some(retry),
                None => {
                    let retry = self.farther_up(failed).or_else(|| self.after_lost_parent(failed));
                    codes.extend(retry.map(|_| RETRY_ASSUMED));
                    retry
                }
            };
            if let Some(retry) = retry {
                self.tried_before[retry] = true;
                *next = retry as u32;
            }
        }
    }

    /// The next call from the same parent.
    fn among_siblings(&self, failed: usize) -> Option<usize> {
        let call = &self.calls.list[failed];
        let numbered = call.span.attempt.is_some();
        let from = if numbered { call.span.start_unix_nano } else { call.end };
        self.siblings_from(call.node, from)
            .filter(|&sibling| self.kinds[sibling].is_model())
            .filter_map(|sibling| self.first_below(sibling))
            .find(|&retry| retry != failed && self.retries(failed, retry))
    }

    /// The next call below the same wrapper, to whichever model.
    fn under_wrapper(&self, failed: usize) -> Option<usize> {
        let call = &self.calls.list[failed];
        let wrapper = self.wrappers[call.node];
        if wrapper == NOBODY || !call.failure?.retryable() {
            return None;
        }
        let later = self.calls.list.iter().enumerate().skip(failed + 1).take(NEIGHBOURS);
        later
            .filter(|(retry, _)| !self.tried_before[*retry])
            .find(|(_, next)| {
                self.wrappers[next.node] == wrapper
                    && next.span.kind == call.span.kind
                    && next.span.start_unix_nano >= call.end
            })
            .map(|(retry, _)| retry)
    }

    /// The first call of the next branch that bears the same name as one which the failed call ended.
    fn farther_up(&self, failed: usize) -> Option<usize> {
        let root = self.forest.len();
        if !self.calls.list[failed].failure?.retryable() {
            return None;
        }
        let mut branch = self.calls.list[failed].node;
        while branch != root && self.edges.last[branch] == failed as u32 {
            let ended = self.forest.nodes[branch];
            let next = self
                .siblings_from(branch, self.forest.ends[branch])
                .find(|&sibling| sibling != branch && self.edges.first[sibling] != NOBODY);
            if let Some(next) = next {
                let again = self.forest.nodes[next];
                let alike = self.kinds[next] == self.kinds[branch] && like_names(again.name, ended.name);
                return self.first_below(next).filter(|&retry| alike && self.retries(failed, retry));
            }
            branch = self.forest.parents[branch] as usize;
        }
        None
    }

    /// Of a call at the end of a branch whose parent never came, the next call that may be its retry,
    /// wherever it stands: some frameworks lose the span of an agent that failed (LlamaIndex, smolagents).
    fn after_lost_parent(&self, failed: usize) -> Option<usize> {
        let mut top = self.calls.list[failed].node;
        while (self.forest.parents[top] as usize) < self.forest.len() {
            if self.edges.last[top] != failed as u32 {
                return None;
            }
            top = self.forest.parents[top] as usize;
        }
        parent_id(self.forest.nodes[top])?;
        let mut later = failed + 1..self.calls.list.len().min(failed + 1 + NEIGHBOURS);
        later.find(|&retry| self.retries(failed, retry))
    }

    /// The node's siblings that start at or after an instant.
    fn siblings_from(&self, node: usize, instant: i64) -> impl Iterator<Item = usize> {
        let siblings = self.forest.children(self.forest.parents[node] as usize);
        let from = siblings.partition_point(|&s| self.forest.nodes[s as usize].start_unix_nano < instant);
        siblings[from..].iter().take(NEIGHBOURS).map(|&sibling| sibling as usize)
    }

    fn first_below(&self, node: usize) -> Option<usize> {
        let call = self.edges.first[node];
        (call != NOBODY).then_some(call as usize)
    }

    /// Whether the second call may be another try of the first.
    fn retries(&self, failed: usize, retry: usize) -> bool {
        let (a, b) = (&self.calls.list[failed], &self.calls.list[retry]);
        if self.tried_before[retry] || a.span.kind != b.span.kind || b.cached {
            return false;
        }
        match (a.span.attempt, b.span.attempt) {
            // The client numbers its tries; that also tells of one sent to another model.
            (Some(a), Some(b)) => b > a,
            (None, Some(1)) => false,
            _ => {
                a.failure.is_some_and(|failure| failure.retryable())
                    && b.span.start_unix_nano >= a.end
                    && models_agree(a, b)
            }
        }
    }
}

/// Requests of one call that its span only counts: earlier ones than the one that it describes.
///
/// `number` is the number of the operation's attempt before this call. Gives how many are unseen,
/// or `None` where the count cannot be one.
pub(crate) fn unseen_before(call: &Call<'_>, number: i64) -> Option<i64> {
    let unseen = match (call.span.attempt, call.span.retries) {
        (Some(attempt), _) => i64::from(attempt) - number - 1,
        (None, Some(resends)) => i64::from(resends),
        (None, None) => 0,
    };
    (unseen <= MOST_RESENDS).then_some(unseen.max(0))
}
