//! Quality codes: what is odd about a span or a run, in a word that `runs.quality` shows.
//!
//! Codes on the spans that come in are passed on to the run; those below that assembly adds are
//! the rest. Four codes are read here as facts, since no column of `spans` holds them:
//! [`PENDING_SPAN`], [`LIFECYCLE_SPAN`], [`CACHE_HIT`] and [`USAGE_ESTIMATED`].

/// Read: a record of a span that has not ended (Logfire). It is no span of its own.
pub const PENDING_SPAN: &str = "pending_span";
/// Read: an event dressed as a span (BeeAI's `.success`, `.finish`).
pub const LIFECYCLE_SPAN: &str = "lifecycle_span";
/// Read: the framework's own cache answered; no provider was asked.
pub const CACHE_HIT: &str = "cache_hit";
/// Read: the client counted the tokens itself.
pub const USAGE_ESTIMATED: &str = "usage_estimated";

/// Two different spans under one id.
pub const SPAN_ID_CONFLICT: &str = "span_id_conflict";
/// A span is its own ancestor.
pub const PARENT_CYCLE: &str = "parent_cycle";
/// A parent has not been seen.
pub const PARENT_MISSING: &str = "parent_missing";
/// Two instrumentations may have recorded one call; both stand.
pub const POSSIBLE_DOUBLE_INSTRUMENTATION: &str = "possible_double_instrumentation";
/// A provider's id of an answer stands on several calls that look apart.
pub const RESPONSE_ID_REPEATED: &str = "response_id_repeated";
/// A successful call told no token counts.
pub const USAGE_MISSING: &str = "usage_missing";
/// A successful call told zero tokens, which no call can use.
pub const ZERO_USAGE: &str = "zero_usage";
/// An agent's or workflow's total stands in for its calls.
pub const USAGE_AGGREGATE: &str = "usage_aggregate";
/// The client does not show its requests one by one.
pub const ATTEMPTS_UNKNOWN: &str = "attempts_unknown";
/// The client told how often it resent, but not what was answered.
pub const ATTEMPT_DETAIL_MISSING: &str = "attempt_detail_missing";
/// A count of resends too large to be one.
pub const RETRIES_IMPLAUSIBLE: &str = "retries_implausible";
/// A call was read as the retry of one that failed in an earlier, like-named step.
pub const RETRY_ASSUMED: &str = "retry_assumed";
/// A time to first token that is not positive, past the end, or just the duration.
pub const BAD_TTFT: &str = "bad_ttft";
/// An output was cut by its cap.
pub const OUTPUT_TRUNCATED: &str = "output_truncated";
/// Models asked for tools, or may have, and no span shows an execution.
pub const TOOLS_NOT_TRACED: &str = "tools_not_traced";
/// An agent ran, and no span shows its model calls.
pub const CALLS_NOT_TRACED: &str = "calls_not_traced";
/// A call of a framework that never reached the client library was read as an answer of its cache.
pub const CACHE_ASSUMED: &str = "cache_assumed";
/// Logs tell of the calls that spans tell of, too; the logs count.
pub const LOGS_PREFERRED: &str = "logs_preferred";
