//! Rounds of jobs and readers, over a lake in memory and hand-made telemetry with known answers.

mod erasure;
mod figures;
mod growth;
mod memory;
mod retention;
mod rounds;
mod support;
mod torture;
mod upkeep;
