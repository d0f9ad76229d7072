//! Decompression with a limit: what a body may grow to, and what it may take on the way there.
//!
//! Invariant: no more memory is taken than the limit and one step, whatever the compressed bytes say.

use std::io::{self, Read};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;

use crate::budget::{Exhausted, Reservation};

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// As it is.
    Identity,
    /// One gzip member or several.
    Gzip,
    /// One Zstandard frame or several.
    Zstd,
}

/// A body that could not be decompressed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InflateError {
    /// It grows past the limit.
    #[error("the body is larger than {0} bytes once decompressed: send it in smaller batches")]
    TooLarge(usize),
    /// It is not what its header says.
    #[error("the body cannot be decompressed: {0}")]
    Corrupt(io::Error),
    /// Other requests have the memory.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

/// The largest window that a Zstandard frame may ask for, as a power of two: 8 MiB, the most that
/// RFC 9659 lets a sender use over HTTP.
const ZSTD_WINDOW_LOG: u32 = 23;
/// The smallest step in which the output grows.
const STEP: usize = 64 << 10;

impl Coding {
    /// By the name that `Content-Encoding` and `grpc-encoding` use; `None` for one that isn't taken.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = name.trim();
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if name.is_empty() || is("identity") {
            Some(Self::Identity)
        } else if is("gzip") || is("x-gzip") {
            Some(Self::Gzip)
        } else if is("zstd") {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    /// The name that headers use; none for what isn't compressed.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// A reader of what was compressed.
    pub(crate) fn reader<'a>(
        self,
        compressed: impl io::BufRead + Send + 'a,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Self::Identity => Box::new(compressed),
            Self::Gzip => Box::new(MultiGzDecoder::new(compressed)),
            Self::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(compressed)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
        })
    }
}

/// Decompresses a body into memory that is first added to its reservation.
///
/// # Errors
/// The body grows past `limit` bytes, is damaged, or the memory is not to be had.
pub(crate) fn inflate(
    coding: Coding,
    body: &Bytes,
    limit: usize,
    held: &mut Reservation,
) -> Result<Bytes, InflateError> {
    if coding == Coding::Identity {
        return if body.len() > limit { Err(InflateError::TooLarge(limit)) } else { Ok(body.clone()) };
    }
    let mut reader = coding.reader(body.as_ref()).map_err(InflateError::Corrupt)?;
    let mut output = Vec::new();
    let mut filled = 0;
    loop {
        if filled == output.len() {
            // One byte past the limit is room enough to see that there is more.
            let step = filled.max(STEP).min(limit + 1 - filled);
            held.grow(step)?;
            output.reserve_exact(step);
            output.resize(filled + step, 0);
        }
        match reader.read(&mut output[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(InflateError::Corrupt(error)),
        }
        if filled > limit {
            return Err(InflateError::TooLarge(limit));
        }
    }
    output.truncate(filled);
    Ok(Bytes::from(output))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use std::io::Write;
    use std::sync::Arc;

    use super::*;
    use crate::budget::Budget;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn run(coding: Coding, body: Vec<u8>, limit: usize) -> Result<Bytes, InflateError> {
        let budget = Arc::new(Budget::new(1 << 30));
        inflate(coding, &Bytes::from(body), limit, &mut budget.take(0))
    }

    /// A message sent as two gzip members is one message: reading the first alone loses spans.
    #[test]
    fn concatenated_members_and_frames_are_read_to_the_end() {
        let members = [gzip(b"one "), gzip(b"message")].concat();
        assert_eq!(run(Coding::Gzip, members, 100).unwrap(), "one message");
        let frames =
            [zstd::encode_all(&b"one "[..], 1).unwrap(), zstd::encode_all(&b"message"[..], 1).unwrap()]
                .concat();
        assert_eq!(run(Coding::Zstd, frames, 100).unwrap(), "one message");
    }

    /// The limit is what a body may have, to the byte.
    #[test]
    fn the_limit_is_exact() {
        for size in [1, STEP - 1, STEP, STEP + 1, 300_000] {
            let body = vec![7; size];
            assert_eq!(run(Coding::Gzip, gzip(&body), size).unwrap().len(), size);
            assert!(matches!(run(Coding::Gzip, gzip(&body), size - 1), Err(InflateError::TooLarge(_))));
        }
    }

    /// A bomb takes no more than the limit and one step, and a frame's window cannot be used as one.
    #[test]
    fn a_bomb_is_cut_short() {
        let bomb = gzip(&vec![0; 32 << 20]);
        let budget = Arc::new(Budget::new(1 << 30));
        let mut held = budget.take(0);
        assert!(matches!(
            inflate(Coding::Gzip, &Bytes::from(bomb), 1 << 20, &mut held),
            Err(InflateError::TooLarge(_))
        ));
        assert!(budget.used() <= (1 << 20) + 1, "{}", budget.used());
        let mut wide = zstd::Encoder::new(Vec::new(), 1).unwrap();
        wide.window_log(27).unwrap();
        wide.write_all(b"x").unwrap();
        assert!(matches!(run(Coding::Zstd, wide.finish().unwrap(), 100), Err(InflateError::Corrupt(_))));
    }

    /// Damage is the sender's fault and said so, never taken for an end.
    #[test]
    fn a_broken_stream_is_an_error() {
        let mut body = gzip(b"a message that is cut");
        body.truncate(body.len() - 3);
        assert!(matches!(run(Coding::Gzip, body, 100), Err(InflateError::Corrupt(_))));
        assert!(matches!(run(Coding::Zstd, b"no frame".to_vec(), 100), Err(InflateError::Corrupt(_))));
    }
}
