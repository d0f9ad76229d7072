//! The change of a file as a patch that people read and `patch` applies.

use similar::TextDiff;

/// A unified diff from `old` to `new`, both under `name`; empty where nothing changes.
#[must_use]
pub fn patch(name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(3).header(&format!("a/{name}"), &format!("b/{name}")).to_string()
}
