//! What the decoder promises, checked through its public face.
#![expect(clippy::unwrap_used, reason = "a test that can't go on should say so and stop")]

mod bad_input;
mod corpus;
mod dialects;
mod files;
mod forward;
mod json;
mod log_bodies;
mod logs;
mod rules;
mod support;
mod torture;
