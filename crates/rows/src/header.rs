//! What the header of a CSV trace says: what stands between its cells, and the names in them.
//!
//! Invariant: any bytes have an answer; whether these are the columns of a trace is found by
//! [`crate::Layout`].

/// The one of comma, semicolon and tab that the first line has most of.
#[must_use]
pub fn delimiter(text: &[u8]) -> u8 {
    let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| header.iter().filter(|byte| **byte == delimiter).count();
    [b';', b'\t'].into_iter().fold(b',', |best, next| if count(next) > count(best) { next } else { best })
}

/// The name in a cell, without the byte order mark that some writers begin with.
#[must_use]
pub fn column_name(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).trim_start_matches('\u{feff}').trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header decides and not the rows behind it; names come without what spreadsheets put around them.
    #[test]
    fn headers_as_they_are_written() {
        assert_eq!(delimiter(b"time;tokens in, out;tier\n,,,,"), b';');
        assert_eq!(delimiter(b"time\ttokens"), b'\t');
        assert_eq!((delimiter(b"time"), delimiter(b"")), (b',', b','));
        assert_eq!(column_name("\u{feff} TIMESTAMP ".as_bytes()), "TIMESTAMP");
    }
}
