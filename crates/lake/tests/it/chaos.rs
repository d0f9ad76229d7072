//! A store that misbehaves as object stores do: refusals, timeouts, answers that are lost after the deed,
//! slowness, and the death of the process that uses it.
//!
//! One [`Chaos`] is one process's view of a bucket in memory that all share. What happens is drawn from a
//! seed. Invariant: the bucket itself is sound; only what the process is told is not.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use plimsoll_lake::{Lake, Table};

use crate::fixtures::{Dice, Outcome, number_schemas};

/// What may happen to a request, in a hundred.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Odds {
    /// 503 before anything is done.
    pub(crate) refused: u64,
    /// A timeout, before or after it is done.
    pub(crate) timeout: u64,
    /// A write is done, its answer is lost, and the client's own repetition finds the name taken.
    pub(crate) repeated: u64,
    /// It takes a millisecond or two.
    pub(crate) slow: u64,
}

/// One process's view of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct Chaos {
    bucket: Arc<InMemory>,
    odds: Odds,
    dice: Arc<Mutex<Dice>>,
    /// Requests until the process dies.
    left: Arc<AtomicI64>,
    /// Whether requests are refused for want of valid credentials.
    expired: Arc<AtomicBool>,
}

/// What becomes of a request.
enum Fate {
    Done,
    DoneAndForgotten(Error),
    DoneTwice,
    Failed(Error),
}

impl Chaos {
    pub(crate) fn new(bucket: &Arc<InMemory>, odds: Odds, seed: u64) -> Self {
        Self {
            bucket: Arc::clone(bucket),
            odds,
            dice: Arc::new(Mutex::new(Dice(seed))),
            left: Arc::new(AtomicI64::new(i64::MAX)),
            expired: Arc::default(),
        }
    }

    /// The process dies after so many requests: every later one fails.
    pub(crate) fn dies_after(&self, requests: i64) {
        self.left.store(requests, Ordering::SeqCst);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.left.load(Ordering::SeqCst) < 0
    }

    /// Says whether credentials have expired.
    pub(crate) fn expire(&self, expired: bool) {
        self.expired.store(expired, Ordering::SeqCst);
    }

    /// The table `numbers`, as this process has it.
    pub(crate) async fn table(&self) -> Outcome<Table> {
        Ok(self.lake()?.table("numbers").await?)
    }

    pub(crate) fn lake(&self) -> Outcome<Lake> {
        Ok(Lake::with_store("memory:///chaos".parse()?, Arc::new(self.clone()), number_schemas()?))
    }

    async fn fate(&self, write: bool) -> Fate {
        let failed = |what: &str| Error::Generic { store: "chaos", source: what.into() };
        if self.left.fetch_sub(1, Ordering::SeqCst) <= 0 {
            return Fate::Failed(failed("the process is dead"));
        }
        if self.expired.load(Ordering::SeqCst) {
            let source = "403 Forbidden: <Error>\n<Code>ExpiredToken</Code></Error>".into();
            return Fate::Failed(Error::PermissionDenied { path: "numbers".to_owned(), source });
        }
        let (roll, coin) = {
            let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
            (dice.below(100), dice.below(2) == 0)
        };
        let Odds { refused, timeout, repeated, slow } = self.odds;
        if roll < refused {
            return Fate::Failed(failed("503 Slow Down"));
        }
        if roll < refused + timeout {
            let error = failed("the request timed out");
            return if write && coin { Fate::DoneAndForgotten(error) } else { Fate::Failed(error) };
        }
        if write && roll < refused + timeout + repeated {
            return Fate::DoneTwice;
        }
        if roll < refused + timeout + repeated + slow {
            tokio::time::sleep(Duration::from_millis(1 + roll % 2)).await;
        }
        Fate::Done
    }

    async fn read(&self) -> Result<()> {
        match self.fate(false).await {
            Fate::Failed(error) => Err(error),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Chaos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chaos")
    }
}

#[async_trait]
impl ObjectStore for Chaos {
    async fn put_opts(&self, at: &Path, data: PutPayload, opts: PutOptions) -> Result<PutResult> {
        match self.fate(true).await {
            Fate::Done => self.bucket.put_opts(at, data, opts).await,
            Fate::DoneAndForgotten(error) => self.bucket.put_opts(at, data, opts).await.and(Err(error)),
            Fate::DoneTwice => {
                let first = self.bucket.put_opts(at, data.clone(), opts.clone()).await?;
                let create = opts.mode == PutMode::Create;
                if create { self.bucket.put_opts(at, data, opts).await } else { Ok(first) }
            }
            Fate::Failed(error) => Err(error),
        }
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.read().await?;
        self.bucket.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.read().await?;
        self.bucket.get_opts(at, options).await
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.read().await?;
        self.bucket.get_ranges(at, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let this = self.clone();
        let deleted = move |location: Result<Path>| {
            let this = this.clone();
            async move {
                let location = location?;
                match this.fate(true).await {
                    Fate::Failed(error) => Err(error),
                    fate => {
                        this.bucket.delete(&location).await?;
                        if let Fate::DoneAndForgotten(error) = fate { Err(error) } else { Ok(location) }
                    }
                }
            }
        };
        locations.then(deleted).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (this, listed) = (self.clone(), self.bucket.list(prefix));
        let first = futures::stream::once(async move { this.read().await })
            .filter_map(|read| async { read.err().map(Err) });
        first.chain(listed).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.read().await?;
        self.bucket.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.read().await?;
        self.bucket.copy_opts(from, to, options).await
    }
}
