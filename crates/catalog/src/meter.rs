//! What one call costs a limit: when it is admitted, and when it is settled.
//!
//! Leaves the limits themselves to [`crate::Dimension`] and money to [`crate::TokenPrice`].
//! Invariants: the same call gives the same draw whatever the order; a stage that does not count a
//! measure draws 0 of it; what is released is admission less settlement, never below 0.

use serde::{Deserialize, Serialize};

use crate::{Call, Metered, Stage, exact::Weight};

/// A provider's rule for what calls draw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Other weights above a size of input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContext>,
    /// What every weight is multiplied by where inference is held within the United States.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub us_only: Option<Weight>,
}

/// How input and `max_tokens` make the admission charge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// Both are added.
    #[default]
    Sum,
    /// The larger counts.
    Max,
}

/// What an unset `max_tokens` is admitted at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// It does.
    Counted,
    /// It does not.
    Free,
    /// No source tells; it is taken to count, which asks for more.
    Unknown,
}

/// Weights of calls whose whole input is larger than a threshold. A stage that is absent stays as it is
/// for short ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongContext {
    /// Input tokens of every kind; a call with more is long.
    pub above: u64,
    /// Weights at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<Stage>,
    /// Weights at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settlement: Option<Stage>,
}

impl Meter {
    /// What `call` draws; `model_maximum` is the model's own limit on output, where known.
    pub fn meter(&self, call: &Call, model_maximum: Option<u64>) -> Metered {
        if call.is_refused() && self.refused == Refused::Free {
            return Metered::default();
        }
        let long = self.long_context.as_ref().filter(|long| call.input() > long.above);
        let at_start = long.and_then(|long| long.admission.as_ref()).unwrap_or(&self.admission);
        let at_end = long.and_then(|long| long.settlement.as_ref()).unwrap_or(&self.settlement);
        let factor = self.us_only.filter(|_| call.us_only).unwrap_or(Weight::ONE);
        let max_output = call.max_output.or_else(|| self.unset(model_maximum));
        let reserves_output = at_start.all().any(|weights| !weights.max_output.is_zero());
        let admission = at_start.draw(call, max_output.unwrap_or(call.output), self.combine, factor);
        let settlement = at_end.draw(call, 0, Combine::Sum, factor);
        Metered {
            admission,
            settlement,
            released: admission.less(&settlement),
            lower_bound: reserves_output && max_output.is_none(),
            long_context: long.is_some(),
        }
    }

    /// What an unset `max_tokens` is admitted at; none where nobody knows.
    pub(crate) fn unset(&self, model_maximum: Option<u64>) -> Option<u64> {
        match self.unset_max_output {
            UnsetMaxOutput::ModelMaximum => model_maximum,
            UnsetMaxOutput::Zero => Some(0),
            UnsetMaxOutput::Unknown => None,
        }
    }

    /// What is wrong with it, if anything: the path of the field and why.
    pub(crate) fn fault(&self) -> Option<(&'static str, &'static str)> {
        let long = self.long_context.as_ref();
        let starts = [Some(&self.admission), long.and_then(|long| long.admission.as_ref())];
        let ends = [Some(&self.settlement), long.and_then(|long| long.settlement.as_ref())];
        if starts.into_iter().flatten().flat_map(Stage::all).any(|weights| weights.known_late()) {
            Some(("admission", "a call that starts has no output yet; weigh `max_output`"))
        } else if ends.into_iter().flatten().flat_map(Stage::all).any(|weights| !weights.max_output.is_zero())
        {
            Some(("settlement", "a call that ended is not charged by `max_output`; weigh `output`"))
        } else if long.is_some_and(|long| long.above == 0) {
            Some(("long_context", "`above` is 1 or more"))
        } else {
            None
        }
    }
}
