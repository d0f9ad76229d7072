//! What is asked of a pool, and what makes the question unanswerable.

use jiff::civil::Date;
use plimsoll_catalog::{PoolKey, ReadingError, TokenPrice};
use thiserror::Error;

use super::Shape;
use crate::quantity::Quantity;

/// Calls of one shape on one pool.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolDemand {
    /// The pool.
    pub pool: PoolKey,
    /// Day whose rules and prices are taken.
    pub as_of: Date,
    /// What a call looks like.
    pub shape: Shape,
    /// Calls a minute, mean: what money is reckoned with.
    pub calls_per_min: Quantity,
    /// The peak over the mean (1: none): what limits and units are reckoned with.
    pub peak_factor: Quantity,
    /// Added on top of the peak, as a share.
    pub headroom: Quantity,
    /// Calls that arrive at once, where units are enforced over a window.
    pub burst_calls: Option<Quantity>,
    /// Length of a call, seconds; without it concurrency is not known.
    pub service_seconds: Option<Quantity>,
    /// Limits to hold the need against, by dimension.
    pub limits: Vec<(String, Quantity)>,
    /// Units held today, one figure for each kind of unit that the pool is sold in.
    pub held: Vec<Quantity>,
    /// Price on demand that takes the place of the catalog's.
    pub price: Option<TokenPrice>,
}

/// Why a pool cannot be sized.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PoolSizeError {
    /// No row for the pool.
    #[error(transparent)]
    Pool(#[from] ReadingError),
    /// A share above 1.
    #[error("cache_rate is {0}: give the share of input that the cache serves, 0 to 1 or 0 % to 100 %")]
    CacheRate(Quantity),
    /// More output than `max_tokens` lets through.
    #[error(
        "output_tokens is {output}, above max_tokens {max}: a call never puts out more than its max_tokens"
    )]
    AboveMax {
        /// Output of a call.
        output: Quantity,
        /// Cap on it.
        max: Quantity,
    },
    /// Figures beyond 64 bits.
    #[error("the figures are too large or too finely divided to be counted exactly: give fewer digits")]
    TooLarge,
    /// A limit of another dimension.
    #[error("{pool} has no limit `{dimension}`; it has {known}")]
    Dimension {
        /// Pool.
        pool: PoolKey,
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
        pool: PoolKey,
        /// Figures given.
        given: usize,
        /// Kinds sold.
        sold: usize,
    },
}
