//! Two instrumentations that recorded one call, side by side.
//!
//! Nested ones are settled by taking the innermost. Here are those that are neither above nor below
//! each other: one answer's id on both, or one interval within the other and evidence that they are
//! the same. Without such evidence both stand and the run is flagged. Source: `facts/dialects.md` 2,
//! rule 3; `facts/torture.md` T03, T28; the corpora `langchain-openai-double` and
//! `openinference-anthropic-double`.

use crate::calls::{Call, Calls};
use crate::classify::framework_scope;
use crate::naming::normal_model;
use crate::quality::{POSSIBLE_DOUBLE_INSTRUMENTATION, RESPONSE_ID_REPEATED};
use crate::span::Tokens;

/// How far the two spans of one call may lie apart at either end.
pub(crate) const NEAR_NANOS: i64 = 5_000_000;
/// Calls that start next, among which a call's double is sought.
const NEIGHBOURS: usize = 64;

/// Merges doubles; the calls merged away leave the list, and their nodes point to the survivor.
pub(crate) fn merge<'a>(calls: &mut Calls<'a>, codes: &mut Vec<&'a str>) {
    if calls.list.len() < 2 {
        return;
    }
    let mut merged_into: Vec<usize> = (0..calls.list.len()).collect();
    by_response_id(calls, &mut merged_into, codes);
    by_interval(calls, &mut merged_into, codes);
    if merged_into.iter().enumerate().any(|(call, &into)| call != into) {
        drop_merged(calls, merged_into);
    }
}

/// One answer is one call, if two scopes saw it, or one saw it twice at a time or under one id.
fn by_response_id<'a>(calls: &mut Calls<'a>, merged_into: &mut [usize], codes: &mut Vec<&'a str>) {
    let mut told: Vec<usize> =
        (0..calls.list.len()).filter(|&c| calls.list[c].span.response_id.is_some()).collect();
    if told.len() < 2 {
        return;
    }
    told.sort_by_key(|&c| (calls.list[c].span.response_id, c));
    let mut kept = told[0];
    for &next in &told[1..] {
        let (a, b) = (&calls.list[kept], &calls.list[next]);
        if a.span.response_id != b.span.response_id || a.span.kind != b.span.kind {
            kept = next;
        } else if a.span.scope != b.span.scope
            || a.span.span_id == b.span.span_id
            || b.span.start_unix_nano < a.end.max(a.span.start_unix_nano + 1)
        {
            kept = merge_two(calls, kept, next, merged_into);
        } else {
            codes.push(RESPONSE_ID_REPEATED);
            kept = next;
        }
    }
}

/// Pairs calls of different scopes whose intervals lie within each other, one to one.
fn by_interval<'a>(calls: &mut Calls<'a>, merged_into: &mut [usize], codes: &mut Vec<&'a str>) {
    let scope = calls.list[0].span.scope;
    if calls.list.iter().all(|call| call.span.scope == scope) {
        return;
    }
    let count = calls.list.len();
    let mut taken = vec![false; count];
    for first in 0..count {
        if merged_into[first] != first || taken[first] {
            continue;
        }
        for second in first + 1..count.min(first + 1 + NEIGHBOURS) {
            let (a, b) = (&calls.list[first], &calls.list[second]);
            if b.span.start_unix_nano > a.end {
                break;
            }
            if merged_into[second] != second || taken[second] {
                continue;
            }
            match compare(a, b) {
                Likeness::Apart => {}
                Likeness::Alike => codes.push(POSSIBLE_DOUBLE_INSTRUMENTATION),
                Likeness::Same => {
                    taken[first] = true;
                    taken[second] = true;
                    merge_two(calls, first, second, merged_into);
                    break;
                }
            }
        }
    }
}

/// What two calls are to each other.
enum Likeness {
    Apart,
    Alike,
    Same,
}

