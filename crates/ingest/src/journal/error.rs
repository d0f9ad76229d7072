//! What can go wrong with the journal: on opening it, and on adding to it.

use std::io;
use std::path::PathBuf;

/// The journal directory can't be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process holds the directory's lock.
    #[error("the journal {0} is in use by another process: give each process a directory of its own")]
    InUse(PathBuf),
    /// A segment of a version that this program can't read.
    #[error(
        "{path} is of journal version {version}, newer than this program reads: start the program that wrote it, let it flush, and upgrade after that"
    )]
    Newer {
        /// The segment.
        path: PathBuf,
        /// The version that it says it has.
        version: u32,
    },
    /// The directory is a copy.
    #[error(
        "the journal {0} was copied from another one, whose spans it would hide or repeat: give this process \
         a directory of its own; if the original is gone for good, create the file {0}/adopt and start again"
    )]
    Copied(PathBuf),
    /// Another process has written to the lake in this journal's name.
    #[error(
        "another process has written to the lake in the name of the journal {0}, so that spans in it may be \
         in no lake: give each process a directory of its own; to store what is left here under a new name, \
         create the file {0}/adopt and start again"
    )]
    Shared(PathBuf),
    /// What says whose the directory is cannot be read.
    #[error("{0} is not what this program wrote: restore it, or move the whole journal directory away")]
    NodeId(PathBuf),
    /// The file system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl JournalError {
    /// For `map_err`: names the file and what was tried.
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

/// A record was not kept; its sender must be told to try again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The size cap is reached: the lake takes less than what comes in.
    #[error("the journal holds its {0} bytes: it drains as the lake stores them")]
    Full(u64),
    /// The disk took no more, or another write failed; a later one may succeed.
    #[error("the journal cannot be written: {0}")]
    Disk(String),
    /// The journal is closed, or an `fdatasync` failed: what a retry would report can't be trusted, so
    /// nothing is taken until a restart has read the log back.
    #[error("the journal has stopped: {0}")]
    Stopped(String),
}
