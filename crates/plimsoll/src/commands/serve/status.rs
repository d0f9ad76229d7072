//! What the web port says of this process.

use std::sync::Arc;

use plimsoll_ingest::Ingest;
use plimsoll_web::Status;

/// The roles that have a state of their own.
pub(super) struct ServeStatus {
    pub(super) ingest: Option<Arc<Ingest>>,
    pub(super) metrics: Box<dyn Fn() -> String + Send + Sync>,
}

impl Status for ServeStatus {
    fn alive(&self) -> bool {
        self.ingest.as_ref().is_none_or(|ingest| ingest.alive())
    }

    fn not_ready(&self) -> Option<String> {
        self.ingest.as_ref()?.not_ready()
    }

    fn metrics(&self) -> String {
        (self.metrics)()
    }
}
