//! The journal's handle: open, read back, start, append, release, close.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::directory::{self, Directory};
use super::disk::{Disk, LocalDisk};
use super::error::{AppendError, JournalError};
use super::node;
use super::record::Entry;
use super::replay::Replay;
use super::segment::Sealed;
use super::writer::{Message, Then, Writer};

/// How the journal is kept.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// Its directory, for this process alone.
    pub directory: PathBuf,
    /// Bytes of a segment, taken on the disk when it is created.
    pub segment_bytes: u64,
    /// Bytes of records that may wait for the lake; past them nothing is taken.
    pub max_bytes: u64,
    /// How long a segment that the lake has wholly stored may stay before it is deleted.
    pub segment_age: Duration,
    /// How long a damaged segment is kept for its owner.
    pub damaged_age: Duration,
    /// How long the first request of a group waits for others to share its `fdatasync`.
    pub linger: Duration,
    /// Bytes at which a group stops waiting.
    pub group_bytes: usize,
    /// The file system, or what stands for it in a test.
    pub disk: Arc<dyn Disk>,
}

impl JournalOptions {
    /// The defaults: segments of 64 MiB, at most 4 GiB, deleted a minute old, damaged ones after 30 days;
    /// groups of 2 ms or 8 MiB.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            segment_bytes: 64 << 20,
            max_bytes: 4 << 30,
            segment_age: Duration::from_secs(60),
            damaged_age: Duration::from_secs(30 * 24 * 3600),
            linger: Duration::from_millis(2),
            group_bytes: 8 << 20,
            disk: Arc::new(LocalDisk),
        }
    }
}

/// A journal that is held and mended, and not yet written to.
#[derive(Debug)]
pub struct Opened {
    options: JournalOptions,
    directory: Directory,
    sealed: Vec<Sealed>,
    torn_bytes: u64,
}

/// What the handle and the writer share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Bytes of all segments' records.
    pub(super) bytes: AtomicU64,
    /// Their number.
    pub(super) segments: AtomicU64,
    /// When the oldest record was received that waits, microseconds since 1970; 0 where none does.
    pub(super) oldest: AtomicI64,
    /// The last seq that was given up.
    pub(super) released: AtomicU64,
    /// The last seq that was read back.
    pub(super) replayed: AtomicU64,
    /// Why nothing is taken any more.
    pub(super) stopped: OnceLock<String>,
    /// Segments that are set aside, not deleted.
    pub(super) damaged: Mutex<BTreeSet<PathBuf>>,
}

