//! What a demand needs of one pool: reserved units with their terms and break-even, or limits in the
//! pool's own dimensions with the grant that covers them; and in money.
//!
//! [`Shape`] says what one call looks like, [`Calls`] how many come, [`PoolDemand`] which share the pool;
//! [`size_pool`] answers.

mod answer;
mod demand;
mod make;
mod money;
mod shape;
mod units;

pub use answer::{
    BurstFit, Grant, HeldUnits, OnDemand, OtherReading, PoolSize, RateNeed, TermCost, UnitCount,
};
pub use demand::{Calls, PoolDemand, PoolSizeError};
pub use make::size_pool;
pub use shape::Shape;
pub use units::overage;
