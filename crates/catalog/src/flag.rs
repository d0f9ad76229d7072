//! Points on which sources conflict or are silent, what a row does about each, and what the other
//! reading would give.
//!
//! Invariant: what is taken is the reading that asks for more quota, unless `because` says otherwise;
//! the other one is data too, so that it can be metered beside it.

use serde::{Deserialize, Serialize};

use crate::{Meter, Refused, Stage, Weights, exact::Weight};

/// A point on which sources conflict or are silent, and what this entry does about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// Its name in the file.
    #[serde(skip_deserializing)]
    pub name: String,
    /// The question.
    pub question: String,
    /// What the entry takes for true: the answer that asks for more quota, unless `because` says
    /// otherwise.
    pub taken: String,
    /// Who says what.
    pub because: String,
    /// The other reading, where it changes what a call draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternative: Option<Alternative>,
}

/// The other reading of a flag, as the change that it makes to a meter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// The other answer.
    pub reading: String,
    /// Weights that are different at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<Changed>,
    /// Weights that are different at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settlement: Option<Changed>,
    /// `max_tokens` is weighed at the start as output is at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub max_output_as_output: bool,
    /// Whether a refused attempt draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// What an unset `max_tokens` is admitted at, tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unset_max_output: Option<u64>,
    /// Limits that do not exist, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// Weights that take the place of a stage's, in every measure that counts that side of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// Of input read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Weight>,
    /// Of input written to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Weight>,
    /// Of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Weight>,
    /// Of `max_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<Weight>,
}

impl Alternative {
    /// The meter as this reading has it.
    pub(crate) fn applied(&self, meter: &Meter) -> Meter {
        let mut other = meter.clone();
        for (stage, changed) in
            [(&mut other.admission, self.admission), (&mut other.settlement, self.settlement)]
        {
            if let Some(changed) = changed {
                stage.all_mut().for_each(|weights| changed.apply(weights));
            }
        }
        if self.max_output_as_output {
            as_output(&mut other.admission, &meter.settlement);
        }
        other.refused = self.refused.unwrap_or(other.refused);
        other
    }

    /// Whether it says anything.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self { reading: self.reading.clone(), ..Self::default() }
    }
}

impl Changed {
    fn apply(self, weights: &mut Weights) {
        if !weights.input_uncached.is_zero() {
            weights.cache_read = self.cache_read.unwrap_or(weights.cache_read);
            weights.cache_write = self.cache_write.unwrap_or(weights.cache_write);
        }
        if !weights.output.is_zero() {
            weights.output = self.output.unwrap_or(weights.output);
        }
        if !weights.max_output.is_zero() {
            weights.max_output = self.max_output.unwrap_or(weights.max_output);
        }
    }
}

/// Weighs `max_tokens` of each measure as `settled` weighs output.
fn as_output(start: &mut Stage, settled: &Stage) {
    let output = |weights: &Option<Weights>| weights.as_ref().map(|weights| weights.output);
    for (weights, output) in [
        (&mut start.input_tokens, output(&settled.input_tokens)),
        (&mut start.output_tokens, output(&settled.output_tokens)),
        (&mut start.tokens, output(&settled.tokens)),
    ] {
        if let (Some(weights), Some(output)) = (weights, output)
            && !weights.max_output.is_zero()
        {
            weights.max_output = output;
        }
    }
}
