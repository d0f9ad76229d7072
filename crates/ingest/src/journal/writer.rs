//! The thread that writes: groups of records, one `fdatasync` a group, then the acknowledgements.
//!
//! Invariant: an entry is acknowledged after a sync that followed its write, in the order of its seq.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::ages::Ages;
use super::directory::{ASIDE, Directory};
use super::error::AppendError;
use super::log::{JournalOptions, Shared};
use super::record::Entry;
use super::segment::{self, Sealed, Segment};

/// Between two looks for damaged segments that are old enough to be deleted.
const EXPIRE: Duration = Duration::from_secs(3600);

/// What the handle asks of the writer.
pub(super) enum Message {
    Append(Entry, Then),
    /// Something was given up: [`Shared::released`].
    Release,
    Close,
    Abandon,
}

/// What is called when an entry's fate is known.
pub(super) struct Then(Box<dyn FnOnce(Result<u64, AppendError>) + Send>);

impl Then {
    pub(super) fn new(then: impl FnOnce(Result<u64, AppendError>) + Send + 'static) -> Self {
        Self(Box::new(then))
    }

    pub(super) fn call(self, result: Result<u64, AppendError>) {
        (self.0)(result);
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Append(..) => "Append",
            Self::Release => "Release",
            Self::Close => "Close",
            Self::Abandon => "Abandon",
        })
    }
}

/// What is done together.
#[derive(Default)]
struct Group {
    entries: Vec<(Entry, Then)>,
    bytes: usize,
    release: bool,
    end: Option<Message>,
}

impl Group {
    fn add(&mut self, message: Message) {
        match message {
            Message::Append(entry, then) => {
                self.bytes += entry.body.len();
                self.entries.push((entry, then));
            }
            Message::Release => self.release = true,
            end @ (Message::Close | Message::Abandon) => self.end = Some(end),
        }
    }
}

/// The writer's state. It owns the directory, so that its end is what lets the lock go.
pub(super) struct Writer {
    receiver: Receiver<Message>,
    options: JournalOptions,
    directory: Directory,
    shared: Arc<Shared>,
    sealed: VecDeque<Sealed>,
    active: Option<Segment>,
    next_seq: u64,
    ages: Ages,
    /// When damaged segments were last looked for.
    expired: Option<Instant>,
}

impl Writer {
    pub(super) fn new(
        receiver: Receiver<Message>,
        options: JournalOptions,
        directory: Directory,
        shared: Arc<Shared>,
        sealed: Vec<Sealed>,
        next_seq: u64,
    ) -> Self {
        let mut ages = Ages::default();
        for segment in &sealed {
            if let Some(received) = segment.received {
                ages.add(segment.last_seq, received);
            }
        }
        let mut writer = Self {
            receiver,
            options,
            directory,
            shared,
            sealed: sealed.into(),
            active: None,
            next_seq,
            ages,
            expired: None,
        };
        writer.release();
        writer
    }