/// A running journal. Dropping it is what a crash would be; [`Journal::close`] is the clean end.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    node: node::Node,
    first_seq: u64,
    backlog: Vec<Sealed>,
    max_bytes: u64,
    shared: Arc<Shared>,
    sender: Sender<Message>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Journal {
    /// Takes the directory and cuts a torn tail.
    ///
    /// # Errors
    /// Another process has the directory, a newer program wrote it, or the file system refuses.
    pub fn open(options: JournalOptions) -> Result<Opened, JournalError> {
        let directory = Directory::open(&options.directory)?;
        let segments = directory.recover()?;
        Ok(Opened { options, directory, sealed: segments.sealed, torn_bytes: segments.torn_bytes })
    }

    /// Adds an entry. `then` is called once: with the entry's seq when it is durable, on the writer's
    /// thread and in the order of the log, or with an error when it is not kept. It must not block.
    pub fn append(&self, entry: Entry, then: impl FnOnce(Result<u64, AppendError>) + Send + 'static) {
        if self.is_full() {
            return then(Err(AppendError::Full(self.max_bytes)));
        }
        if let Err(mpsc::SendError(Message::Append(_, then))) =
            self.sender.send(Message::Append(entry, Then::new(then)))
        {
            then.call(Err(AppendError::Stopped(self.stopped().unwrap_or_default().to_owned())));
        }
    }

    /// Gives up what the lake has stored: all records up to and with `seq`.
    pub fn release(&self, seq: u64) {
        self.shared.released.fetch_max(seq, Ordering::Relaxed);
        // A closed journal has nothing to delete: its next opening asks the lake.
        let _closed = self.sender.send(Message::Release);
    }

    /// What a former process left behind `after`, to be stored before anything that is appended now.
    #[must_use]
    pub fn replay(&self, after: u64) -> Replay {
        let after = after.max(self.node.stored);
        Replay::new(self.node.salt.clone(), &self.backlog, after, Arc::clone(&self.shared))
    }

    /// Says that the lake holds a commit under this journal's name that this process did not make: `found`,
    /// where it should have held `held`. Unless it can be a former process's, whose answer came late, no
    /// later start takes the journal before its owner has decided what is to become of it.
    pub fn refuse(&self, held: u64, found: u64) {
        // A former process can have stored no more than it left here, and that is read back.
        if found < self.first_seq {
            return;
        }
        match node::refuse(&self.directory, held) {
            Ok(()) => {
                tracing::error!(directory = %self.directory.display(), "{}", JournalError::Shared(self.directory.clone()))
            }
            Err(error) => tracing::error!(%error, "the journal is shared, and that cannot be noted"),
        }
    }

    /// Whether a directory holds records for the lake; it need not be a journal's.
    #[must_use]
    pub fn holds_records(directory: &Path) -> bool {
        directory::holds_records(directory)
    }

    /// Keeps a segment under another name, `*.damaged`, where it would be deleted.
    pub fn set_aside(&self, segment: &Path) {
        let mut damaged = self.shared.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        damaged.insert(segment.to_owned());
    }

    /// The node id.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node.id
    }

    /// Bytes of the records that wait to be released, with those beside them in their segments.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Segments on the disk.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.shared.segments.load(Ordering::Relaxed)
    }

    /// When the oldest record was received that waits to be released, microseconds since 1970; `None`
    /// where none waits.
    #[must_use]
    pub fn oldest_unix_micros(&self) -> Option<i64> {
        Some(self.shared.oldest.load(Ordering::Relaxed)).filter(|oldest| *oldest != 0)
    }

    /// Records of a former process that were neither read back nor released yet.
    #[must_use]
    pub fn unread(&self) -> u64 {
        let last = self.backlog.last().map_or(0, |segment| segment.last_seq);
        let done = |seq: &AtomicU64| seq.load(Ordering::Relaxed);
        last.saturating_sub(done(&self.shared.released).max(done(&self.shared.replayed)))
    }

    /// Whether the size cap is reached.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes() >= self.max_bytes
    }

    /// Why the journal takes nothing more until a restart; `None` while it is well.
    #[must_use]
    pub fn stopped(&self) -> Option<&str> {
        self.shared.stopped.get().map(String::as_str)
    }

    /// Ends the writer after what was appended before, deletes what was released, and lets the
    /// directory go.
    pub fn close(&self) {
        self.end(Message::Close);
    }

    /// Ends the writer as a crash would, with the segments as they are.
    pub fn abandon(&self) {
        self.end(Message::Abandon);
    }

    fn end(&self, message: Message) {
        let _ended = self.sender.send(message);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(_)) = writer.map(JoinHandle::join) {
            tracing::error!("the journal's writer has panicked");
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Opened {
    /// The node id.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.directory.node().id
    }

    /// The journal's directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Bytes cut from the end, of a write that was never acknowledged.
    #[must_use]
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// Seq of the last record found; 0 where there is none.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.sealed.last().map_or(0, |segment| segment.last_seq)
    }

    /// Starts the writer. New seqs are above all that were found and above `stored`, the last that the
    /// lake knows: a journal that lost its files must not use a seq twice.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(self, stored: u64) -> Result<Journal, JournalError> {
        let node = self.directory.node().clone();
        let next_seq = self.last_seq().max(stored).max(node.stored) + 1;
        let path = self.directory.path().to_owned();
        let max_bytes = self.options.max_bytes;
        let shared = Arc::new(Shared { released: AtomicU64::new(node.stored), ..Shared::default() });
        let (sender, receiver) = mpsc::channel();
        let backlog = self.sealed.clone();
        let writer =
            Writer::new(receiver, self.options, self.directory, Arc::clone(&shared), self.sealed, next_seq);
        let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(move || writer.run());
        let thread = thread.map_err(JournalError::io("start the writer of", &path))?;
        Ok(Journal {
            directory: path,
            node,
            first_seq: next_seq,
            backlog,
            max_bytes,
            shared,
            sender,
            writer: Mutex::new(Some(thread)),
        })
    }
}
