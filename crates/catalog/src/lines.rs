//! Weights and prices in integers, and sums of many calls by them.
//!
//! Leaves to [`crate::Rates`] which calls fit: sums are exact where every count is below [`MOST_TOKENS`].
//! Invariant: a sum of weighted tokens is rounded once, up.

use std::ops::Range;

use crate::{
    Calls, Combine, Stage, Weights,
    calls::{Column, Draws},
    exact::Weight,
};

/// Counts below this, times a weight or a price of at most [`MOST_EACH`], may be summed eight times in 64 bits.
pub(crate) const MOST_TOKENS: u64 = 1 << 29;
/// Picodollars a token; weights in millionths are less.
pub(crate) const MOST_EACH: u64 = 1 << 31;
/// Parts of a token in which weights are counted.
const MILLION: u64 = 1_000_000;

/// A figure of each kind: uncached, audio, read, written, written for an hour, plain output, reasoning, and
/// `max_tokens`.
pub(crate) type Kinds<T> = [T; 8];
/// Place of `max_tokens` among them.
pub(crate) const RESERVED: usize = 7;

/// Weights of one stage, measure by measure; a measure without any is not counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines {
    input_tokens: Option<Line>,
    output_tokens: Option<Line>,
    tokens: Option<Line>,
}

/// Weights of one measure.
#[derive(Debug, Clone, Copy)]
struct Line {
    each: Kinds<u32>,
    /// Of `max_tokens` where the larger counts, and not the sum.
    larger: u32,
    /// They are whole tokens; else millionths.
    whole: bool,
}

impl Lines {
    pub(crate) fn new(stage: &Stage, combine: Combine) -> Self {
        let line = |weights: &Option<Weights>| weights.as_ref().map(|weights| Line::new(weights, combine));
        Self {
            input_tokens: line(&stage.input_tokens),
            output_tokens: line(&stage.output_tokens),
            tokens: line(&stage.tokens),
        }
    }

    /// What those calls draw of whose tokens `kinds` are the columns.
    #[inline]
    pub(crate) fn draw(&self, kinds: &Kinds<&Column>, which: &Range<usize>, into: &mut Draws) {
        into.requests[which.clone()].fill(1);
        let lines = [
            (&self.input_tokens, &mut into.input_tokens),
            (&self.output_tokens, &mut into.output_tokens),
            (&self.tokens, &mut into.tokens),
        ];
        for (line, into) in lines {
            match line {
                Some(line) => line.sum(kinds, which, into),
                None => into[which.clone()].fill(0),
            }
        }
    }
}

impl Line {
    fn new(weights: &Weights, combine: Combine) -> Self {
        let of_max = weights.max_output;
        let (summed, larger) = match combine {
            Combine::Sum => (of_max, Weight::ZERO),
            Combine::Max => (Weight::ZERO, of_max),
        };
        let each = [
            weights.input_uncached,
            weights.audio.unwrap_or(weights.input_uncached),
            weights.cache_read,
            weights.cache_write,
            weights.cache_write_1h.unwrap_or(weights.cache_write),
            weights.output,
            weights.reasoning.unwrap_or(weights.output),
            summed,
        ];
        let whole =
            each.into_iter().chain([larger]).all(|weight| weight.millionths().is_multiple_of(MILLION));
        // At most 200, so 2 x 10^8 millionths.
        let counted = |weight: Weight| {
            let parts = if whole { weight.millionths() / MILLION } else { weight.millionths() };
            u32::try_from(parts).unwrap_or(u32::MAX)
        };
        Self { each: each.map(counted), larger: counted(larger), whole }
    }

    #[inline]
    fn sum(&self, kinds: &Kinds<&Column>, which: &Range<usize>, into: &mut Column) {
        dot(kinds, &self.each, which, into);
        let into = &mut into[which.clone()];
        if self.larger > 0 {
            for (sum, tokens) in into.iter_mut().zip(&kinds[RESERVED][which.clone()]) {
                *sum = (*sum).max(times(*tokens, self.larger));
            }
        }
        if !self.whole {
            for sum in into {
                *sum = sum.div_ceil(MILLION);
            }
        }
    }
}

/// Sums of the products, call by call.
#[inline]
pub(crate) fn dot(kinds: &Kinds<&Column>, each: &Kinds<u32>, which: &Range<usize>, into: &mut Column) {
    for call in which.start..which.end.min(Calls::MOST) {
        into[call] = kinds.iter().zip(each).map(|(tokens, each)| times(tokens[call], *each)).sum();
    }
}

/// A product that eight times fits in 64 bits: processors multiply halves of 64 bits side by side.
#[inline]
fn times(tokens: u64, each: u32) -> u64 {
    tokens % MOST_TOKENS * u64::from(each)
}