    /// Works until it is told to end, or until nobody can tell it anything any more.
    pub(super) fn run(mut self) {
        loop {
            let mut group = Group::default();
            match self.receiver.recv_timeout(self.options.segment_age) {
                Ok(message) => group.add(message),
                Err(RecvTimeoutError::Timeout) => {
                    self.release();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.gather(&mut group);
            if matches!(group.end, Some(Message::Abandon)) {
                return;
            }
            self.commit(group.entries);
            if group.release {
                self.release();
            }
            self.count();
            if group.end.is_some() {
                self.close();
                return;
            }
        }
    }

    /// Takes what waits, and waits a moment for more where there is something to share a sync with.
    fn gather(&self, group: &mut Group) {
        let deadline = Instant::now() + self.options.linger;
        while group.end.is_none() && group.bytes < self.options.group_bytes {
            let wait = if group.entries.is_empty() {
                Duration::ZERO
            } else {
                deadline.saturating_duration_since(Instant::now())
            };
            match self.receiver.recv_timeout(wait) {
                Ok(message) => group.add(message),
                Err(_) => return,
            }
        }
    }

    fn commit(&mut self, entries: Vec<(Entry, Then)>) {
        let mut written = Vec::with_capacity(entries.len());
        for (entry, then) in entries {
            match self.write(&entry) {
                Ok(seq) => {
                    self.ages.add(seq, entry.received_unix_micros);
                    written.push((seq, then));
                }
                Err(error) => then.call(Err(error)),
            }
        }
        if let Some(active) = &self.active
            && !written.is_empty()
            && let Err(error) = active.sync()
        {
            self.stop(&error);
        }
        self.count();
        let stopped = self.shared.stopped.get().cloned();
        for (seq, then) in written {
            then.call(match &stopped {
                None => Ok(seq),
                Some(reason) => Err(AppendError::Stopped(reason.clone())),
            });
        }
    }

    /// Writes one record, into a new segment where the active one has no room.
    fn write(&mut self, entry: &Entry) -> Result<u64, AppendError> {
        if let Some(reason) = self.shared.stopped.get() {
            return Err(AppendError::Stopped(reason.clone()));
        }
        if self.active.as_ref().is_some_and(|active| !active.fits(entry.body.len())) {
            self.seal()?;
        }
        let active = match &mut self.active {
            Some(active) => active,
            empty => empty.insert(
                new_segment(&self.options, &self.directory, self.next_seq, entry.body.len())
                    .map_err(|error| AppendError::Disk(error.to_string()))?,
            ),
        };
        match active.append(entry) {
            Ok(seq) => {
                self.next_seq = seq + 1;
                Ok(seq)
            }
            Err(error) => {
                // Part of the record may be on the disk; nothing may be written behind it.
                self.seal()?;
                Err(AppendError::Disk(error.to_string()))
            }
        }
    }

    /// Closes the active segment behind its last whole record.
    fn seal(&mut self) -> Result<(), AppendError> {
        let Some(active) = self.active.take() else { return Ok(()) };
        match active.seal() {
            Ok(sealed) if sealed.last_seq < sealed.first_seq => {
                remove(&sealed.path);
                Ok(())
            }
            Ok(sealed) => {
                self.sealed.push_back(sealed);
                Ok(())
            }
            Err(error) => Err(AppendError::Stopped(self.stop(&error))),
        }
    }

    /// After a failed sync the pages may be gone and a second sync would still succeed.
    fn stop(&self, error: &io::Error) -> String {
        let reason = format!("a write could not be made durable ({error}): restart to read the log back");
        tracing::error!(reason, "the journal has stopped");
        self.shared.stopped.get_or_init(|| reason).clone()
    }

    /// Deletes the segments that are wholly released, the active one once it has its age.
    fn release(&mut self) {
        let released = self.shared.released.load(Ordering::Relaxed);
        self.ages.release(released);
        let age = self.options.segment_age;
        let old = self.active.as_ref().is_some_and(|active| {
            active.last_seq() >= active.first_seq()
                && active.last_seq() <= released
                && active.created().elapsed() >= age
        });
        if old && self.seal().is_err() {
            return self.count();
        }
        while self.sealed.front().is_some_and(|segment| segment.last_seq <= released) {
            if let Some(segment) = self.sealed.pop_front() {
                self.discard(&segment);
            }
        }
        self.expire();
        self.count();
    }

    /// Deletes damaged segments that were kept long enough, at most every so often.
    fn expire(&mut self) {
        if self.expired.is_some_and(|last| last.elapsed() < EXPIRE) {
            return;
        }
        self.expired = Some(Instant::now());
        if let Err(error) = self.directory.expire(self.options.damaged_age) {
            tracing::warn!(%error, "damaged journal segments cannot be expired");
        }
    }

    /// Deletes a segment, or sets it aside for its owner where part of it could not be read.
    fn discard(&self, segment: &Sealed) {
        let damaged = self.shared.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        if !damaged.contains(&segment.path) {
            return remove(&segment.path);
        }
        let aside = segment.path.with_extension(ASIDE);
        match fs::rename(&segment.path, &aside) {
            Ok(()) => tracing::warn!(path = %aside.display(), "a damaged journal segment is set aside"),
            Err(error) => {
                tracing::warn!(%error, path = %segment.path.display(), "a damaged journal segment stays")
            }
        }
    }

    fn close(mut self) {
        if self.seal().is_ok() {
            self.release();
        }
    }

    fn count(&self) {
        let sealed: u64 = self.sealed.iter().map(|segment| segment.bytes).sum();
        let active = self.active.as_ref().map_or(0, Segment::bytes);
        self.shared.bytes.store(sealed + active, Ordering::Relaxed);
        let segments = self.sealed.len() + usize::from(self.active.is_some());
        self.shared.segments.store(segments as u64, Ordering::Relaxed);
        self.shared.oldest.store(self.ages.oldest_unix_micros().unwrap_or_default(), Ordering::Relaxed);
    }
}

impl Drop for Writer {
    /// However it ends, nobody may go on waiting for it.
    fn drop(&mut self) {
        self.shared.stopped.get_or_init(|| "its writer has ended".to_owned());
    }
}

/// A segment of the usual size, or of what the first record needs where that is more, or where the
/// disk has no more.
fn new_segment(
    options: &JournalOptions,
    directory: &Directory,
    first_seq: u64,
    length: usize,
) -> io::Result<Segment> {
    let needed = segment::needed(length);
    let create = |capacity| {
        Segment::create(options.disk.as_ref(), directory.path(), &directory.node().salt, first_seq, capacity)
    };
    let usual = options.segment_bytes.max(needed);
    match create(usual) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull && usual > needed => create(needed),
        created => created,
    }
}

/// A file that can't be deleted is met again at the next start, whose lake knows that it is stored.
fn remove(path: &std::path::Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(%error, path = %path.display(), "a stored journal segment cannot be deleted");
    }
}
