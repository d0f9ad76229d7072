//! A store that fails when it is told to: after so many writes, or by losing an answer.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use plimsoll_lake::{Lake, Table};

use crate::fixtures::{Outcome, number_schemas};

/// What happens to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails, and nothing is stored.
    Refused,
    /// It is stored, but the answer is lost and the repeated request finds the name taken, as with an
    /// object store's own retries.
    AnswerLost,
}

/// A store in memory whose writes fail once `left` of them have passed.
#[derive(Debug, Clone)]
pub(crate) struct Faulty {
    inner: Arc<InMemory>,
    left: Arc<AtomicI64>,
    fault: Fault,
}

impl Faulty {
    pub(crate) fn new(fault: Fault) -> Self {
        let left = Arc::new(AtomicI64::new(i64::MAX));
        Self { inner: Arc::new(InMemory::new()), left, fault }
    }

    /// Lets so many writes pass and the next one (answer lost) or all the next (refused) fail.
    pub(crate) fn fail_after(&self, writes: i64) {
        self.left.store(writes, Ordering::SeqCst);
    }

    /// A fresh handle on the table `numbers`, as another process has it.
    pub(crate) async fn table(&self) -> Outcome<Table> {
        let url = "memory:///faulty".parse()?;
        let lake = Lake::with_store(url, Arc::new(self.clone()), number_schemas()?);
        Ok(lake.table("numbers").await?)
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, at: &Path, data: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        match self.fault {
            Fault::Refused if left <= 0 => {
                Err(Error::Generic { store: "faulty", source: "no space left".into() })
            }
            Fault::AnswerLost if left == 0 => {
                self.inner.put_opts(at, data.clone(), opts.clone()).await?;
                self.inner.put_opts(at, data, opts).await
            }
            _ => self.inner.put_opts(at, data, opts).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(at, options).await
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(at, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
