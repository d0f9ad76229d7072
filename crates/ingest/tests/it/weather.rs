//! A store in memory that is well, slow, refuses or loses answers, as it is told.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use plimsoll_lake::Lake;

use crate::support::schemas;

/// One process's way to a store that several share.
#[derive(Debug, Clone)]
pub(crate) struct Weather {
    store: Arc<InMemory>,
    told: Arc<Told>,
}

#[derive(Debug, Default)]
struct Told {
    refusing: AtomicBool,
    /// Commits whose answer is lost.
    lost_answers: AtomicU64,
    /// Whether nothing is answered at all.
    silent: AtomicBool,
    /// How long a commit takes, in milliseconds.
    commit_millis: AtomicU64,
}

type Stream<T> = std::pin::Pin<Box<dyn futures::Stream<Item = T> + Send>>;

impl Weather {
    pub(crate) fn fine() -> Self {
        Self { store: Arc::new(InMemory::new()), told: Arc::default() }
    }

    /// Another process's way to the same store.
    pub(crate) fn elsewhere(&self) -> Self {
        Self { store: Arc::clone(&self.store), told: Arc::default() }
    }

    pub(crate) fn lake(&self) -> Lake {
        let url = url::Url::parse("memory:///weather").unwrap();
        Lake::with_store(url, Arc::new(self.clone()), schemas())
    }

    /// Whether nothing is taken from now on.
    pub(crate) fn refuse(&self, refusing: bool) {
        self.told.refusing.store(refusing, Ordering::SeqCst);
    }

    /// The next commit to `spans` is made, and its maker hears nothing of it nor of anything else, until
    /// [`Self::clear_up`].
    pub(crate) fn lose_an_answer(&self) {
        self.told.lost_answers.fetch_add(1, Ordering::SeqCst);
    }

    /// Everything is answered again; gives whether an answer was lost.
    pub(crate) fn clear_up(&self) -> bool {
        self.told.silent.swap(false, Ordering::SeqCst)
    }

    fn answering(&self) -> Result<()> {
        if self.told.silent.load(Ordering::SeqCst) { Err(failure("nobody answers")) } else { Ok(()) }
    }

    /// Commits to `spans` take so long from now on.
    pub(crate) fn slow(&self, commit: Duration) {
        self.told.commit_millis.store(commit.as_millis() as u64, Ordering::SeqCst);
    }
}

impl fmt::Display for Weather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Weather")
    }
}

fn failure(reason: &'static str) -> Error {
    Error::Generic { store: "weather", source: reason.into() }
}

#[async_trait]
impl ObjectStore for Weather {
    async fn put_opts(&self, at: &Path, data: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.answering()?;
        if self.told.refusing.load(Ordering::SeqCst) {
            return Err(failure("nothing is taken today"));
        }
        // Not the one that makes the table.
        let commit = at.as_ref().starts_with("spans/_delta_log/")
            && !at.as_ref().ends_with("00000000000000000000.json");
        if commit {
            tokio::time::sleep(Duration::from_millis(self.told.commit_millis.load(Ordering::SeqCst))).await;
        }
        let put = self.store.put_opts(at, data, opts).await?;
        let take = |left: u64| left.checked_sub(1);
        if commit && self.told.lost_answers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
            self.told.silent.store(true, Ordering::SeqCst);
            return Err(failure("the answer was lost"));
        }
        Ok(put)
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.answering()?;
        self.store.get_opts(at, options).await
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.store.get_ranges(at, ranges).await
    }

    fn delete_stream(&self, locations: Stream<Result<Path>>) -> Stream<Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> Stream<Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}
