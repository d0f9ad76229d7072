//! What happened, as OpenTelemetry spans.
//!
//! Names are those of the GenAI and HTTP conventions where they have one and `plimsoll.*` where they
//! do not. Invariant: no attribute holds content.

mod attributes;
mod batch;
mod ids;
mod model_call;
mod spans;

pub(crate) use batch::{Batch, Scope};
pub(crate) use ids::{span_id, trace_id};
pub(crate) use model_call::model_call;
pub(crate) use spans::{Retrieval, agent, retrieval, root, tool};
