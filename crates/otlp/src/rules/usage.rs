//! The split of the input: uncached + cache read + cache write = input, or null; never a guess. And the
//! output with its reasoning, where a client counts that beside it.
//!
//! Whether a client counts cached tokens as input is told by the counts themselves where they can tell,
//! else by the dialect tables, else it is assumed that they are, as OpenTelemetry has it, and said so
//! (facts/dialects.md par. 3).

use std::borrow::Cow;

use crate::dialect::Basis;

/// The counts that a span carries, each null where it doesn't.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) input: Option<i64>,
    pub(crate) uncached: Option<i64>,
    pub(crate) cache_read: Option<i64>,
    pub(crate) cache_write: Option<i64>,
    pub(crate) output: Option<i64>,
    pub(crate) reasoning: Option<i64>,
    /// Whether the dialect says that the client counts reasoning beside its output.
    pub(crate) reasoning_apart: bool,
    pub(crate) total: Option<i64>,
}

/// What the counts mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    /// All input; null where it can't be known.
    pub(crate) input: Option<i64>,
    /// The part that touched no cache; null where it can't be known.
    pub(crate) uncached: Option<i64>,
    /// `basis: rule` for the column `input_basis`; null without an input count.
    pub(crate) basis: Option<Cow<'a, str>>,
    /// Whether the counts contradict the basis.
    pub(crate) mismatch: bool,
}

/// All output, reasoning included; `known` as for [`split`].
///
/// Gemini's own counts and what copies them leave reasoning out, not with every model. Counts tell: a part cannot be larger
/// than the whole, and a total that is only reached with the reasoning added counted it apart.
pub(crate) fn output(sent: &Sent, known: Option<(Basis, &str)>) -> Option<i64> {
    let output = sent.output?;
    let Some(reasoning) = sent.reasoning.filter(|reasoning| *reasoning > 0) else {
        return Some(output);
    };
    let inclusive = matches!(known, Some((Basis::Inclusive, _)));
    let cached = sent.cache_read.unwrap_or(0) + sent.cache_write.unwrap_or(0);
    let by_total = sent.total.zip(sent.input).and_then(|(total, input)| {
        let without = total == input + output || (total == input + cached + output && !inclusive);
        let with = [input, input + cached].contains(&(total - output - reasoning));
        if without { Some(false) } else { with.then_some(true) }
    });
    let apart = output < reasoning || by_total.unwrap_or(sent.reasoning_apart);
    Some(if apart { output + reasoning } else { output })
}

/// Splits the input, by what the dialect tables know of the client: a basis and its text for the column.
pub(crate) fn split<'a>(sent: &Sent, known: Option<(Basis, &'a str)>) -> Split<'a> {
    let Some(input) = sent.input.or_else(|| sum(sent)) else {
        return Split { input: None, uncached: sent.uncached, basis: None, mismatch: false };
    };
    let (Some(read), Some(write)) = (sent.cache_read, sent.cache_write) else {
        return without_detail(input, sent, known);
    };
    let cached = read + write;
    let (basis, text) = decide(input, cached, sent, known);
    let (all, uncached) = match basis {
        Basis::Inclusive => (input, input - cached),
        Basis::Exclusive => (input + cached, input),
    };
    let mismatch = uncached < 0;
    Split { input: Some(all), uncached: (!mismatch).then_some(uncached), basis: Some(text), mismatch }
}

/// The rules in their order; the first that can tell decides. A total of no more than input and output
/// may be the client's own sum of a count that left the cache out (AI SDK 5, OpenLLMetry's JavaScript for
/// Anthropic), so what is known of the uncached part or of the client goes before it.
fn decide<'a>(
    input: i64,
    cached: i64,
    sent: &Sent,
    known: Option<(Basis, &'a str)>,
) -> (Basis, Cow<'a, str>) {
    let total = sent.total.zip(output(sent, known)).map(|(total, output)| total - output);
    if sent.input.is_none() {
        (Basis::Inclusive, "inclusive: sum of its parts".into())
    } else if cached == 0 {
        (Basis::Inclusive, "inclusive: nothing cached".into())
    } else if sent.uncached == Some(input) {
        (Basis::Exclusive, "exclusive: input is the uncached count".into())
    } else if sent.uncached == Some(input - cached) {
        (Basis::Inclusive, "inclusive: input is more than the uncached count by the cache".into())
    } else if total == Some(input + cached) {
        (Basis::Exclusive, "exclusive: total is input, cache and output".into())
    } else if let Some((Basis::Exclusive, rule)) = known {
        (Basis::Exclusive, rule.into())
    } else if total == Some(input) {
        (Basis::Inclusive, "inclusive: total is input and output".into())
    } else if input < cached {
        (Basis::Exclusive, "exclusive: input is less than the cache".into())
    } else if let Some((basis, rule)) = known {
        (basis, rule.into())
    } else {
        (Basis::Inclusive, "assumed: inclusive, as OpenTelemetry has it".into())
    }
}

