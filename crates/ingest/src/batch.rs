//! What one lane of the flusher offers to the lake at once.
//!
//! Invariant: a batch never changes. It is offered as it is until the lake has said what came of it, so that
//! a commit whose answer was lost is known again; what comes meanwhile is for the next batch.

use tokio::time::Instant;

use crate::tables::Share;

/// Rows in files, and how far they bring each source.
#[derive(Debug)]
pub(crate) struct Batch {
    /// When the first of the rows came.
    pub(crate) since: Instant,
    /// Quarantined rows; none where there are none, or once they are in the lake.
    pub(crate) quarantine: Option<Share>,
    pub(crate) quarantined_rows: u64,
    pub(crate) spans: Share,
    pub(crate) stored: u64,
}
