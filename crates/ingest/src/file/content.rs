//! The content of a file: found, decompressed, hashed, and read again from its start.
//!
//! Invariant: both readings see the same bytes: standard input is kept in a temporary file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::error::FileError;
use super::options::FileInput;
use crate::inflate::Coding;

/// Large enough to hold the first line of most files, by which they are recognised.
const BUFFER: usize = 1 << 20;

/// An opened file.
#[derive(Debug)]
pub(super) struct Content {
    /// For messages.
    pub(super) name: String,
    /// For rows: the file's name without its folder and endings.
    pub(super) stem: String,
    pub(super) total_bytes: u64,
    file: File,
    coding: Coding,
    read: Arc<AtomicU64>,
}

/// The decompressed content.
pub(super) type Reader = BufReader<Box<dyn Read + Send>>;

impl Content {
    pub(super) fn open(input: &FileInput) -> Result<Self, FileError> {
        let (name, stem) = match input {
            FileInput::Path(path) => {
                let stem =
                    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                (path.display().to_string(), stem.split('.').next().unwrap_or_default().to_owned())
            }
            FileInput::Stdin => ("standard input".to_owned(), "stdin".to_owned()),
        };
        let failed = |source| FileError::Read { name: name.clone(), source };
        let mut file = match input {
            FileInput::Path(path) => File::open(path).map_err(failed)?,
            FileInput::Stdin => spool().map_err(failed)?,
        };
        let coding = coding(&mut file).map_err(failed)?;
        let total_bytes = file.metadata().map_err(failed)?.len();
        Ok(Self { name, stem, total_bytes, file, coding, read: Arc::default() })
    }

    /// SHA-256 of the decompressed content.
    pub(super) fn digest(&mut self) -> Result<[u8; 32], FileError> {
        let mut reader = self.reader()?;
        let mut hasher = Sha256::new();
        loop {
            let bytes = match reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.failed(error)),
            };
            if bytes.is_empty() {
                return Ok(hasher.finalize().into());
            }
            hasher.update(bytes);
            let used = bytes.len();
            reader.consume(used);
        }
    }

    /// The content from its start.
    pub(super) fn reader(&mut self) -> Result<Reader, FileError> {
        let opened = || -> io::Result<Reader> {
            let mut file = self.file.try_clone()?;
            file.rewind()?;
            self.read.store(0, Ordering::Relaxed);
            let counted = Counted { file, read: Arc::clone(&self.read) };
            let reader = self.coding.reader(BufReader::with_capacity(BUFFER, counted))?;
            Ok(BufReader::with_capacity(BUFFER, reader))
        };
        opened().map_err(|error| self.failed(error))
    }

    /// Bytes of the file that the last reader took.
    pub(super) fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(super) fn failed(&self, source: io::Error) -> FileError {
        FileError::Read { name: self.name.clone(), source }
    }
}

struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

fn spool() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    Ok(file)
}

/// By the first bytes: gzip's and Zstandard's magic numbers.
fn coding(file: &mut File) -> io::Result<Coding> {
    let mut magic = Vec::with_capacity(4);
    file.rewind()?;
    file.by_ref().take(4).read_to_end(&mut magic)?;
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Coding::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd] => Coding::Zstd,
        _ => Coding::Identity,
    })
}
