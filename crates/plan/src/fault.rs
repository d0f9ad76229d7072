//! Refusals of values that parse but cannot be planned with.

use crate::SpecError;

/// A refusal of a value at a key.
pub(crate) fn invalid(file: &str, key: impl Into<String>, problem: impl Into<String>) -> SpecError {
    SpecError::new(file, problem).field(key)
}
