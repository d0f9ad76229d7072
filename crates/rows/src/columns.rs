//! What a row of a request trace can say, and by which names its columns are known.
//!
//! Invariant: a column that the user mapped is used for that field alone; without one, the first alias
//! of a field that the file has wins, compared without case and punctuation.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A field of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// Start of the call.
    Timestamp,
    /// End of the call.
    EndTime,
    /// Duration in milliseconds.
    DurationMs,
    /// Duration in seconds.
    DurationS,
    /// Time to the first token in milliseconds.
    TtftMs,
    /// Time to the first token in seconds.
    TtftS,
    /// Wait before dispatch in milliseconds.
    QueueWaitMs,
    /// Input tokens, cached ones included.
    InputTokens,
    /// Output tokens, reasoning included.
    OutputTokens,
    /// Input tokens read from a cache.
    CacheRead,
    /// Input tokens written to a cache.
    CacheWrite,
    /// Output tokens spent on reasoning.
    ReasoningTokens,
    /// The cap that the call asked for.
    MaxOutputTokens,
    /// Model asked for.
    Model,
    /// Model that answered.
    ResponseModel,
    /// Provider.
    Provider,
    /// Region that served.
    Region,
    /// `chat`, `embeddings` and the like; `chat` without it.
    Operation,
    /// Workflow; the source's name without it.
    Workflow,
    /// Step of the workflow.
    Step,
    /// Service; the source's name without it.
    Service,
    /// Tenant.
    Tenant,
    /// Request class.
    RequestClass,
    /// Tier, 0 to 3.
    Tier,
    /// Session or conversation.
    Session,
    /// User.
    User,
    /// The provider's id of the response.
    ResponseId,
    /// HTTP status, or `ok`, `error`.
    Status,
    /// What went wrong.
    ErrorType,
}

/// Each field, its name, and other names under which files have it.
const FIELDS: [(Field, &str, &[&str]); 29] = {
    use Field::*;
    [
        (
            Timestamp,
            "timestamp",
            &[
                "start_time",
                "start",
                "started_at",
                "time",
                "ts",
                "datetime",
                "created_at",
                "arrival_time",
                "arrived_at",
                "request_time",
            ],
        ),
        (EndTime, "end_time", &["end", "ended_at", "finished_at", "completed_at"]),
        (DurationMs, "duration_ms", &["latency_ms", "elapsed_ms", "response_time_ms", "latency", "duration"]),
        (
            DurationS,
            "duration_s",
            &[
                "latency_s",
                "latency_sec",
                "latency_seconds",
                "duration_seconds",
                "elapsed_seconds",
                "elapsed_time",
            ],
        ),
        (TtftMs, "ttft_ms", &["time_to_first_token_ms", "ttft", "time_to_first_token"]),
        (TtftS, "ttft_s", &["time_to_first_token_s", "ttft_seconds"]),
        (QueueWaitMs, "queue_wait_ms", &["queue_ms", "queue_time_ms"]),
        (
            InputTokens,
            "input_tokens",
            &[
                "context_tokens",
                "prompt_tokens",
                "request_tokens",
                "input_length",
                "prompt_length",
                "input_len",
                "num_prompt_tokens",
                "num_input_tokens",
                "tokens_in",
            ],
        ),
        (
            OutputTokens,
            "output_tokens",
            &[
                "generated_tokens",
                "completion_tokens",
                "response_tokens",
                "output_length",
                "output_len",
                "num_generated_tokens",
                "num_output_tokens",
                "tokens_out",
            ],
        ),
        (
            CacheRead,
            "cache_read",
            &["cache_read_tokens", "cache_read_input_tokens", "cached_tokens", "cached_input_tokens"],
        ),
        (
            CacheWrite,
            "cache_write",
            &["cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens"],
        ),
        (ReasoningTokens, "reasoning_tokens", &["thinking_tokens", "reasoning_output_tokens"]),
        (MaxOutputTokens, "max_output_tokens", &["max_tokens", "max_completion_tokens"]),
        (Model, "model", &["model_name", "model_id", "request_model", "deployment"]),
        (ResponseModel, "response_model", &[]),
        (Provider, "provider", &["provider_name", "system", "vendor"]),
        (Region, "region", &["location"]),
        (Operation, "operation", &["operation_name"]),
        (Workflow, "workflow", &["workflow_name", "agent", "agent_name", "application", "app", "use_case"]),
        (Step, "step", &["step_name", "node"]),
        (Service, "service", &["service_name"]),
        (Tenant, "tenant", &["tenant_id", "customer", "customer_id"]),
        (RequestClass, "request_class", &["class"]),
        (Tier, "tier", &[]),
        (Session, "session_id", &["session", "conversation_id", "chat_id"]),
        (User, "user_id", &["user"]),
        (ResponseId, "response_id", &[]),
        (Status, "status", &["http_status", "status_code"]),
        (ErrorType, "error_type", &["error", "error_code"]),
    ]
};

