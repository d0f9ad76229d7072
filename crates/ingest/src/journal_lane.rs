//! The flusher's side of the journal: the spans of acknowledged requests since the last commit.
//!
//! Invariant: the lane's rows are exactly those of the records from `held` to `last_seq`.

use tokio::time::Instant;

use crate::accept::Pending;
use crate::counts::Ledger;
use crate::rows::Rows;
use crate::tables::{Held, Share};

/// The lane.
#[derive(Debug)]
pub(crate) struct JournalLane {
    source: String,
    held: Held,
    last_seq: u64,
    pub(crate) rows: Rows,
    since: Option<Instant>,
}

impl JournalLane {
    pub(crate) fn new(source: String, held: Held) -> Self {
        Self { source, held, last_seq: held.spans, rows: Rows::default(), since: None }
    }

    pub(crate) fn held(&self) -> Held {
        self.held
    }

    /// When the first request came that waits for a commit.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.since
    }

    pub(crate) fn add(&mut self, pending: Pending) {
        let Pending { seq, spans, quarantined, held } = pending;
        self.last_seq = seq;
        self.since.get_or_insert_with(Instant::now);
        self.rows.add_spans(spans);
        self.rows.add_quarantined(quarantined);
        self.rows.keep(held);
    }

    /// The quarantined rows.
    pub(crate) fn quarantine_share(&self) -> Option<Share> {
        let files = &self.rows.files.quarantine;
        let share = || Share::one(files, &self.source, self.held.quarantine, self.last_seq);
        (!files.is_empty()).then(share)
    }

    /// The quarantined rows are in the lake.
    pub(crate) fn quarantine_committed(&mut self, ledger: &Ledger) {
        self.held.quarantine = self.last_seq;
        self.rows.files.quarantine.clear();
        let rows = std::mem::take(&mut self.rows.quarantined_rows);
        ledger.change(|counts| {
            counts.quarantined += rows;
            counts.in_flight -= rows;
        });
    }

    /// The spans, and how far the journal has come.
    pub(crate) fn spans_share(&self) -> Option<Share> {
        let share = || Share::one(&self.rows.files.spans, &self.source, self.held.spans, self.last_seq);
        self.since.map(|_| share())
    }

    /// The spans are in the lake; gives the last seq among them.
    pub(crate) fn spans_committed(&mut self, ledger: &Ledger) -> u64 {
        self.held.spans = self.last_seq;
        let rows = std::mem::take(&mut self.rows).stored;
        self.since = None;
        ledger.change(|counts| {
            counts.stored += rows;
            counts.in_flight -= rows;
        });
        self.last_seq
    }
}
