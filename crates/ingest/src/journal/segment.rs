//! The segment that is being written, and what is remembered of one that no longer is.
//!
//! Invariant: `end` is where the last record that was written whole ends; nothing behind it counts.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::disk::{Disk, DiskFile};
use super::record::{self, Entry, RECORD_HEAD, SEGMENT_HEAD};

/// A segment that no record is added to any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sealed {
    pub(super) path: PathBuf,
    pub(super) first_seq: u64,
    pub(super) last_seq: u64,
    /// Size of the file.
    pub(super) bytes: u64,
    /// When its first record was received, microseconds since 1970, as far as that can be read.
    pub(super) received: Option<i64>,
}

/// The segment that takes the next record.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    first_seq: u64,
    next_seq: u64,
    salt: u32,
    end: u64,
    capacity: u64,
    created: Instant,
    received: Option<i64>,
}

/// The bytes that a segment needs for one record with a body of `length` bytes.
pub(super) fn needed(length: usize) -> u64 {
    (SEGMENT_HEAD + RECORD_HEAD + length) as u64
}

/// A segment's file name: its first seq, so that names sort as the log does.
pub(super) fn file_name(first_seq: u64) -> String {
    format!("{first_seq:020}.segment")
}

/// The first seq of the segment with this file name.
pub(super) fn first_seq(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".segment")?;
    if digits.len() == 20 { digits.parse().ok() } else { None }
}

impl Segment {
    /// Creates the file, its name durable in its directory.
    pub(super) fn create(
        disk: &dyn Disk,
        directory: &Path,
        salt: &str,
        first_seq: u64,
        capacity: u64,
    ) -> io::Result<Self> {
        let path = directory.join(file_name(first_seq));
        let file = disk.create(&path, capacity)?;
        let ready = file
            .write_all_at(&record::segment_head(first_seq), 0)
            .and_then(|()| disk.sync_directory(directory));
        if let Err(error) = ready {
            // Without a record in it the file is worth nothing, and its name would be in the way of
            // the next attempt.
            std::fs::remove_file(&path)?;
            return Err(error);
        }
        Ok(Self {
            path,
            file,
            first_seq,
            next_seq: first_seq,
            salt: record::salt(salt, first_seq),
            end: SEGMENT_HEAD as u64,
            capacity,
            created: Instant::now(),
            received: None,
        })
    }

    /// Whether a body of `length` bytes still fits.
    pub(super) fn fits(&self, length: usize) -> bool {
        self.end + (RECORD_HEAD + length) as u64 <= self.capacity
    }

    /// Writes a record behind the last one and gives its seq. Not durable before [`Segment::sync`].
    pub(super) fn append(&mut self, entry: &Entry) -> io::Result<u64> {
        let length = u32::try_from(entry.body.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let seq = self.next_seq;
        let head = record::record_head(entry, length, seq, self.salt);
        self.file.write_all_at(&head, self.end)?;
        self.file.write_all_at(&entry.body, self.end + RECORD_HEAD as u64)?;
        self.end += RECORD_HEAD as u64 + u64::from(length);
        self.next_seq += 1;
        self.received.get_or_insert(entry.received_unix_micros);
        Ok(seq)
    }

    /// Makes all records durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Gives back the space that no record took, makes the rest durable and closes the file.
    pub(super) fn seal(self) -> io::Result<Sealed> {
        self.file.truncate(self.end)?;
        self.file.sync()?;
        Ok(Sealed {
            path: self.path,
            first_seq: self.first_seq,
            last_seq: self.next_seq - 1,
            bytes: self.end,
            received: self.received,
        })
    }

    /// Seq of the last record, or one below the first seq while there is none.
    pub(super) fn last_seq(&self) -> u64 {
        self.next_seq - 1
    }

    pub(super) fn first_seq(&self) -> u64 {
        self.first_seq
    }

    pub(super) fn bytes(&self) -> u64 {
        self.end
    }

    pub(super) fn created(&self) -> Instant {
        self.created
    }
}
