//! Reads back what a former process left, in the order of the log.
//!
//! Invariant: damage hides no whole record; it is handed out as an item, in its place.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::error::JournalError;
use super::log::Shared;
use super::record::Record;
use super::scan::{Found, Scanner};
use super::segment::Sealed;

/// Bytes of the journal that hold no record any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The segment; it is set aside as `*.damaged` once the rest of it is stored.
    pub segment: PathBuf,
    /// Offset of the first damaged byte.
    pub from: u64,
    /// Offset behind the last one.
    pub to: u64,
    /// The seq that the first damaged record had.
    pub seq: u64,
}

/// An item of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// A whole record.
    Record(Record),
    /// A stretch that is lost.
    Damaged(Damage),
}

/// The records after a seq, one segment open at a time and one record in memory.
#[derive(Debug)]
pub struct Replay {
    salt: String,
    segments: std::vec::IntoIter<Sealed>,
    current: Option<(Sealed, Scanner)>,
    last_seq: u64,
    shared: Arc<Shared>,
}

impl Replay {
    pub(super) fn new(salt: String, segments: &[Sealed], after: u64, shared: Arc<Shared>) -> Self {
        let left: Vec<_> = segments.iter().filter(|segment| segment.last_seq > after).cloned().collect();
        Self { salt, segments: left.into_iter(), current: None, last_seq: after, shared }
    }

    /// The segment of the record that was handed out last.
    #[must_use]
    pub fn segment(&self) -> Option<&Path> {
        self.current.as_ref().map(|(sealed, _)| sealed.path.as_path())
    }

    fn step(&mut self) -> Result<Option<Replayed>, JournalError> {
        loop {
            if self.current.is_none() {
                let Some(sealed) = self.segments.next() else { return Ok(None) };
                let scanner = Scanner::open(&sealed.path, &self.salt, sealed.first_seq)
                    .map_err(JournalError::io("open", &sealed.path))?;
                let whole = scanner.version().map_err(JournalError::io("read", &sealed.path))?.is_some();
                let damage = Damage { segment: sealed.path.clone(), from: 0, to: 0, seq: sealed.first_seq };
                self.current = Some((sealed, scanner));
                if !whole {
                    let to = super::record::SEGMENT_HEAD as u64;
                    return Ok(Some(Replayed::Damaged(Damage { to, ..damage })));
                }
            }
            let Some((sealed, scanner)) = &mut self.current else { continue };
            match scanner.next().map_err(JournalError::io("read", &sealed.path))? {
                Found::Record(record) => {
                    let new = record.seq > self.last_seq;
                    self.last_seq = self.last_seq.max(record.seq);
                    if new {
                        return Ok(Some(Replayed::Record(record)));
                    }
                }
                Found::Damaged { from, to } => {
                    let seq = self.last_seq.max(sealed.first_seq.saturating_sub(1)) + 1;
                    return Ok(Some(Replayed::Damaged(Damage {
                        segment: sealed.path.clone(),
                        from,
                        to,
                        seq,
                    })));
                }
                Found::End { at, .. } => {
                    // Records that the next segment's name promises and this one lacks are lost too.
                    let lost = self.last_seq.max(sealed.first_seq.saturating_sub(1)) < sealed.last_seq;
                    let damage = Damage {
                        segment: sealed.path.clone(),
                        from: at,
                        to: sealed.bytes.max(at),
                        seq: self.last_seq + 1,
                    };
                    self.last_seq = self.last_seq.max(sealed.last_seq);
                    self.current = None;
                    if lost {
                        return Ok(Some(Replayed::Damaged(damage)));
                    }
                }
            }
        }
    }
}

impl Iterator for Replay {
    type Item = Result<Replayed, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step().transpose();
        self.shared.replayed.fetch_max(self.last_seq, Ordering::Relaxed);
        item
    }
}
