//! Dead letters among the lines of a file: the body that once came, for a decoder that may do better now.
//!
//! What the letter says of the body is taken at its word; what it does not say, the body shows. Where the
//! letter came from and why it died is not looked at.

use std::sync::Arc;

use plimsoll_otlp::Encoding;

use super::bodies::{Body, MAX_DOCUMENT};
use crate::budget::Budget;
use crate::dead_letter::{Letter, START};
use crate::inflate::{Coding, inflate};
use crate::signal::{sniff, speaks_of};

/// Whether a line is a dead letter, by its first key.
pub(super) fn is_letter(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(START)
}

/// The body in a letter; the reason where there is none to decode.
pub(super) fn body(line: &[u8], through: u64) -> Result<Body, String> {
    let letter = Letter::from_line(line).map_err(|error| error.to_string())?;
    if letter.body.is_empty() {
        return Err("the dead letter has no body".to_owned());
    }
    let coding = letter.content_encoding.unwrap_or_default();
    let coding = Coding::from_name(&coding)
        .ok_or_else(|| format!("the dead letter's content-encoding `{coding}` is not known"))?;
    let mut held = Arc::new(Budget::new(usize::MAX)).take(0);
    let bytes = inflate(coding, &letter.body, MAX_DOCUMENT, &mut held).map_err(|error| error.to_string())?;
    let encoding = letter.encoding.unwrap_or_else(|| sniff(&bytes));
    let shown = || if encoding == Encoding::Json { speaks_of(&bytes) } else { None };
    let signal = letter.signal.or_else(shown);
    Ok(Body { bytes: Vec::from(bytes), encoding, signal, through, skippable: true })
}
