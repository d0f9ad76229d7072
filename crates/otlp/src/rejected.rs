//! Why spans were rejected, counted, for the answer's `partial_success`.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Reasons that are told apart; a body can hold any number of them.
const MAX_REASONS: usize = 8;

/// Rejected spans by reason.
#[derive(Debug, Default)]
pub(crate) struct Rejected {
    reasons: BTreeMap<String, u64>,
    spans: u64,
}

impl Rejected {
    pub(crate) fn add(&mut self, reason: String) {
        self.spans += 1;
        let known = self.reasons.len() < MAX_REASONS || self.reasons.contains_key(&reason);
        *self.reasons.entry(if known { reason } else { "other faults".to_owned() }).or_default() += 1;
    }

    /// Spans rejected.
    pub(crate) fn spans(&self) -> u64 {
        self.spans
    }

    /// The reasons with their counts of `what`, such as "span"; none where nothing was rejected.
    pub(crate) fn message(&self, what: &str) -> Option<String> {
        let mut message = String::new();
        for (reason, spans) in &self.reasons {
            let separator = if message.is_empty() { "" } else { "; " };
            let plural = if *spans == 1 { "" } else { "s" };
            // Writing to a string can't fail.
            write!(message, "{separator}{spans} {what}{plural} rejected: {reason}").unwrap_or_default();
        }
        (!message.is_empty()).then_some(message)
    }
}
