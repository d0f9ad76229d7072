//! Whose journal a directory is: the id under which its spans stand in the lake, and what shows that the
//! directory, or the id, is no longer one process's alone.
//!
//! ```text
//! node      0b7c6ad2f1...     the id
//!           inode 1311        of this very file, which a copy does not have
//!           salt 0b7c6ad2...  what checksums start from: the first id that the directory had
//!           stored 20         records up to this one went to the lake under a former id
//! refused   held 20           another process has written to the lake under the id, past this record
//! adopt                       made by the directory's owner, who answers for it
//! ```
//! The device is not compared: a volume that is attached anew may get another. A copy of a whole volume
//! keeps the inode; what is left then is the lake, which stops the second writer, who leaves `refused`.
//!
//! A record past `stored` of which the lake's table `quarantine` took a part under the former id gives that
//! part again.
//!
//! Invariant: no start skips a record as stored because of a number that another process has written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::disk::{Disk, LocalDisk};
use super::error::JournalError;

const NODE: &str = "node";
const REFUSED: &str = "refused";
const ADOPT: &str = "adopt";

/// A directory's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) salt: String,
    /// Seq of the last record that went to the lake under a former id.
    pub(super) stored: u64,
}

/// What the file `node` says.
struct Written {
    node: Node,
    /// None where a version wrote it that did not look.
    inode: Option<u64>,
}

impl Node {
    /// Reads the identity of a directory, or gives it one.
    pub(super) fn open(directory: &Path) -> Result<Self, JournalError> {
        let path = directory.join(NODE);
        let adopted = directory.join(ADOPT).exists();
        let node = match read(&path)? {
            None => Self::new(),
            Some(Written { node, inode }) => {
                let found = fs::metadata(&path).map_err(JournalError::io("read", &path))?.ino();
                let copied = inode.is_some_and(|inode| inode != found);
                match refused(directory)? {
                    Some(_) if !adopted => return Err(JournalError::Shared(directory.to_owned())),
                    None if copied && !adopted => return Err(JournalError::Copied(directory.to_owned())),
                    Some(held) => node.renamed(held),
                    None if copied || inode.is_none() => node,
                    None => return Ok(node),
                }
            }
        };
        node.write(directory).map_err(JournalError::io("write", &path))?;
        // In this order: until the first is gone, the next start does all of this again.
        for name in [REFUSED, ADOPT] {
            let path = directory.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(JournalError::io("remove", path)(error));
                }
                _ => {}
            }
        }
        Ok(node)
    }

    fn new() -> Self {
        let id = uuid::Uuid::new_v4().simple().to_string();
        Self { salt: id.clone(), id, stored: 0 }
    }

    /// Another id for what the lake has not under the old one.
    fn renamed(self, held: u64) -> Self {
        Self { salt: self.salt, stored: self.stored.max(held), ..Self::new() }
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        put(directory, NODE, |inode| {
            format!("{}\ninode {inode}\nsalt {}\nstored {}\n", self.id, self.salt, self.stored)
        })
    }
}

/// Whose a directory is, looked at from outside; `None` where it is no journal.
pub(super) fn look(directory: &Path) -> Result<Option<Node>, JournalError> {
    Ok(read(&directory.join(NODE))?.map(|written| written.node))
}

/// Notes that another process writes under this directory's id: the lake holds our records up to `held`
/// and then another's.
pub(super) fn refuse(directory: &Path, held: u64) -> io::Result<()> {
    put(directory, REFUSED, |_| format!("held {held}\n"))
}

fn read(path: &Path) -> Result<Option<Written>, JournalError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(JournalError::io("read", path)(source)),
    };
    parse(&text).map(Some).ok_or_else(|| JournalError::NodeId(path.to_owned()))
}

fn parse(text: &str) -> Option<Written> {
    let id = |text: &str| {
        let good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        good.then(|| text.to_owned())
    };
    let mut lines = text.lines();
    let first = id(lines.next()?.trim())?;
    let node = Node { salt: first.clone(), id: first, stored: 0 };
    let mut written = Written { node, inode: None };
    for line in lines {
        match line.trim().split_once(' ')? {
            ("inode", inode) => written.inode = Some(inode.parse().ok()?),
            ("salt", salt) => written.node.salt = id(salt)?,
            ("stored", seq) => written.node.stored = seq.parse().ok()?,
            _ => return None,
        }
    }
    Some(written)
}

/// The last record of ours that the lake holds, where another process writes under the id.
fn refused(directory: &Path) -> Result<Option<u64>, JournalError> {
    let path = directory.join(REFUSED);
    match fs::read_to_string(&path) {
        Ok(text) => {
            let held = text.trim().strip_prefix("held ").and_then(|held| held.parse().ok());
            held.map(Some).ok_or(JournalError::NodeId(path))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(JournalError::io("read", path)(source)),
    }
}

/// Writes a small file aside and renames it, so that it is there whole or not at all. `text` is told the
/// file's inode, which the new name keeps.
fn put(directory: &Path, name: &str, text: impl FnOnce(u64) -> String) -> io::Result<()> {
    let aside = directory.join(format!("{name}.new"));
    let mut file = private(&aside, true)?;
    let text = text(file.metadata()?.ino());
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, directory.join(name))?;
    LocalDisk.sync_directory(directory)
}

/// Opens a file that only its owner can read.
pub(super) fn private(path: &Path, truncate: bool) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(truncate).mode(0o600).open(path)
}
