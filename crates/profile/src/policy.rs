//! What the SQL functions decide by: the catalog, the match rules, the business time zone.
//!
//! Invariant: two policies with the same digest give the same tables from the same spans, so a
//! change of digest is what makes a round start from nothing.

use std::hash::{Hash, Hasher};

use jiff::{SignedDuration, tz::TimeZone};
use plimsoll_assembly::naming::{Naming, Rules};
use plimsoll_catalog::Catalog;
use sha2::{Digest, Sha256};

/// Catalog, names and time rules of one lake.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) catalog: Catalog,
    pub(crate) naming: Naming,
    pub(crate) time_zone: TimeZone,
    pub(crate) acceptance_window: SignedDuration,
    digest: String,
}

impl Policy {
    /// Compiles the match rules and takes the digest of it all.
    ///
    /// # Errors
    /// A match rule that cannot be read.
    pub fn new(
        catalog: Catalog,
        rules: &Rules,
        time_zone: TimeZone,
        acceptance_window: SignedDuration,
    ) -> Result<Self, plimsoll_assembly::naming::NamingError> {
        let naming = Naming::new(rules)?;
        let mut hasher = Sha256::new();
        hasher.update(catalog.sha256());
        hasher.update(serde_json::to_vec(rules).unwrap_or_default());
        hasher.update(time_zone.iana_name().unwrap_or_default());
        hasher.update(acceptance_window.as_micros().to_le_bytes());
        let digest = hex::encode(hasher.finalize());
        Ok(Self { catalog, naming, time_zone, acceptance_window, digest })
    }

    /// Digest of everything in it.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Policy {}

impl Hash for Policy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}
