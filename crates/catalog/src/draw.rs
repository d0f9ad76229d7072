//! What a call takes from limits: an amount of each measure, at its start and at its end.

use crate::{Call, Measure};

/// What a call draws, by measure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Draw {
    /// Requests.
    pub requests: u64,
    /// Input tokens as weighed.
    pub input_tokens: u64,
    /// Output tokens as weighed.
    pub output_tokens: u64,
    /// Both in one sum, as weighed.
    pub tokens: u64,
}

impl Draw {
    /// The amount of one measure. Dollars are no draw of tokens ([`crate::Entry::cost`] tells them), and
    /// a job is more than a call: both are 0 here.
    pub fn amount(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Requests | Measure::Concurrent => self.requests,
            Measure::InputTokens | Measure::EnqueuedTokens => self.input_tokens,
            Measure::OutputTokens => self.output_tokens,
            Measure::Tokens => self.tokens,
            Measure::Jobs | Measure::Usd => 0,
        }
    }

    /// What is left of `self` after `other`, measure by measure, never below 0.
    pub(crate) fn less(&self, other: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(other.requests),
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }

    /// Every token once: what a call draws where no rule is known.
    pub fn plain(call: &Call) -> Self {
        let input_tokens = call.input();
        let tokens = input_tokens.saturating_add(call.output);
        Self { requests: 1, input_tokens, output_tokens: call.output, tokens }
    }
}

/// Both draws of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metered {
    /// Charged when it starts.
    pub admission: Draw,
    /// What that is corrected to at its end.
    pub settlement: Draw,
    /// Given back at its end: admission less settlement, where positive.
    pub released: Draw,
    /// `max_tokens` was unset and the provider's guess is not known: the output that came stands in
    /// for it, so the admission draw is a lower bound.
    pub lower_bound: bool,
    /// The input was above the meter's threshold, so the weights of long contexts were taken.
    pub long_context: bool,
}
