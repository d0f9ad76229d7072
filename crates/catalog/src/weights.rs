//! Tokens of quota per token, by kind and measure.
//!
//! Invariants: a sum of weighted tokens is rounded once, up, and never wraps; a kind that has no weight
//! of its own takes that of the kind it is part of.

use serde::{Deserialize, Serialize};

use crate::{Call, Combine, Draw, exact::Weight};

/// Weights of one stage; a measure that is absent is not counted at it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// For [`crate::Measure::InputTokens`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<Weights>,
    /// For [`crate::Measure::OutputTokens`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<Weights>,
    /// For [`crate::Measure::Tokens`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Weights>,
}

/// Tokens of quota per token, by kind; a kind that is absent costs nothing, but for those that say
/// otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// Of text input that no cache served or kept.
    #[serde(skip_serializing_if = "Weight::is_zero")]
    pub input_uncached: Weight,
    /// Of audio input; absent: as `input_uncached`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio: Option<Weight>,
    /// Of input read from the cache.
    #[serde(skip_serializing_if = "Weight::is_zero")]
    pub cache_read: Weight,
    /// Of audio read from the cache; absent: as `cache_read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_cache_read: Option<Weight>,
    /// Of input written to it.
    #[serde(skip_serializing_if = "Weight::is_zero")]
    pub cache_write: Weight,
    /// Of input written to it for an hour; absent: as `cache_write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<Weight>,
    /// Of output.
    #[serde(skip_serializing_if = "Weight::is_zero")]
    pub output: Weight,
    /// Of reasoning; absent: as `output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Weight>,
    /// Of audio output; absent: as `output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_audio: Option<Weight>,
    /// Of image output; absent: as `output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_image: Option<Weight>,
    /// Of `max_tokens`, at admission.
    #[serde(skip_serializing_if = "Weight::is_zero")]
    pub max_output: Weight,
}

impl Stage {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Weights> {
        [&self.input_tokens, &self.output_tokens, &self.tokens].into_iter().flatten()
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Weights> {
        [&mut self.input_tokens, &mut self.output_tokens, &mut self.tokens].into_iter().flatten()
    }

    /// What `call` draws by these weights, each times `factor`.
    pub(crate) fn draw(&self, call: &Call, max_output: u64, combine: Combine, factor: Weight) -> Draw {
        let sum = |weights: &Option<Weights>| {
            weights.as_ref().map_or(0, |weights| weights.sum(call, max_output, combine, factor))
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
    fn sum(&self, call: &Call, max_output: u64, combine: Combine, factor: Weight) -> u64 {
        // Eleven kinds of at most 2^64 tokens, weighed by at most 2^28 millionths, and a factor of as
        // much: below 2^124.
        let part = |tokens: u64, weight: Weight| u128::from(tokens) * u128::from(weight.millionths());
        let [output, reasoning, audio, image] = call.output_parts();
        let used = part(call.input_uncached, self.input_uncached)
            + part(call.audio, self.audio.unwrap_or(self.input_uncached))
            + part(call.cache_read, self.cache_read)
            + part(call.audio_cache_read, self.audio_cache_read.unwrap_or(self.cache_read))
            + part(call.cache_write, self.cache_write)
            + part(call.cache_write_1h, self.cache_write_1h.unwrap_or(self.cache_write))
            + part(output, self.output)
            + part(reasoning, self.reasoning.unwrap_or(self.output))
            + part(audio, self.output_audio.unwrap_or(self.output))
            + part(image, self.output_image.unwrap_or(self.output));
        let reserved = part(max_output, self.max_output);
        let millionths = match combine {
            Combine::Sum => used + reserved,
            Combine::Max => used.max(reserved),
        };
        if factor != Weight::ONE {
            let tokens = (millionths * u128::from(factor.millionths())).div_ceil(1_000_000_000_000);
            return u64::try_from(tokens).unwrap_or(u64::MAX);
        }
        // Division of 64 bits takes a tenth of the time.
        match u64::try_from(millionths) {
            Ok(millionths) => millionths.div_ceil(1_000_000),
            Err(_) => u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX),
        }
    }

    /// Weights of everything that is known only when a call has ended.
    pub(crate) fn known_late(&self) -> bool {
        [Some(self.output), self.reasoning, self.output_audio, self.output_image]
            .into_iter()
            .flatten()
            .any(|weight| !weight.is_zero())
    }
}
