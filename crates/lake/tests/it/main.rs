//! The lake as its users meet it: through the public API, on disk and in memory.

mod chaos;
mod commits;
mod crashes;
mod creation;
mod faults;
mod fixtures;
mod foreign;
mod growth;
mod round_trip;
mod storm;
mod upkeep;
mod verify;
