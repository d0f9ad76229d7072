//! Log records that tell of calls: what coding agents, and OpenTelemetry's GenAI events, say of the
//! requests that they made (facts/dialects.md par. 7.1, 7.2).
//!
//! A record that tells of a call becomes the span of that call. `names` finds what the event is called,
//! `ids` gives the span its ids, `place` brings both together; which events are calls, and what their
//! attributes mean, is told by dialect files and read by `rules`. Invariant: a record sent again is the
//! same span, and a record that tells of no call is counted and stored nowhere.

mod ids;
mod names;
mod place;

pub(crate) use place::tells_of_no_call;
