//! Lines of bounded length.
//!
//! Invariant: a line over the limit is skipped, not kept and not split.

use std::io::{self, BufRead};

/// Most bytes of a line.
pub(super) const MAX_LINE: usize = 128 << 20;

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// The next line; `None` at the end.
pub(super) fn next(reader: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let bytes = match reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            let nothing = line.is_empty() && !too_long;
            return Ok(if nothing { None } else { Some(finished(line, too_long)) });
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = &bytes[..end.unwrap_or(bytes.len())];
        too_long |= line.len() + taken.len() > limit;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(taken);
        }
        let used = taken.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(finished(line, too_long)));
        }
    }
}

fn finished(mut line: Vec<u8>, too_long: bool) -> Line {
    if too_long {
        return Line::TooLong;
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Line::Whole(line)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;

    /// A line that is too long costs itself, not its neighbours.
    #[test]
    fn a_long_line_is_skipped_whole() {
        let mut text = &b"one\r\n0123456789\n\nlast"[..];
        let mut found = Vec::new();
        while let Some(line) = next(&mut text, 5).unwrap() {
            found.push(line);
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(found, [whole("one"), Line::TooLong, whole(""), whole("last")]);
    }
}
