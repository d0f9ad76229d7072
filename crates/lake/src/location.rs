//! Where a lake lies: from what a person writes (`./lake`, `s3://bucket/lake`) to a store rooted there.
//!
//! Credentials and endpoints of object stores come from the environment (`AWS_*`, `GOOGLE_*`,
//! `AZURE_*`), as their own tools take them; so do limits (`AWS_TIMEOUT`, `AWS_CONNECT_TIMEOUT`, a request
//! that outlasts 30 seconds by default). The store's client repeats what failed with 5xx, 429 or on the
//! way, ten times within three minutes, with jitter; but a conditional put that timed out it does not,
//! for it may have arrived: the log asks what became of it (`delta.rs`).
//!
//! A commit needs a conditional put: `If-None-Match` on S3 (the default; stores too old for it say so when
//! the first table is made) and on Azure, `x-goog-if-generation-match` on Google. A bucket that is not
//! there and credentials that are refused show with the first request, in one line. Invariant: every path in the store is relative to the lake.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::prefix::PrefixStore;
use url::Url;

use crate::durable::DurableFs;
use crate::{Error, Result};

/// Variables that configure object stores start with one of these.
const CONFIGURATION: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

/// A place and the store rooted there.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    pub(crate) url: Url,
    pub(crate) store: Arc<dyn ObjectStore>,
}

impl Location {
    /// Opens a location; a folder on local disk is made where it does not exist.
    pub(crate) fn open(location: &str) -> Result<Self> {
        Self::at(location, |folder| {
            DurableFs::open(folder).map_err(|e| format!("{e}; give a folder that can be written"))
        })
    }

    /// Opens a location that exists, and leaves it as it is.
    pub(crate) fn existing(location: &str) -> Result<Self> {
        Self::at(location, |folder| {
            DurableFs::existing(folder).map_err(|e| format!("{e}; give a folder that exists"))
        })
    }

    fn at(location: &str, open: impl Fn(&Path) -> Result<DurableFs, String>) -> Result<Self> {
        let wrong = |reason: String| Error::Location { location: location.to_owned(), reason };
        if location.is_empty() {
            return Err(wrong("name a folder or a URL".to_owned()));
        }
        if !location.contains("://") {
            let folder = std::path::absolute(location).map_err(|e| wrong(e.to_string()))?;
            return open(&folder).and_then(Self::local).map_err(wrong);
        }
        let url = Url::parse(location).map_err(|e| wrong(e.to_string()))?;
        match url.scheme() {
            "file" => {
                let folder: PathBuf = url
                    .to_file_path()
                    .map_err(|()| wrong("write it as file:///path/of/the/folder".to_owned()))?;
                open(&folder).and_then(Self::local).map_err(wrong)
            }
            "memory" => Ok(Self { url, store: Arc::new(InMemory::new()) }),
            "s3" | "s3a" | "gs" | "az" | "azure" | "abfs" | "abfss" => {
                Self::remote(url).map_err(|e| wrong(e.to_string()))
            }
            scheme => Err(wrong(format!(
                "`{scheme}://` is not known; use a folder, file://, s3://, gs://, az:// or memory://"
            ))),
        }
    }

    fn local(store: DurableFs) -> Result<Self, String> {
        let url = Url::from_directory_path(store.root())
            .map_err(|()| "the folder's name cannot be written as a URL".to_owned())?;
        Ok(Self { url, store: Arc::new(store) })
    }

    fn remote(url: Url) -> object_store::Result<Self> {
        let options = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(key, _)| CONFIGURATION.iter().any(|prefix| key.starts_with(prefix)));
        let (store, path) = object_store::parse_url_opts(&url, options)?;
        let store: Arc<dyn ObjectStore> = Arc::from(store);
        let store = if path.as_ref().is_empty() { store } else { Arc::new(PrefixStore::new(store, path)) };
        Ok(Self { url, store })
    }
}
