//! The layout of a record and of a segment's head.
//!
//! ```text
//! segment   "PLIMSOLL" version:u32 zero:u32 first_seq:u64 zero:u32 crc32:u32     32 bytes
//! record    "PLJR" length:u32 crc32:u32 encoding:u8 coding:u8 signal:u8 zero:u8
//!           seq:u64 received_unix_micros:i64 body                               32 bytes and the body
//! ```
//! Integers are little-endian. Signal 0 is traces: older journals hold nothing else. A record's checksum
//! covers all that follows it, and starts from the segment's salt, so that neither a block of an older file nor a body that looks like a record is
//! taken for one.

use bytes::Bytes;
use crc32fast::Hasher;
use plimsoll_otlp::Encoding;

use crate::inflate::Coding;
use crate::signal::Kept;

/// Bytes of a record before its body.
pub(super) const RECORD_HEAD: usize = 32;
/// Bytes of a segment before its first record.
pub(super) const SEGMENT_HEAD: usize = 32;
/// How a record starts.
pub(super) const RECORD_MARK: [u8; 4] = *b"PLJR";
/// The version of this layout.
pub(super) const VERSION: u32 = 1;

const SEGMENT_MARK: [u8; 8] = *b"PLIMSOLL";

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Receipt, microseconds since 1970, UTC.
    pub received_unix_micros: i64,
    /// What the body carries.
    pub signal: Kept,
    /// How the body is written, once decompressed.
    pub encoding: Encoding,
    /// How the body is compressed.
    pub coding: Coding,
    /// The body as it came.
    pub body: Bytes,
}

/// An entry and its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Number in the log: one more than the record before it.
    pub seq: u64,
    /// What was kept.
    pub entry: Entry,
}

/// What a segment's checksums start from.
pub(super) fn salt(salt: &str, first_seq: u64) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(salt.as_bytes());
    hasher.update(&first_seq.to_le_bytes());
    hasher.finalize()
}

/// The bytes before a record's body.
pub(super) fn record_head(entry: &Entry, length: u32, seq: u64, salt: u32) -> [u8; RECORD_HEAD] {
    let mut head = [0; RECORD_HEAD];
    head[..4].copy_from_slice(&RECORD_MARK);
    head[4..8].copy_from_slice(&length.to_le_bytes());
    head[12] = match entry.encoding {
        Encoding::Protobuf => 0,
        Encoding::Json => 1,
    };
    head[13] = match entry.coding {
        Coding::Identity => 0,
        Coding::Gzip => 1,
        Coding::Zstd => 2,
    };
    head[14] = match entry.signal {
        Kept::Traces => 0,
        Kept::Logs => 1,
    };
    head[16..24].copy_from_slice(&seq.to_le_bytes());
    head[24..].copy_from_slice(&entry.received_unix_micros.to_le_bytes());
    let crc = checksum(&head, &entry.body, salt);
    head[8..12].copy_from_slice(&crc.to_le_bytes());
    head
}

/// The length and seq in a record's head, if it starts like one.
pub(super) fn peek(head: &[u8; RECORD_HEAD]) -> Option<(u32, u64)> {
    (head[..4] == RECORD_MARK).then(|| (u32_at(head, 4), u64_at(head, 16)))
}

/// When the record with this head was received, microseconds since 1970.
pub(super) fn received(head: &[u8; RECORD_HEAD]) -> i64 {
    u64_at(head, 24).cast_signed()
}

/// The record, if head and body belong together.
pub(super) fn parse(head: &[u8; RECORD_HEAD], body: Bytes, salt: u32) -> Option<Record> {
    if checksum(head, &body, salt) != u32_at(head, 8) {
        return None;
    }
    let encoding = match head[12] {
        0 => Encoding::Protobuf,
        1 => Encoding::Json,
        _ => return None,
    };
    let coding = match head[13] {
        0 => Coding::Identity,
        1 => Coding::Gzip,
        2 => Coding::Zstd,
        _ => return None,
    };
    let signal = match head[14] {
        0 => Kept::Traces,
        1 => Kept::Logs,
        _ => return None,
    };
    let received_unix_micros = received(head);
    let entry = Entry { received_unix_micros, signal, encoding, coding, body };
    Some(Record { seq: u64_at(head, 16), entry })
}

/// The bytes that a segment starts with.
pub(super) fn segment_head(first_seq: u64) -> [u8; SEGMENT_HEAD] {
    let mut head = [0; SEGMENT_HEAD];
    head[..8].copy_from_slice(&SEGMENT_MARK);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[16..24].copy_from_slice(&first_seq.to_le_bytes());
    let crc = crc32fast::hash(&head[..28]);
    head[28..].copy_from_slice(&crc.to_le_bytes());
    head
}

/// The version that a segment says it has; `None` where its head is damaged or was never written.
pub(super) fn segment_version(head: &[u8; SEGMENT_HEAD]) -> Option<u32> {
    let whole = head[..8] == SEGMENT_MARK && crc32fast::hash(&head[..28]) == u32_at(head, 28);
    whole.then(|| u32_at(head, 8))
}

fn checksum(head: &[u8; RECORD_HEAD], body: &[u8], salt: u32) -> u32 {
    let mut hasher = Hasher::new_with_initial(salt);
    hasher.update(&head[4..8]);
    hasher.update(&head[12..]);
    hasher.update(body);
    hasher.finalize()
}

fn u32_at(bytes: &[u8; 32], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8; 32], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of traces is laid out as it was before there were others, so that journals of either age
    /// are read; one of logs is told apart; one of a signal that nobody knows is no record.
    #[test]
    fn signals_of_records() {
        let head = |signal| {
            let body = Bytes::from_static(b"body");
            let entry = Entry {
                received_unix_micros: 1,
                signal,
                encoding: Encoding::Protobuf,
                coding: Coding::Identity,
                body,
            };
            record_head(&entry, 4, 9, 7)
        };
        let read = |head| parse(&head, Bytes::from_static(b"body"), 7).map(|record| record.entry.signal);
        assert_eq!(head(Kept::Traces)[12..16], [0; 4]);
        assert_eq!(read(head(Kept::Traces)), Some(Kept::Traces));
        assert_eq!(read(head(Kept::Logs)), Some(Kept::Logs));
        let mut unknown = head(Kept::Logs);
        unknown[14] = 9;
        let crc = checksum(&unknown, b"body", 7);
        unknown[8..12].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(read(unknown), None);
    }
}
