//! How a rate came about, put into words where it is told.
//!
//! A plan looks at a million rates and tells a few hundred. The invariant: the words are a clause that
//! begins with the figure.

use std::fmt;

use crate::quantity::Quantity;

/// How a rate came about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum How {
    /// In words.
    Told(String),
    /// The mean of the hour of the week, and the factors of growth as expected and at P95.
    Usual(Quantity, Option<(f64, f64)>),
}

impl From<String> for How {
    fn from(words: String) -> Self {
        Self::Told(words)
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(words) => f.write_str(words),
            Self::Usual(usual, growth) => {
                write!(f, "{usual} runs/min, the mean of that hour of the week in the history")?;
                match growth {
                    Some((point, high)) => write!(f, ", grown {point:.3} times ({high:.3} at P95)"),
                    None => Ok(()),
                }
            }
        }
    }
}
