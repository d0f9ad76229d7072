//! The lake: a place and its tables.
//!
//! Opens the place, hands out tables by name, and makes those that are missing. What a table does is
//! left to [`Table`]. Invariant: one [`Table`] a name, so that writers in one process take turns.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;
use tokio::sync::Mutex;
use url::Url;

use crate::delta::DeltaLog;
use crate::location::Location;
use crate::log::TableLog;
use crate::{Error, Result, Schemas, Snapshot, Table};

/// A folder of tables on local disk or an object store; cheap to clone.
#[derive(Debug, Clone)]
pub struct Lake(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    location: Location,
    schemas: Arc<Schemas>,
    open: Mutex<BTreeMap<String, Table>>,
}

impl Lake {
    /// Opens a lake: a folder, `file://`, `s3://`, `gs://`, `az://`, or `memory://` (a fresh one that
    /// lasts as long as its clones). Credentials of object stores come from the environment.
    ///
    /// # Errors
    /// [`crate::Error::Location`] where the place cannot be used.
    pub async fn open(location: &str, schemas: Arc<Schemas>) -> Result<Self> {
        // Two providers are linked in; without a choice the first TLS connection would fail. An error
        // means that the process has chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self::on(Location::open(location)?, schemas))
    }

    /// Opens a lake that exists, for reading: nothing is made and nothing is swept, so that a read-only
    /// folder will do. What writes to it later fails by what it writes.
    ///
    /// # Errors
    /// [`crate::Error::Location`] where there is no such folder, or the place cannot be used.
    pub async fn open_existing(location: &str, schemas: Arc<Schemas>) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self::on(Location::existing(location)?, schemas))
    }

    /// Opens a lake on a store that the caller has made and that is rooted at the lake; `url` is what
    /// people call the place.
    ///
    /// Such a store must put conditionally ([`object_store::PutMode::Create`]): commits rest on it.
    pub fn with_store(url: Url, store: Arc<dyn ObjectStore>, schemas: Arc<Schemas>) -> Self {
        Self::on(Location { url, store }, schemas)
    }

    fn on(location: Location, schemas: Arc<Schemas>) -> Self {
        Self(Arc::new(Inner { location, schemas, open: Mutex::default() }))
    }

    /// Descriptions of the tables.
    pub fn schemas(&self) -> &Arc<Schemas> {
        &self.0.schemas
    }

    /// The store, rooted at the lake.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.0.location.store)
    }

    /// Where the lake is.
    pub fn url(&self) -> &Url {
        &self.0.location.url
    }

    /// A table, made where it is missing; columns that its description has gained are added to it.
    ///
    /// # Errors
    /// [`crate::Error::UnknownTable`] where nothing is described under the name;
    /// [`crate::Error::Unsupported`] where the table in the lake is of another shape.
    pub async fn table(&self, name: &str) -> Result<Table> {
        let mut open = self.0.open.lock().await;
        if let Some(table) = open.get(name) {
            return Ok(table.clone());
        }
        let log = self.log(name)?;
        log.create().await?;
        let Some(snapshot) = log.snapshot(None).await? else {
            return Err(Error::gone(name));
        };
        let table = self.make(name, log, &snapshot)?;
        open.insert(name.to_owned(), table.clone());
        Ok(table)
    }

    /// A table, where it exists.
    ///
    /// # Errors
    /// Like [`Lake::table`].
    pub async fn existing(&self, name: &str) -> Result<Option<Table>> {
        if let Some(table) = self.0.open.lock().await.get(name) {
            return Ok(Some(table.clone()));
        }
        let log = self.log(name)?;
        let snapshot = log.snapshot(None).await?;
        snapshot.map(|snapshot| self.make(name, log, &snapshot)).transpose()
    }

    pub(crate) fn log(&self, name: &str) -> Result<Arc<dyn TableLog>> {
        Ok(Arc::new(DeltaLog::new(self.0.schemas.shared(name)?, self.store())))
    }

    pub(crate) fn make(&self, name: &str, log: Arc<dyn TableLog>, found: &Snapshot) -> Result<Table> {
        let columns = &found.definition().columns;
        let nullable = |column: &str| columns.get(column).is_none_or(|(_, nullable)| *nullable);
        let schema = self.0.schemas.shared(name)?.relaxed(nullable);
        Ok(Table::new(schema, Path::from(name), self.store(), log))
    }
}
