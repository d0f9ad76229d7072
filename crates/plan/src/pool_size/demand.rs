//! What is asked of a pool, and what makes the question unanswerable.

use jiff::civil::Date;
use plimsoll_catalog::{PoolKey, ReadingError, TokenPrice};
use thiserror::Error;

use super::Shape;
use crate::quantity::Quantity;

/// Calls on one pool.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolDemand {
    /// The pool.
    pub pool: PoolKey,
    /// Day whose rules and prices are taken.
    pub as_of: Date,
    /// Classes of calls that share the pool: one or more.
    pub calls: Vec<Calls>,
    /// The peak over the mean (1: none): what limits and units are reckoned with.
    pub peak_factor: Quantity,
    /// Added on top of the peak, as a share.
    pub headroom: Quantity,
    /// Calls that arrive at once, where units are enforced over a window.
    pub burst_calls: Option<Quantity>,
    /// Limits to hold the need against, by dimension.
    pub limits: Vec<(String, Quantity)>,
    /// Units held today, one figure for each kind of unit that the pool is sold in.
    pub held: Vec<Quantity>,
    /// Price on demand that takes the place of the catalog's.
    pub price: Option<TokenPrice>,
}

/// Calls of one shape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// What a call looks like.
    pub shape: Shape,
    /// Calls a minute, mean: what money is reckoned with.
    pub per_min: Quantity,
    /// Length of a call, seconds; without it concurrency is not known.
    pub service_seconds: Option<Quantity>,
}

impl PoolDemand {
    /// Calls a minute of all classes.
    pub(super) fn calls_per_min(&self) -> Quantity {
        self.calls.iter().map(|calls| calls.per_min.clone()).sum()
    }

    /// Calls in flight, mean, by Little's law; none where a class does not tell how long its calls are.
    pub(super) fn in_flight(&self) -> Option<Quantity> {
        let per_class = |calls: &Calls| (&calls.per_min * calls.service_seconds.as_ref()?).over(&60.into());
        self.calls.iter().map(per_class).sum()
    }

    /// The mean of something over all calls; where none come, over the classes.
    pub(super) fn mean(&self, values: impl IntoIterator<Item = Quantity>) -> Quantity {
        let total = self.calls_per_min();
        let even = total.is_zero();
        let weight = |calls: &Calls| if even { Quantity::one() } else { calls.per_min.clone() };
        let weights: Quantity = self.calls.iter().map(weight).sum();
        let sum: Quantity = self.calls.iter().zip(values).map(|(calls, value)| weight(calls) * value).sum();
        sum.over(&weights).unwrap_or_default()
    }
}

/// Why a pool cannot be sized.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PoolSizeError {
    /// No row for the pool.
    #[error(transparent)]
    Pool(Box<ReadingError>),
    /// A share above 1.
    #[error("cache_rate is {0}: give the share of input that the cache serves, 0 to 1 or 0 % to 100 %")]
    CacheRate(Quantity),
    /// More output than `max_tokens` lets through.
    #[error(
        "output_tokens is {output}, above max_tokens {max}: a call never puts out more than its max_tokens"
    )]
    AboveMax {
        /// Output of a call.
        output: String,
        /// Cap on it.
        max: String,
    },
    /// Figures beyond 64 bits.
    #[error("the figures are too large or too finely divided to be counted exactly: give fewer digits")]
    TooLarge,
    /// A limit of another dimension.
    #[error("{pool} has no limit `{dimension}`; it has {known}")]
    Dimension {
        /// Pool.
        pool: String,
        /// As asked for.
        dimension: String,
        /// What there is.
        known: String,
    },
    /// Held units where none are sold, or too many figures.
    #[error(
        "{given} figures of held units are given, and {pool} is sold in {sold} kinds of unit: give one figure for each"
    )]
    Held {
        /// Pool.
        pool: String,
        /// Figures given.
        given: usize,
        /// Kinds sold.
        sold: usize,
    },
}

impl From<ReadingError> for PoolSizeError {
    fn from(error: ReadingError) -> Self {
        Self::Pool(Box::new(error))
    }
}
