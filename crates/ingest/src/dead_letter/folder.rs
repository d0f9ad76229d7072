//! A folder of dead letters: a file each, readable by the owner alone, gone when they are old or too many.
//!
//! Invariants: a file is there whole or not at all, and what [`Folder::keep`] has taken is durable. Files
//! that are no letters are left alone.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::letter::Letter;

/// The folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    max_age: Duration,
    max_bytes: u64,
    /// Its letters; none before it was first looked into.
    known: Mutex<Option<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// Bytes by age and name.
    files: BTreeMap<(SystemTime, String), u64>,
    bytes: u64,
}

impl Folder {
    pub(super) fn new(path: PathBuf, max_age: Duration, max_bytes: u64) -> Self {
        Self { path, max_age, max_bytes, known: Mutex::default() }
    }

    /// Writes letters; one that is there already is left as it is. Gives the number of letters that were
    /// deleted to make room. Blocks.
    ///
    /// # Errors
    /// The disk is full, and the like; some may be there then, and are met again.
    pub(super) fn keep(&self, letters: &[Letter]) -> io::Result<u64> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        let mut slot = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known(&mut slot)?;
        for letter in letters {
            let name = letter.file_name();
            if !self.path.join(&name).exists() {
                let line = letter.to_line()?;
                self.write(&name, &line)?;
                known.bytes += line.len() as u64;
                known.files.insert((SystemTime::now(), name), line.len() as u64);
            }
        }
        File::open(&self.path)?.sync_all()?;
        Ok(self.make_room(known))
    }

    /// Deletes what is too old or too much; gives how many letters that were. Blocks.
    ///
    /// # Errors
    /// The folder can't be read.
    pub(super) fn expire(&self) -> io::Result<u64> {
        if !self.path.exists() {
            return Ok(0);
        }
        let mut slot = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known(&mut slot)?;
        Ok(self.make_room(known))
    }

    fn write(&self, name: &str, line: &[u8]) -> io::Result<()> {
        let aside = self.path.join(format!("{name}.new"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
        file.write_all(line)?;
        file.sync_data()?;
        fs::rename(&aside, self.path.join(name))
    }

    fn known<'a>(&self, slot: &'a mut Option<Known>) -> io::Result<&'a mut Known> {
        let known = match slot.take() {
            Some(known) => known,
            None => self.look()?,
        };
        Ok(slot.insert(known))
    }

    /// The letters that former processes have left.
    fn look(&self) -> io::Result<Known> {
        let mut known = Known::default();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let metadata = entry.metadata()?;
            if is_letter(&name) {
                known.bytes += metadata.len();
                known.files.insert((metadata.modified()?, name), metadata.len());
            } else if name.strip_suffix(".new").is_some_and(is_letter) {
                remove(&entry.path());
            }
        }
        Ok(known)
    }

    fn make_room(&self, known: &mut Known) -> u64 {
        let mut gone = 0;
        while let Some(oldest) = known.files.first_entry() {
            let old = oldest.key().0.elapsed().is_ok_and(|age| age >= self.max_age);
            if !old && known.bytes <= self.max_bytes {
                break;
            }
            let ((_, name), bytes) = oldest.remove_entry();
            known.bytes -= bytes;
            gone += 1;
            remove(&self.path.join(&name));
            if !old {
                tracing::warn!(name, "a dead letter was deleted: the folder has its largest size");
            }
        }
        gone
    }
}

fn is_letter(name: &str) -> bool {
    (name.starts_with("kafka-") || name.starts_with("journal-")) && name.ends_with(".json")
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %path.display(), "a dead letter cannot be deleted");
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use std::os::unix::fs::PermissionsExt;

    use bytes::Bytes;

    use super::super::letter::Origin;
    use super::*;

    fn letter(seq: u64, size: usize) -> Letter {
        Letter {
            received: jiff::Timestamp::UNIX_EPOCH,
            from: Origin::Journal { node: "node".to_owned(), seq },
            reason: "it is a test".to_owned(),
            signal: None,
            encoding: None,
            content_encoding: None,
            headers: Vec::new(),
            key: None,
            body: Bytes::from(vec![7; size]),
        }
    }

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// What came may be private: only the owner can read it, and a letter that is written again is one.
    #[test]
    fn letters_are_private_and_written_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dead");
        let folder = Folder::new(path.clone(), Duration::from_secs(60), 1 << 20);
        folder.keep(&[letter(1, 10), letter(2, 10)]).unwrap();
        folder.keep(&[letter(2, 10)]).unwrap();
        assert_eq!(names(&path), ["journal-node-1.json", "journal-node-2.json"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("journal-node-1.json"))), (0o700, 0o600));
    }

    /// The folder is bounded by age and by size, the oldest go first, and other files stay.
    #[test]
    fn letters_expire() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        fs::write(path.join("notes.txt"), "mine").unwrap();
        fs::write(path.join("journal-node-9.json.new"), "torn").unwrap();
        let folder = Folder::new(path.clone(), Duration::from_secs(3600), 2500);
        let gone: u64 = (1..=4).map(|seq| folder.keep(&[letter(seq, 600)]).unwrap()).sum();
        assert_eq!(gone, 2);
        assert_eq!(names(&path), ["journal-node-3.json", "journal-node-4.json", "notes.txt"]);
        let later = Folder::new(path.clone(), Duration::ZERO, 2500);
        assert_eq!(later.expire().unwrap(), 2);
        assert_eq!(names(&path), ["notes.txt"]);
    }
}
