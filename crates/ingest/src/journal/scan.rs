//! Reads one segment record by record, and finds its way past damage.
//!
//! Leaves to its callers what damage means: at the end of the last segment it is a write that the
//! process did not live to finish, anywhere else it is corruption.
//!
//! Invariant: every whole record of the file is found, whatever stands between them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;

use super::record::{self, RECORD_HEAD, RECORD_MARK, Record, SEGMENT_HEAD};

/// How much is read at a time while looking for the next whole record.
const WINDOW: usize = 1 << 20;

/// What stands next in a segment.
#[derive(Debug)]
pub(super) enum Found {
    /// A whole record.
    Record(Record),
    /// Bytes that are no record, with a whole record after them.
    Damaged { from: u64, to: u64 },
    /// No whole record follows.
    End {
        /// Where the last whole record ends.
        at: u64,
        /// Whether anything but zeros stands after it.
        torn: bool,
    },
}

/// A position in a segment.
#[derive(Debug)]
pub(super) struct Scanner {
    file: File,
    length: u64,
    at: u64,
    salt: u32,
    /// Seqs rise within a segment, so what is not above this is not its record.
    last_seq: u64,
}

impl Scanner {
    /// Starts before the first record.
    pub(super) fn open(path: &Path, salt: &str, first_seq: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self {
            file,
            length,
            at: SEGMENT_HEAD as u64,
            salt: record::salt(salt, first_seq),
            last_seq: first_seq.saturating_sub(1),
        })
    }

    /// The version in the segment's head; `None` where the head is damaged.
    pub(super) fn version(&self) -> io::Result<Option<u32>> {
        let mut head = [0; SEGMENT_HEAD];
        if self.length < SEGMENT_HEAD as u64 {
            return Ok(None);
        }
        self.file.read_exact_at(&mut head, 0)?;
        Ok(record::segment_version(&head))
    }

    /// When the first record was received, microseconds since 1970, as its head says; `None` where no head
    /// stands there.
    pub(super) fn first_received(&self) -> io::Result<Option<i64>> {
        let mut head = [0; RECORD_HEAD];
        if self.length < (SEGMENT_HEAD + RECORD_HEAD) as u64 {
            return Ok(None);
        }
        self.file.read_exact_at(&mut head, SEGMENT_HEAD as u64)?;
        Ok(record::peek(&head).map(|_| record::received(&head)))
    }

    /// What comes next. After damage, the record behind it; after the end, the end again.
    pub(super) fn next(&mut self) -> io::Result<Found> {
        if let Some(record) = self.record_at(self.at)? {
            self.at += (RECORD_HEAD + record.entry.body.len()) as u64;
            self.last_seq = record.seq;
            return Ok(Found::Record(record));
        }
        let from = self.at;
        let (next, torn) = self.search(from)?;
        Ok(match next {
            Some(to) => {
                self.at = to;
                Found::Damaged { from, to }
            }
            None => Found::End { at: from.min(self.length), torn },
        })
    }

    fn record_at(&self, at: u64) -> io::Result<Option<Record>> {
        let rest = self.length.saturating_sub(at);
        if rest < RECORD_HEAD as u64 {
            return Ok(None);
        }
        let mut head = [0; RECORD_HEAD];
        self.file.read_exact_at(&mut head, at)?;
        let Some((length, seq)) = record::peek(&head) else { return Ok(None) };
        if seq <= self.last_seq || u64::from(length) > rest - RECORD_HEAD as u64 {
            return Ok(None);
        }
        let mut body = vec![0; length as usize];
        self.file.read_exact_at(&mut body, at + RECORD_HEAD as u64)?;
        Ok(record::parse(&head, Bytes::from(body), self.salt))
    }

    /// The next whole record behind `from`, and whether anything but zeros stands from there on.
    fn search(&self, from: u64) -> io::Result<(Option<u64>, bool)> {
        let overlap = RECORD_MARK.len() - 1;
        let mut torn = false;
        let mut window = vec![0; WINDOW + overlap];
        let mut start = from;
        while start < self.length {
            let size = window.len().min(usize::try_from(self.length - start).unwrap_or(usize::MAX));
            let bytes = &mut window[..size];
            self.file.read_exact_at(bytes, start)?;
            torn |= bytes.iter().any(|byte| *byte != 0);
            for (offset, mark) in bytes.windows(RECORD_MARK.len()).enumerate() {
                let at = start + offset as u64;
                if *mark == RECORD_MARK && at > from && self.record_at(at)?.is_some() {
                    return Ok((Some(at), torn));
                }
            }
            start += WINDOW as u64;
        }
        Ok((None, torn))
    }
}
