//! The few file operations that the writer needs, so that tests can make each of them fail.
//!
//! Invariant: [`LocalDisk`] makes files that only their owner can read.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::FallocateFlags;

/// Where segments are kept.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Creates a file of `size` bytes that read as zero, with the space for them taken.
    ///
    /// # Errors
    /// The file exists, or the disk is full.
    fn create(&self, path: &Path, size: u64) -> io::Result<Box<dyn DiskFile>>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// As the system says.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// A segment that is being written.
pub trait DiskFile: fmt::Debug + Send {
    /// Writes all of `bytes` at an offset.
    ///
    /// # Errors
    /// As the system says; part of the bytes may have been written.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// `fdatasync`: what was written is durable when this returns.
    ///
    /// # Errors
    /// As the system says; what was written since the last success may be lost.
    fn sync(&self) -> io::Result<()>;

    /// Cuts the file to `size` bytes.
    ///
    /// # Errors
    /// As the system says.
    fn truncate(&self, size: u64) -> io::Result<()>;
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn create(&self, path: &Path, size: u64) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        // Space that is taken beforehand spares each fdatasync the file's new size, and a full disk
        // shows here, where nothing is lost yet.
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size) {
            Ok(()) => Ok(Box::new(file)),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                file.set_len(size)?;
                Ok(Box::new(file))
            }
            Err(error) => {
                drop(file);
                std::fs::remove_file(path)?;
                Err(error.into())
            }
        }
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

impl DiskFile for File {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }
}
