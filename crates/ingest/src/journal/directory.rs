//! The journal's directory: who may read it, which process has it, which node it belongs to.
//!
//! Invariant: while a [`Directory`] lives, no other process has one of the same path.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::scan::{Found, Scanner};
use super::segment::{self, Sealed};
use super::{disk, record};

/// A directory that this process holds.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    node: String,
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
        let node = node_id(path)?;
        Ok(Self { path: path.to_owned(), node, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The id that this journal's rows carry in the lake, stable for as long as the directory lives.
    pub(super) fn node(&self) -> &str {
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
        self.scanner(&path, first_seq)?;
        let bytes = fs::metadata(&path).map_err(JournalError::io("read", &path))?.len();
        Ok(Sealed { path, first_seq, last_seq, bytes })
    }

    fn cut(&self, first_seq: u64, torn_bytes: &mut u64) -> Result<Sealed, JournalError> {
        let path = self.path.join(segment::file_name(first_seq));
        let mut scanner = self.scanner(&path, first_seq)?;
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
        Ok(Sealed { path, first_seq, last_seq, bytes: end })
    }

    /// Opens a segment, refusing one of a version that this program doesn't know.
    fn scanner(&self, path: &Path, first_seq: u64) -> Result<Scanner, JournalError> {
        let scanner = Scanner::open(path, &self.node, first_seq).map_err(JournalError::io("open", path))?;
        match scanner.version().map_err(JournalError::io("read", path))? {
            Some(version) if version != record::VERSION => {
                Err(JournalError::Newer { path: path.to_owned(), version })
            }
            _ => Ok(scanner),
        }
    }
}

/// Reads the node id, or makes one; written aside and renamed, so that it is there whole or not at all.
fn node_id(directory: &Path) -> Result<String, JournalError> {
    let path = directory.join("node");
    match fs::read_to_string(&path) {
        Ok(text) => {
            let node = text.trim().to_owned();
            let good =
                !node.is_empty() && node.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            if good { Ok(node) } else { Err(JournalError::NodeId(path)) }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let node = uuid::Uuid::new_v4().simple().to_string();
            let aside = directory.join("node.new");
            let written = private(&aside, true)
                .and_then(|mut file| file.write_all(node.as_bytes()).and_then(|()| file.sync_all()))
                .and_then(|()| fs::rename(&aside, &path))
                .and_then(|()| disk::Disk::sync_directory(&disk::LocalDisk, directory));
            written.map_err(JournalError::io("write", &path))?;
            Ok(node)
        }
        Err(source) => Err(JournalError::io("read", path)(source)),
    }
}

fn private(path: &Path, truncate: bool) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(truncate).mode(0o600).open(path)
}
