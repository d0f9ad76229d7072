//! Reserved units: what is held, how much of it is used, and what to do with it.
//!
//! A quota is sized from a high quantile of window maxima, a reservation from the load-duration curve of
//! the demand over its term (PLANNING, section 4): every count that is sold and every term on offer is held
//! against it, and the cheapest that covers the floors of tiers 0 and 1 is recommended, with what that costs
//! above the cheapest of all. The way through it: `group` says what one reservation is for, `demand` replays
//! what its units would carry, `curve` is the arithmetic of that, `prices` what units and tokens cost,
//! `search` looks at every count, `tell` puts it into words. The invariants: no price, no claim about cost; a
//! recommended count is one that the provider sells.

mod curve;
mod demand;
mod group;
mod measured;
mod offer;
mod prices;
mod row;
mod search;
mod tell;

pub(crate) use group::is_held;
pub use offer::break_even;
pub(crate) use row::reservations;
