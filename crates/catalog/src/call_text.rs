//! A call as people type it: `input=1000,cache_read=0,max=4000,output=100`.
//!
//! Invariant: a call that could not have happened is refused, with the sentence that says why.

use std::str::FromStr;

use plimsoll_toml::meant;

use crate::Call;

/// The keys that a call is written with.
const KEYS: [&str; 13] = [
    "input",
    "audio",
    "cache_read",
    "audio_cache_read",
    "cache_write",
    "cache_write_1h",
    "total_input",
    "output",
    "reasoning",
    "output_audio",
    "output_image",
    "max",
    "status",
];

/// What is wrong with a call that somebody typed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No `key=value`.
    #[error("`{0}` is no `key=value`; write a call as input=1000,max=4000,output=100")]
    NoPair(String),
    /// A key that does not exist.
    #[error("a call has no `{key}`{meant}; it has {}", KEYS.join(", "))]
    UnknownKey {
        /// As typed.
        key: String,
        /// `; did you mean ...?`, or nothing.
        meant: String,
    },
    /// The same key twice.
    #[error("`{0}` stands twice")]
    Twice(String),
    /// No count.
    #[error("{key} is `{value}`: write a whole number of tokens, 0 or more")]
    NoCount {
        /// Key.
        key: String,
        /// As typed.
        value: String,
    },
    /// No HTTP status.
    #[error("status is `{0}`: write an HTTP status, 100 to 599")]
    NoStatus(String),
    /// The parts of the output are more than the output.
    #[error(
        "{part} is {tokens}, above output {output}: {part} tokens are part of the output, so output holds them"
    )]
    PartAboveOutput {
        /// The part.
        part: &'static str,
        /// Its tokens, together with those of the parts before it.
        tokens: u64,
        /// The output.
        output: u64,
    },
    /// More output than was allowed.
    #[error("output is {output}, above max {max}: a call never puts out more than its max_tokens")]
    AboveMax {
        /// The output.
        output: u64,
        /// `max_tokens`.
        max: u64,
    },
    /// More cached than total input.
    #[error("cache and audio hold {parts} input tokens, above total_input {total}: the total counts them in")]
    AboveTotal {
        /// Cached, written and audio tokens.
        parts: u64,
        /// The total.
        total: u64,
    },
    /// Total and uncached input disagree.
    #[error(
        "input and its parts make {sum}, but total_input is {total}: give input or total_input, not both"
    )]
    Disagree {
        /// The sum of the parts.
        sum: u64,
        /// The total.
        total: u64,
    },
}

impl FromStr for Call {
    type Err = CallError;

    /// Reads `key=value` pairs; `input` is what no cache served (`total_input` may stand in its place:
    /// all input, from which cached tokens are taken off), `max` is `max_tokens`.
    ///
    /// ```
    /// use plimsoll_catalog::Call;
    /// let call: Call = "input=1000,max=4000,output=100".parse()?;
    /// assert_eq!((call.input_uncached, call.max_output, call.output), (1000, Some(4000), 100));
    /// let same: Call = "total_input=1500,cache_read=500".parse()?;
    /// assert_eq!(same.input_uncached, 1000);
    /// assert!("cache_read=1501,total_input=1500".parse::<Call>().is_err());
    /// # Ok::<(), plimsoll_catalog::CallError>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, CallError> {
        let mut call = Self::default();
        let (mut total, mut seen) = (None, Vec::new());
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| CallError::NoPair(pair.to_owned()))?;
            let (key, value) = (key.trim(), value.trim());
            if seen.contains(&key) {
                return Err(CallError::Twice(key.to_owned()));
            }
            seen.push(key);
            match key {
                "input" => call.input_uncached = count(key, value)?,
                "audio" => call.audio = count(key, value)?,
                "cache_read" => call.cache_read = count(key, value)?,
                "audio_cache_read" => call.audio_cache_read = count(key, value)?,
                "cache_write" => call.cache_write = count(key, value)?,
                "cache_write_1h" => call.cache_write_1h = count(key, value)?,
                "total_input" => total = Some(count(key, value)?),
                "output" => call.output = count(key, value)?,
                "reasoning" => call.reasoning = count(key, value)?,
                "output_audio" => call.output_audio = count(key, value)?,
                "output_image" => call.output_image = count(key, value)?,
                "max" => call.max_output = Some(count(key, value)?),
                "status" => call.status = Some(status(value)?),
                other => {
                    return Err(CallError::UnknownKey { key: other.to_owned(), meant: meant(other, KEYS) });
                }
            }
        }
        if let Some(total) = total {
            call.input_uncached = uncached(&call, total, seen.contains(&"input"))?;
        }
        call.possible()
    }
}

/// A count of tokens: what fits a signed 64-bit integer, as tables hold it.
fn count(key: &str, value: &str) -> Result<u64, CallError> {
    let wrong = || CallError::NoCount { key: key.to_owned(), value: value.to_owned() };
    value.parse().ok().filter(|count| i64::try_from(*count).is_ok()).ok_or_else(wrong)
}

fn status(value: &str) -> Result<u16, CallError> {
    let status = value.parse().ok().filter(|status| (100..600).contains(status));
    status.ok_or_else(|| CallError::NoStatus(value.to_owned()))
}

/// What of `total` no cache served.
fn uncached(call: &Call, total: u64, told: bool) -> Result<u64, CallError> {
    if told {
        let sum = call.input();
        return if sum == total { Ok(call.input_uncached) } else { Err(CallError::Disagree { sum, total }) };
    }
    let parts = call.input();
    total.checked_sub(parts).ok_or(CallError::AboveTotal { parts, total })
}

impl Call {
    /// The call, where it can have happened.
    ///
    /// # Errors
    /// Where a part of the output exceeds it, or the output exceeds `max_tokens`.
    pub fn possible(self) -> Result<Self, CallError> {
        let mut parts = 0_u64;
        for (part, tokens) in [
            ("reasoning", self.reasoning),
            ("output_audio", self.output_audio),
            ("output_image", self.output_image),
        ] {
            parts = parts.saturating_add(tokens);
            if parts > self.output {
                return Err(CallError::PartAboveOutput { part, tokens: parts, output: self.output });
            }
        }
        match self.max_output {
            Some(max) if self.output > max => Err(CallError::AboveMax { output: self.output, max }),
            _ => Ok(self),
        }
    }
}
