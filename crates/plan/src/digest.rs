//! SHA-256, in the lower-case hex that plans name their inputs by.

use sha2::{Digest, Sha256};

/// Digest of bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
