//! One request on the wire, in the kinds of token that providers tell apart.
//!
//! Leaves what it costs to [`crate::Meter`] and [`crate::TokenPrice`]. Invariant: no token stands in two
//! kinds; only the parts of `output` (reasoning, audio, images) are contained in another.

use crate::Tier;

/// One request on the wire, or the sums of many: weights are linear but for the rule of the larger
/// ([`crate::Combine::Max`]) and the threshold of a long context, which are rules of single calls.
///
/// What telemetry means by "input" differs: Anthropic and Bedrock Converse leave cached tokens out of
/// it, OpenAI and Gemini count them in. Here `input_uncached` is always without them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Call {
    /// Text (and image) input tokens that no cache served or kept.
    pub input_uncached: u64,
    /// Audio input tokens that no cache served; not in `input_uncached`.
    pub audio: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Audio input tokens read from the cache; not in `cache_read`.
    pub audio_cache_read: u64,
    /// Input tokens written to the cache for the usual time (five minutes), or for a time not told.
    pub cache_write: u64,
    /// Input tokens written to the cache for an hour; not in `cache_write`.
    pub cache_write_1h: u64,
    /// Output tokens of every kind, reasoning included.
    pub output: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: u64,
    /// The part of `output` that was audio.
    pub output_audio: u64,
    /// The part of `output` that was images.
    pub output_image: u64,
    /// `max_tokens` as the client sent it; none where it did not.
    pub max_output: Option<u64>,
    /// HTTP status; none where it is not known or the call went well.
    pub status: Option<u16>,
    /// Service tier that served it.
    pub tier: Tier,
    /// Inference was held within the United States (Anthropic's `inference_geo`), which some providers
    /// charge more for.
    pub us_only: bool,
}

impl Call {
    /// All input tokens: what a long-context threshold is compared with.
    pub fn input(&self) -> u64 {
        [self.input_uncached, self.audio, self.cache_read, self.audio_cache_read]
            .into_iter()
            .chain([self.cache_write, self.cache_write_1h])
            .fold(0, u64::saturating_add)
    }

    /// Tokens that are on the bill, at whatever price: all input and output; none where the provider
    /// refused the call.
    pub fn billed_tokens(&self) -> u64 {
        if self.is_refused() { 0 } else { self.input().saturating_add(self.output) }
    }

    /// Whether the provider turned it away before any token was made: 429 (the caller's limit) or 529
    /// (the provider is overloaded).
    pub fn is_refused(&self) -> bool {
        matches!(self.status, Some(429 | 529))
    }

    /// The output by kind: plain, reasoning, audio, images. Parts that exceed the whole are cut, so that
    /// no token is counted twice.
    pub(crate) fn output_parts(&self) -> [u64; 4] {
        let reasoning = self.reasoning.min(self.output);
        let audio = self.output_audio.min(self.output - reasoning);
        let image = self.output_image.min(self.output - reasoning - audio);
        [self.output - reasoning - audio - image, reasoning, audio, image]
    }
}
