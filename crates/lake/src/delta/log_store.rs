//! The library's view of one table in our store.
//!
//! Every lake looks the same to it: a made-up URL whose root is the lake, over our store. So disks sync
//! ([`crate::Lake`]'s local store does), object stores put conditionally, and no factory, environment
//! or cloud crate of the library's own takes part.

use std::sync::Arc;

use deltalake_core::logstore::{LogStoreRef, StorageConfig, default_logstore};
use object_store::ObjectStore;
use object_store::prefix::PrefixStore;
use url::Url;

/// Opens the log of a table that lies in a folder of its name.
pub(super) fn open(table: &str, lake: Arc<dyn ObjectStore>) -> LogStoreRef {
    let mut url = root();
    url.set_path(&format!("/{table}/"));
    let folder = Arc::new(PrefixStore::new(Arc::clone(&lake), table));
    default_logstore(folder, lake, &url, &StorageConfig::default())
}

/// The lake's root as a URL: of no scheme for which the library has rules of its own.
#[expect(clippy::expect_used, reason = "a constant that a test parses")]
fn root() -> Url {
    Url::parse("lake:///").expect("a well-formed constant")
}
