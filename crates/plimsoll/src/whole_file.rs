//! A file that appears whole or not at all.
//!
//! It is written beside its place under a name of its own (`.NAME.partial`), synced, and only then
//! renamed. Invariant: under its name stands what was there before or the whole new file, at every
//! moment and after every crash; a failure leaves nothing behind, and what `kill -9` leaves is written
//! over by the next run.

use std::{
    fs::{self, File, TryLockError},
    io::{self, BufWriter, Write},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::failure::{self, Failure};

/// Writes a text that people own.
///
/// # Errors
/// As [`WholeFile::create`] and [`WholeFile::finish`].
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes()).map_err(failure::file(path))?;
    file.finish().map_err(failure::file(path))?;
    Ok(())
}

/// A file on its way to its name.
pub(crate) struct WholeFile {
    out: BufWriter<File>,
    partial: PathBuf,
    path: PathBuf,
    named: bool,
}

impl WholeFile {
    /// Starts a file that will stand at `path`.
    ///
    /// # Errors
    /// A folder that is not there or cannot be written, a name that is taken by something else than a
    /// file, or another process that is writing the same file.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        // A link keeps pointing at the file that is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if path.exists() && !path.is_file() {
            return Err(Failure::input(format!("{} is not a file: name one", path.display())));
        }
        let name = path
            .file_name()
            .ok_or_else(|| Failure::input(format!("{}: name a file", path.display())))?
            .to_string_lossy()
            .into_owned();
        let partial = path.with_file_name(format!(".{name}.partial"));
        let file = lone(&partial)?.ok_or_else(|| {
            Failure::input(format!("another command is writing {}: wait for it to end", path.display()))
        })?;
        let whole = Self { out: BufWriter::new(file), partial, path, named: false };
        whole.out.get_ref().set_len(0).map_err(failure::file(&whole.path))?;
        if let Ok(before) = fs::metadata(&whole.path) {
            let file = whole.out.get_ref();
            file.set_permissions(before.permissions()).map_err(failure::file(&whole.path))?;
        }
        Ok(whole)
    }

    /// Makes the file durable and gives it its name; returns its length in bytes.
    ///
    /// # Errors
    /// A disk that is full and the like; the name is as it was before.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        let file = self.out.get_ref();
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        fs::rename(&self.partial, &self.path)?;
        self.named = true;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(bytes)
    }
}

/// The file, if nobody else is writing it.
fn lone(partial: &Path) -> Result<Option<File>, Failure> {
    let options = File::options().write(true).create(true).truncate(false).open(partial);
    let file = options.map_err(failure::file(partial))?;
    // Where the disk knows no locks, two commands on one file are the user's to avoid.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Ok(None);
    }
    // Its writer may have ended between the two steps, and what was opened is its finished file.
    let named = fs::metadata(partial).and_then(|there| Ok(there.ino() == file.metadata()?.ino()));
    Ok(named.unwrap_or(false).then_some(file))
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.named {
            // A failure to remove it is mended by the next run, which writes over it.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> io::Result<Vec<String>> {
        let mut names: Vec<String> = fs::read_dir(folder)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<_>>()?;
        names.sort();
        Ok(names)
    }

    /// T36: what is dropped half-way leaves the old file and nothing else; what is finished replaces it
    /// whole; a leftover of `kill -9` is written over.
    #[test]
    fn whole_or_not_at_all() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("out.csv");
        let partial = folder.path().join(".out.csv.partial");
        fs::write(&path, "before")?;
        fs::write(&partial, "a leftover that is longer than what comes")?;
        let create = || WholeFile::create(&path).map_err(|_| io::Error::other("not created"));

        let mut dropped = create()?;
        dropped.write_all(b"half")?;
        dropped.flush()?;
        assert_eq!(fs::read_to_string(&path)?, "before");
        assert!(WholeFile::create(&path).is_err(), "two writers of one file");
        drop(dropped);
        assert_eq!(names(folder.path())?, ["out.csv"]);

        let mut whole = create()?;
        whole.write_all(b"after")?;
        assert_eq!(whole.finish()?, 5);
        assert_eq!(fs::read_to_string(&path)?, "after");
        assert_eq!(names(folder.path())?, ["out.csv"]);
        Ok(())
    }
}
