//! The journal's directory: who may read it, which process has it, which segments it holds.
//!
//! Invariant: while a [`Directory`] lives, no other process has one of the same path.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::error::JournalError;
use super::node::{Node, private};
use super::scan::{Found, Scanner};
use super::segment::{self, Sealed};
use super::{disk, record};

/// How the name of a segment ends that was damaged and is kept for its owner.
pub(super) const ASIDE: &str = "damaged";

/// A directory that this process holds.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    node: Node,
    /// Held for its lock, which the system takes back when the process ends.
    _lock: File,
}

/// The segments that were found.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) sealed: Vec<Sealed>,
    /// Bytes cut off the end of the last one: a write that was never acknowledged.
    pub(super) torn_bytes: u64,
}

impl Directory {
    /// Takes the directory, making it and its node id where they are missing.
    pub(super) fn open(path: &Path) -> Result<Self, JournalError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(JournalError::io("create", path))?;
        fs::set_permissions(path, Permissions::from_mode(0o700))
            .map_err(JournalError::io("protect", path))?;
        let lock_path = path.join("lock");
        let lock = private(&lock_path, false).map_err(JournalError::io("open", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => return Err(JournalError::io("lock", lock_path)(source)),
        }
        let node = Node::open(path)?;
        Ok(Self { path: path.to_owned(), node, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whose it is.
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Finds the segments in the order of the log, cuts the last one behind its last whole record,
    /// and removes those that hold none.
    pub(super) fn recover(&self) -> Result<Segments, JournalError> {
        let mut firsts = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(JournalError::io("list", &self.path))? {
            let entry = entry.map_err(JournalError::io("list", &self.path))?;
            firsts.extend(entry.file_name().to_str().and_then(segment::first_seq));
        }
        firsts.sort_unstable();
        let mut found = Segments { sealed: Vec::new(), torn_bytes: 0 };
        for (index, &first_seq) in firsts.iter().enumerate() {
            let sealed = match firsts.get(index + 1) {
                Some(next) => self.sealed(first_seq, next - 1)?,
                None => self.cut(first_seq, &mut found.torn_bytes)?,
            };
            if sealed.last_seq >= sealed.first_seq {
                found.sealed.push(sealed);
            } else {
                fs::remove_file(&sealed.path).map_err(JournalError::io("remove", &sealed.path))?;
            }
        }
        disk::Disk::sync_directory(&disk::LocalDisk, &self.path)
            .map_err(JournalError::io("sync", &self.path))?;
        Ok(found)
    }

    fn sealed(&self, first_seq: u64, last_seq: u64) -> Result<Sealed, JournalError> {
        let path = self.path.join(segment::file_name(first_seq));
        let scanner = self.scanner(&path, first_seq)?;
        let received = scanner.first_received().map_err(JournalError::io("read", &path))?;
        let bytes = fs::metadata(&path).map_err(JournalError::io("read", &path))?.len();
        Ok(Sealed { path, first_seq, last_seq, bytes, received })
    }

    fn cut(&self, first_seq: u64, torn_bytes: &mut u64) -> Result<Sealed, JournalError> {
        let path = self.path.join(segment::file_name(first_seq));
        let mut scanner = self.scanner(&path, first_seq)?;
        let received = scanner.first_received().map_err(JournalError::io("read", &path))?;
        let mut last_seq = first_seq.saturating_sub(1);
        let (end, torn) = loop {
            match scanner.next().map_err(JournalError::io("read", &path))? {
                Found::Record(record) => last_seq = record.seq,
                Found::Damaged { .. } => {}
                Found::End { at, torn } => break (at, torn),
            }
        };
        let file = OpenOptions::new().write(true).open(&path).map_err(JournalError::io("open", &path))?;
        let before = file.metadata().map_err(JournalError::io("read", &path))?.len();
        if torn {
            *torn_bytes += before - end;
        }
        file.set_len(end).and_then(|()| file.sync_all()).map_err(JournalError::io("cut", &path))?;
        Ok(Sealed { path, first_seq, last_seq, bytes: end, received })
    }

    /// Deletes what was set aside for longer than `age`: bodies are other people's prompts.
    pub(super) fn expire(&self, age: Duration) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let set_aside = Path::new(&entry.file_name()).extension().is_some_and(|end| end == ASIDE);
            let changed = entry.metadata()?.modified()?;
            if set_aside && SystemTime::now().duration_since(changed).is_ok_and(|found| found >= age) {
                fs::remove_file(entry.path())?;
                tracing::info!(path = %entry.path().display(), "a damaged journal segment has expired");
            }
        }
        Ok(())
    }

    /// Opens a segment, refusing one of a version that this program doesn't know.
    fn scanner(&self, path: &Path, first_seq: u64) -> Result<Scanner, JournalError> {
        let scanner =
            Scanner::open(path, &self.node.salt, first_seq).map_err(JournalError::io("open", path))?;
        match scanner.version().map_err(JournalError::io("read", path))? {
            Some(version) if version != record::VERSION => {
                Err(JournalError::Newer { path: path.to_owned(), version })
            }
            _ => Ok(scanner),
        }
    }
}

/// Whether a directory holds records that are not in the lake yet, as far as the files tell: those of a
/// journal that was emptied and closed are gone.
pub(super) fn holds_records(path: &Path) -> bool {
    let names = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.into_iter().any(|name| name.to_str().and_then(segment::first_seq).is_some())
}