/// A client that says nothing, or half, of its cache: only the basis tells whether its count is all.
fn without_detail<'a>(input: i64, sent: &Sent, known: Option<(Basis, &'a str)>) -> Split<'a> {
    match known {
        Some((Basis::Exclusive, rule)) => {
            Split { input: None, uncached: Some(input), basis: Some(rule.into()), mismatch: false }
        }
        Some((Basis::Inclusive, rule)) => {
            Split { input: Some(input), uncached: sent.uncached, basis: Some(rule.into()), mismatch: false }
        }
        None => Split {
            input: Some(input),
            uncached: sent.uncached,
            basis: Some("assumed: inclusive, cache not told".into()),
            mismatch: false,
        },
    }
}

fn sum(sent: &Sent) -> Option<i64> {
    Some(sent.uncached? + sent.cache_read? + sent.cache_write?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Sent, output, split};
    use crate::dialect::Basis;

    fn sent(input: i64, read: i64, write: i64, output: i64) -> Sent {
        Sent {
            input: Some(input),
            cache_read: Some(read),
            cache_write: Some(write),
            output: Some(output),
            ..Sent::default()
        }
    }

    /// T01: one call told by OpenTelemetry's rule and by Anthropic's is one and the same split.
    #[test]
    fn two_dialects_one_call() {
        for sent in [sent(130_213, 128_955, 1_253, 700), sent(5, 128_955, 1_253, 700)] {
            let split = split(&sent, None);
            assert_eq!((split.input, split.uncached, split.mismatch), (Some(130_213), Some(5), false));
        }
    }

    /// A total that holds the cache settles the basis against what the tables say; one that doesn't may
    /// be the client's own sum, and settles it only where they don't say that the client leaves it out.
    #[test]
    fn total_decides() {
        let mut counts = sent(100, 40, 0, 10);
        counts.total = Some(150);
        let exclusive = split(&counts, Some((Basis::Inclusive, "x")));
        assert_eq!((exclusive.input, exclusive.uncached), (Some(140), Some(100)));
        counts.total = Some(110);
        let own_sum = split(&counts, Some((Basis::Exclusive, "x")));
        assert_eq!((own_sum.input, own_sum.uncached), (Some(140), Some(100)));
        let inclusive = split(&counts, None);
        assert_eq!((inclusive.input, inclusive.uncached), (Some(100), Some(60)));
    }

    /// Reasoning that a client counts beside its output joins it, where the counts show that it does.
    #[test]
    fn reasoning_joins_the_output() {
        let told = |input, read, output, reasoning, total| Sent {
            reasoning: Some(reasoning),
            total,
            ..sent(input, read, 0, output)
        };
        // Within the output, by the total; beside it, by the total; beside it, since a part is no more
        // than the whole; not told, so within, as OpenTelemetry has it.
        for (counts, all) in [
            (told(1465, 0, 212, 128, Some(1677)), 212),
            (told(1465, 0, 84, 128, Some(1677)), 212),
            (told(1465, 512, 84, 30, Some(1579)), 114),
            (told(900, 512, 84, 30, Some(1526)), 114),
            (told(1465, 0, 84, 128, None), 212),
            (told(1465, 0, 212, 128, None), 212),
        ] {
            assert_eq!(output(&counts, None), Some(all), "{counts:?}");
        }
        // Cache and reasoning of one size: what is known of the client decides.
        let even = told(1000, 30, 84, 30, Some(1114));
        assert_eq!(output(&even, None), Some(84));
        assert_eq!(output(&even, Some((Basis::Inclusive, "x"))), Some(114));
        // Where no total tells, the dialect's word does.
        let apart = Sent { reasoning_apart: true, ..told(1465, 0, 212, 128, None) };
        assert_eq!(output(&apart, None), Some(340));
    }

    /// Without cache detail the uncached part is unknown, and so is the whole where the count is known to
    /// leave the cache out; without an input count all is unknown.
    #[test]
    fn missing_is_not_zero() {
        let bare = Sent { input: Some(100), output: Some(5), ..Sent::default() };
        assert_eq!((split(&bare, None).input, split(&bare, None).uncached), (Some(100), None));
        let exclusive = split(&bare, Some((Basis::Exclusive, "raw")));
        assert_eq!((exclusive.input, exclusive.uncached), (None, Some(100)));
        let none = split(&Sent { cache_read: Some(3), ..Sent::default() }, None);
        assert_eq!((none.input, none.uncached, none.basis), (None, None, None));
    }

    proptest! {
        /// Where the parts are known they add up to the input.
        #[test]
        fn parts_add_up(input in 0_i64..1000, read in 0_i64..1000, write in 0_i64..1000, output in 0_i64..1000,
                        total in proptest::option::of(0_i64..4000), exclusive: bool) {
            let mut counts = sent(input, read, write, output);
            counts.total = total;
            let basis = if exclusive { Basis::Exclusive } else { Basis::Inclusive };
            let split = split(&counts, Some((basis, "rule")));
            match split.uncached {
                Some(uncached) => prop_assert_eq!(Some(uncached + read + write), split.input),
                None => prop_assert!(split.mismatch),
            }
        }
    }
}
