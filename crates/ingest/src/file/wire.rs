//! Protobuf files, taken apart without decoding them.
//!
//! A trace request is a sequence of resource spans, and a logs request is shaped alike, so a large file is
//! cut between them into smaller requests; what is in them is the decoder's.

use std::io::{self, BufRead, Read};

/// Most bytes of one resource's spans, or of one delimited request.
pub(super) const MAX_MESSAGE: usize = 128 << 20;

/// What is wrong with a protobuf file.
#[derive(Debug)]
pub(super) enum WireError {
    Read(io::Error),
    Broken(&'static str),
    TooLarge,
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Self::Broken("it is cut")
        } else {
            Self::Read(error)
        }
    }
}

/// Appends the next resource's spans, as a request of its own, to `request`. `false` at the end.
pub(super) fn next_resource(reader: &mut impl BufRead, request: &mut Vec<u8>) -> Result<bool, WireError> {
    loop {
        if reader.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let tag = varint(reader)?;
        match (tag >> 3, tag & 7) {
            (0, _) => return Err(WireError::Broken("a field has number 0")),
            (1, 2) => {
                let length = length(varint(reader)?)?;
                request.push(0x0a);
                push_varint(request, length as u64);
                copy(reader, length, request)?;
                return Ok(true);
            }
            (_, 0) => {
                varint(reader)?;
            }
            (_, 1) => skip(reader, 8)?,
            (_, 2) => {
                let length = varint(reader)?;
                skip(reader, length)?;
            }
            (_, 5) => skip(reader, 4)?,
            _ => return Err(WireError::Broken("a field has an unknown type")),
        }
    }
}

/// The next request behind its length in four bytes, the most significant first.
pub(super) fn next_delimited(reader: &mut impl BufRead) -> Result<Option<Vec<u8>>, WireError> {
    if reader.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut head = [0; 4];
    reader.read_exact(&mut head)?;
    let length = length(u64::from(u32::from_be_bytes(head)))?;
    let mut request = Vec::with_capacity(length.min(1 << 20));
    copy(reader, length, &mut request)?;
    Ok(Some(request))
}

fn length(length: u64) -> Result<usize, WireError> {
    usize::try_from(length).ok().filter(|length| *length <= MAX_MESSAGE).ok_or(WireError::TooLarge)
}

fn copy(reader: &mut impl BufRead, length: usize, into: &mut Vec<u8>) -> Result<(), WireError> {
    let copied = reader.by_ref().take(length as u64).read_to_end(into)?;
    if copied == length { Ok(()) } else { Err(WireError::Broken("it is cut")) }
}

fn skip(reader: &mut impl BufRead, length: u64) -> Result<(), WireError> {
    let skipped = io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
    if skipped == length { Ok(()) } else { Err(WireError::Broken("it is cut")) }
}

fn varint(reader: &mut impl BufRead) -> Result<u64, WireError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        reader.read_exact(&mut byte)?;
        value |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            return Ok(value);
        }
    }
    Err(WireError::Broken("a number has more than ten bytes"))
}

fn push_varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    into.push(value.to_le_bytes()[0]);
}
