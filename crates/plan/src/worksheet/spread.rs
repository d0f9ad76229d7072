//! A figure that has three values: at P50, at P95 and at P99.
//!
//! Invariant: they never fall.

use serde::Deserialize;

use crate::quantity::Quantity;

/// Names of the percentiles, in the order of a [`Spread`].
pub const PERCENTILES: [&str; 3] = ["p50", "p95", "p99"];

/// One figure for all percentiles, or one for each.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a number of zero or more, or { p50 = .., p95 = .., p99 = .. }")]
pub enum Spread {
    /// The same at each.
    Same(Quantity),
    /// Its own at each.
    Each {
        /// Half are below.
        p50: Quantity,
        /// 95 in 100 are.
        p95: Quantity,
        /// 99 in 100 are.
        p99: Quantity,
    },
}

impl Default for Spread {
    fn default() -> Self {
        Self::Same(Quantity::zero())
    }
}

impl Spread {
    /// The figure at the percentile of that index in [`PERCENTILES`].
    pub fn at(&self, percentile: usize) -> &Quantity {
        match (self, percentile) {
            (Self::Same(value), _) | (Self::Each { p50: value, .. }, 0) => value,
            (Self::Each { p95, .. }, 1) => p95,
            (Self::Each { p99, .. }, _) => p99,
        }
    }

    /// Whether a higher percentile has a lower figure.
    pub(super) fn falls(&self) -> bool {
        matches!(self, Self::Each { p50, p95, p99 } if p50 > p95 || p95 > p99)
    }
}