impl Field {
    /// All fields with their names and other names.
    pub fn all() -> impl Iterator<Item = (Self, &'static str, &'static [&'static str])> {
        FIELDS.into_iter()
    }

    /// The name by which it is mapped.
    #[must_use]
    pub fn name(self) -> &'static str {
        FIELDS.iter().find(|(field, ..)| *field == self).map_or("", |(_, name, _)| name)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Field {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = FIELDS.iter().find(|(_, known, _)| folded(known) == folded(name));
        found.map(|(field, ..)| *field).ok_or_else(|| {
            let known: Vec<_> = FIELDS.iter().map(|(_, known, _)| *known).collect();
            format!("no field is called `{name}`: use one of {}", known.join(", "))
        })
    }
}

/// Which column of a file fills which field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Position of each field's column.
    pub fields: BTreeMap<Field, usize>,
}

impl Layout {
    /// Finds the fields among a file's columns.
    ///
    /// # Errors
    /// The field of the first mapped column that is not there.
    pub fn find(columns: &[String], mapped: &BTreeMap<Field, String>) -> Result<Self, Field> {
        let mut fields = BTreeMap::new();
        for (field, wanted) in mapped {
            let at = columns.iter().position(|column| column == wanted);
            let at = at.or_else(|| columns.iter().position(|column| folded(column) == folded(wanted)));
            fields.insert(*field, at.ok_or(*field)?);
        }
        let known: Vec<String> = columns.iter().map(|column| folded(column)).collect();
        let taken: Vec<usize> = fields.values().copied().collect();
        for (field, name, aliases) in FIELDS {
            if fields.contains_key(&field) {
                continue;
            }
            let mut names = std::iter::once(&name).chain(aliases);
            let at = names.find_map(|name| known.iter().position(|column| *column == folded(name)));
            if let Some(at) = at.filter(|at| !taken.contains(at)) {
                fields.insert(field, at);
            }
        }
        Ok(Self { fields })
    }
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;

    fn columns(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// The public traces are read as they are.
    #[test]
    fn public_traces_are_recognised() {
        for names in [
            ["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
            ["timestamp", "input_length", "output_length"],
            ["Timestamp", "Request tokens", "Response tokens"],
        ] {
            let layout = Layout::find(&columns(&names), &BTreeMap::new()).unwrap();
            let expected =
                BTreeMap::from([(Field::Timestamp, 0), (Field::InputTokens, 1), (Field::OutputTokens, 2)]);
            assert_eq!(layout.fields, expected);
        }
    }

    /// A mapping takes its column away from the field that the name would have given it to.
    #[test]
    fn a_mapping_wins_over_names() {
        let mapped = BTreeMap::from([(Field::InputTokens, "output_tokens".to_owned())]);
        let layout = Layout::find(&columns(&["ts", "output_tokens"]), &mapped).unwrap();
        assert_eq!(layout.fields, BTreeMap::from([(Field::Timestamp, 0), (Field::InputTokens, 1)]));
        let missing = BTreeMap::from([(Field::Model, "engine".to_owned())]);
        assert_eq!(Layout::find(&columns(&["ts"]), &missing), Err(Field::Model));
    }

    /// Every field has one name, and no alias leads to two fields.
    #[test]
    fn names_are_unambiguous() {
        let mut seen = BTreeMap::new();
        for (field, name, aliases) in Field::all() {
            assert_eq!(name.parse(), Ok(field));
            for name in std::iter::once(&name).chain(aliases) {
                assert_eq!(seen.insert(folded(name), field), None, "{name}");
            }
        }
    }
}
