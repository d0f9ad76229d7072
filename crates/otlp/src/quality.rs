//! The codes of the column `quality`: what is odd about a span that is stored all the same.

/// Text that was not UTF-8; the bad bytes are U+FFFD now.
pub(crate) const UTF8_REPLACED: &str = "utf8_replaced";
/// A number that is none, is negative, has a fraction where there is none, or is out of all reason; it
/// is null, never zero.
pub(crate) const BAD_NUMBER: &str = "bad_number";
/// The end is before the start; the duration is null.
pub(crate) const NEGATIVE_DURATION: &str = "negative_duration";
/// The span has no end; the duration is null.
pub(crate) const NO_END: &str = "no_end";
/// A log record doesn't say how long the call took that it tells of; its time, the call's end, stands as
/// the start, and the duration is null.
pub(crate) const NO_DURATION: &str = "no_duration";
/// A column's text was cut.
pub(crate) const TRUNCATED: &str = "truncated";
/// The sender, or the bounds here, left attributes off: usage may be among them.
pub(crate) const ATTRIBUTES_DROPPED: &str = "attributes_dropped";
/// The sender samples: this span stands for others too.
pub(crate) const SAMPLED: &str = "sampled";
/// The parent's id is not eight bytes; the span is taken for a root.
pub(crate) const BAD_PARENT_ID: &str = "bad_parent_id";
/// The token counts contradict what is known of the dialect; the split of the input is null.
pub(crate) const DIALECT_MISMATCH: &str = "dialect_mismatch";
/// A count is one that the client is known to get wrong; where it is far off it is null.
pub(crate) const MISREPORTED: &str = "misreported";
/// A model call says that it used no token at all, which means that the client did not know.
pub(crate) const ZERO_USAGE: &str = "zero_usage";
/// A time to the first token that is none: not positive, past the span's end, or all of its duration.
pub(crate) const BAD_TTFT: &str = "bad_ttft";

/// The text that a count was looked for in is cut short before it; the count is null.
pub(crate) const JSON_CUT: &str = "json_cut";

/// Codes that dialect files give by `[[mark]]`; assembly reads them as facts.
const MARKS: [&str; 4] = [
    // A record of a span that has not ended yet; the span itself follows.
    "pending_span",
    // An event of a call, sent as a span beside that of the call.
    "lifecycle_span",
    // The framework's own cache answered, and no provider was asked.
    "cache_hit",
    // The client counted the tokens itself, by guess.
    "usage_estimated",
];

/// The code of that name which a mark may give.
///
/// # Errors
/// There is none; says which there are.
pub(crate) fn mark(name: &str) -> Result<&'static str, String> {
    let known = MARKS.into_iter().find(|mark| *mark == name);
    known.ok_or_else(|| format!("no mark `{name}`: write one of {}", MARKS.join(", ")))
}

/// The codes of one span, each once.
#[derive(Debug, Default, Clone)]
pub(crate) struct Quality {
    codes: Vec<&'static str>,
}

impl Quality {
    /// Begins another span, with the codes of what it shares with its neighbours.
    pub(crate) fn begin(&mut self, shared: &Self) {
        self.codes.clear();
        self.codes.extend(&shared.codes);
    }

    /// Adds a code.
    pub(crate) fn flag(&mut self, code: &'static str) {
        if !self.codes.contains(&code) {
            self.codes.push(code);
        }
    }

    /// The codes in alphabetical order.
    pub(crate) fn sorted(&mut self) -> &[&'static str] {
        self.codes.sort_unstable();
        &self.codes
    }
}
