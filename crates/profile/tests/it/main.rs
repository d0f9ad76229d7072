//! Rounds of jobs and readers, over a lake in memory and hand-made telemetry with known answers.

mod figures;
mod rounds;
mod support;
mod torture;
