//! What one call costs a limit: when it is admitted, and when it is settled.
//!
//! Leaves the limits themselves to [`crate::Dimension`] and money to [`crate::TokenPrice`].
//! Invariants: a sum of weighted tokens is rounded once, up; the same call gives the same draw
//! whatever the order; a stage that does not count a measure draws 0 of it.

use serde::Deserialize;

use crate::{Measure, exact::Weight};

/// One request on the wire, or the sums of many: weights are linear but for the rule of the larger
/// ([`Combine::Max`]), which is a rule of single calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Call {
    /// Input tokens that no cache served or kept.
    pub input_uncached: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache for the usual time (five minutes), or for a time not told.
    pub cache_write: u64,
    /// Input tokens written to the cache for an hour; not in `cache_write`.
    pub cache_write_1h: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: u64,
    /// `max_tokens` as the client sent it; none where it did not.
    pub max_output: Option<u64>,
    /// HTTP status; none where it is not known or the call went well.
    pub status: Option<u16>,
}

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
    /// The amount of one measure.
    pub fn amount(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Requests => self.requests,
            Measure::InputTokens => self.input_tokens,
            Measure::OutputTokens => self.output_tokens,
            Measure::Tokens => self.tokens,
        }
    }

    fn less(&self, other: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(other.requests),
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
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
}

/// A provider's rule for what calls draw.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meter {
    /// How input and `max_tokens` make the admission charge.
    #[serde(default)]
    pub combine: Combine,
    /// What an unset `max_tokens` is admitted at.
    pub unset_max_output: UnsetMaxOutput,
    /// Whether a refused attempt (429) draws as well.
    pub refused: Refused,
    /// Weights at the start.
    pub admission: Stage,
    /// Weights at the end.
    pub settlement: Stage,
}

/// How input and `max_tokens` make the admission charge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// Both are added.
    #[default]
    Sum,
    /// The larger counts.
    Max,
}

/// What an unset `max_tokens` is admitted at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnsetMaxOutput {
    /// The model's own maximum.
    ModelMaximum,
    /// Nothing.
    Zero,
    /// The provider guesses, or no source tells.
    Unknown,
}

/// Whether a refused attempt draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// It does.
    Counted,
    /// It does not.
    Free,
    /// No source tells; it is taken to count, which asks for more.
    Unknown,
}

/// Weights of one stage; a measure that is absent is not counted at it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// For [`Measure::InputTokens`].
    pub input_tokens: Option<Weights>,
    /// For [`Measure::OutputTokens`].
    pub output_tokens: Option<Weights>,
    /// For [`Measure::Tokens`].
    pub tokens: Option<Weights>,
}

/// Tokens of quota per token, by kind; a kind that is absent costs nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// Of input that no cache served or kept.
    pub input_uncached: Weight,
    /// Of input read from the cache.
    pub cache_read: Weight,
    /// Of input written to it.
    pub cache_write: Weight,
    /// Of input written to it for an hour; absent: as `cache_write`.
    pub cache_write_1h: Option<Weight>,
    /// Of output.
    pub output: Weight,
    /// Of reasoning; absent: as `output`.
    pub reasoning: Option<Weight>,
    /// Of `max_tokens`, at admission.
    pub max_output: Weight,
}

impl Meter {
    /// What `call` draws; `model_maximum` is the model's own limit on output, where known.
    pub fn meter(&self, call: &Call, model_maximum: Option<u64>) -> Metered {
        if call.status == Some(429) && self.refused == Refused::Free {
            return Metered::default();
        }
        let max_output = call.max_output.or(match self.unset_max_output {
            UnsetMaxOutput::ModelMaximum => model_maximum,
            UnsetMaxOutput::Zero => Some(0),
            UnsetMaxOutput::Unknown => None,
        });
        let reserves_output = self.admission.weights().any(|weights| weights.max_output > Weight::ZERO);
        let admission = self.admission.draw(call, max_output.unwrap_or(call.output), self.combine);
        let settlement = self.settlement.draw(call, 0, Combine::Sum);
        Metered {
            admission,
            settlement,
            released: admission.less(&settlement),
            lower_bound: reserves_output && max_output.is_none(),
        }
    }

    /// What is wrong with it, if anything: the path of the field and why.
    pub(crate) fn fault(&self) -> Option<(&'static str, &'static str)> {
        let known_late = |weights: &Weights| {
            weights.output > Weight::ZERO || weights.reasoning.is_some_and(|weight| weight > Weight::ZERO)
        };
        if self.admission.weights().any(known_late) {
            Some(("admission", "a call that starts has no output yet; weigh `max_output`"))
        } else if self.settlement.weights().any(|weights| weights.max_output > Weight::ZERO) {
            Some(("settlement", "a call that ended is not charged by `max_output`; weigh `output`"))
        } else {
            None
        }
    }
}

impl Stage {
    fn weights(&self) -> impl Iterator<Item = &Weights> {
        [&self.input_tokens, &self.output_tokens, &self.tokens].into_iter().flatten()
    }

    fn draw(&self, call: &Call, max_output: u64, combine: Combine) -> Draw {
        let sum = |weights: &Option<Weights>| {
            weights.as_ref().map_or(0, |weights| weights.sum(call, max_output, combine))
        };
        Draw {
            requests: 1,
            input_tokens: sum(&self.input_tokens),
            output_tokens: sum(&self.output_tokens),
            tokens: sum(&self.tokens),
        }
    }
}

impl Weights {
    fn sum(&self, call: &Call, max_output: u64, combine: Combine) -> u64 {
        // At most 2^64 tokens of seven kinds at a weight of at most 2^30 millionths: far below 2^128.
        let part = |tokens: u64, weight: Weight| u128::from(tokens) * u128::from(weight.millionths());
        let reasoning = call.reasoning.min(call.output);
        let used = part(call.input_uncached, self.input_uncached)
            + part(call.cache_read, self.cache_read)
            + part(call.cache_write, self.cache_write)
            + part(call.cache_write_1h, self.cache_write_1h.unwrap_or(self.cache_write))
            + part(call.output - reasoning, self.output)
            + part(reasoning, self.reasoning.unwrap_or(self.output));
        let reserved = part(max_output, self.max_output);
        let millionths = match combine {
            Combine::Sum => used + reserved,
            Combine::Max => used.max(reserved),
        };
        u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}