fn compare(a: &Call<'_>, b: &Call<'_>) -> Likeness {
    let (x, y) = (&a.span, &b.span);
    let different_scopes = x.scope.is_some() && y.scope.is_some() && x.scope != y.scope;
    let ids_differ = x.response_id.is_some() && y.response_id.is_some() && x.response_id != y.response_id;
    if !different_scopes
        || x.kind != y.kind
        || ids_differ
        || !models_agree(a, b)
        || !tokens_agree(&x.tokens, &y.tokens)
    {
        return Likeness::Apart;
    }
    let within = |outer: &Call<'_>, inner: &Call<'_>| {
        inner.span.start_unix_nano >= outer.span.start_unix_nano.saturating_sub(NEAR_NANOS)
            && inner.end <= outer.end.saturating_add(NEAR_NANOS)
    };
    let (a_holds_b, b_holds_a) = (within(a, b), within(b, a));
    if !a_holds_b && !b_holds_a {
        return Likeness::Apart;
    }
    // A framework's call and the client library's below it, in contexts that lost each other.
    let layered = |outer: &Call<'_>, inner: &Call<'_>| {
        outer.span.scope.is_some_and(framework_scope) && !inner.span.scope.is_some_and(framework_scope)
    };
    let one_lacks_id = x.response_id.is_some() != y.response_id.is_some();
    let both_failed = a.failure.is_some() && b.failure.is_some();
    // Two instrumentations of one framework: two whole trees, side by side.
    let one_library = x.scope.zip(y.scope).is_some_and(|(x, y)| {
        framework_scope(x) && framework_scope(y) && library(x) == library(y) && a_holds_b && b_holds_a
    });
    if one_lacks_id
        || one_library
        || both_failed
        || (a_holds_b && layered(a, b))
        || (b_holds_a && layered(b, a))
    {
        Likeness::Same
    } else if x.start_unix_nano.abs_diff(y.start_unix_nano) <= NEAR_NANOS.unsigned_abs() {
        Likeness::Alike
    } else {
        Likeness::Apart
    }
}

/// What a scope instruments: the last part of its name.
pub(crate) fn library(scope: &str) -> &str {
    scope.rsplit(['.', '/']).next().unwrap_or(scope)
}

/// Whether two calls can have asked for one model; one that names none can have asked for any.
pub(crate) fn models_agree(a: &Call<'_>, b: &Call<'_>) -> bool {
    match (a.span.any_model(), b.span.any_model()) {
        (Some(a), Some(b)) => a == b || normal_model(a) == normal_model(b),
        _ => true,
    }
}

fn tokens_agree(a: &Tokens, b: &Tokens) -> bool {
    let agree = |a: Option<i64>, b: Option<i64>| a.is_none() || b.is_none() || a == b;
    agree(a.input_tokens, b.input_tokens) && agree(a.output_tokens, b.output_tokens)
}

/// Keeps the call with the richer usage, else the inner one; gives the survivor.
fn merge_two(calls: &mut Calls<'_>, a: usize, b: usize, merged_into: &mut [usize]) -> usize {
    let weight = |call: &Call<'_>| {
        let told = call.span.tokens.rank().iter().flatten().count();
        (told, call.failure.is_none(), std::cmp::Reverse(call.end.saturating_sub(call.span.start_unix_nano)))
    };
    let (kept, gone) = if weight(&calls.list[a]) > weight(&calls.list[b]) { (a, b) } else { (b, a) };
    let lent = calls.list[gone].span.clone();
    calls.list[kept].absorb(&lent);
    if calls.list[kept].lacks_usage() && lent.tokens.known() {
        let source = calls.list[gone].usage;
        calls.list[kept].take_usage(&lent, source);
    }
    merged_into[gone] = kept;
    kept
}

/// Removes what was merged away and renumbers.
fn drop_merged(calls: &mut Calls<'_>, merged_into: Vec<usize>) {
    let mut number = vec![0_u32; merged_into.len()];
    let mut next = 0;
    for (call, &into) in merged_into.iter().enumerate() {
        if call == into {
            number[call] = next;
            next += 1;
        }
    }
    let survivor = |mut call: usize| {
        while merged_into[call] != call {
            call = merged_into[call];
        }
        number[call]
    };
    for of_node in &mut calls.of_node {
        if (*of_node as usize) < merged_into.len() {
            *of_node = survivor(*of_node as usize);
        }
    }
    let mut call = 0;
    calls.list.retain(|_| {
        call += 1;
        merged_into[call - 1] == call - 1
    });
}
