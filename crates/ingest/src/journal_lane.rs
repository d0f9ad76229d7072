//! The flusher's side of the journal: the spans of acknowledged requests that are not in the lake.
//!
//! Invariant: the rows of what is offered are exactly those of the records from `held` on, and those of the
//! next batch follow them up to `last_seq`.

use std::sync::Arc;

use tokio::time::Instant;

use crate::accept::Pending;
use crate::batch::Batch;
use crate::counts::Ledger;
use crate::journal::{Journal, Replay};
use crate::rows::Rows;
use crate::tables::{Held, Share, Tables};

/// The lane.
#[derive(Debug)]
pub(crate) struct JournalLane {
    journal: Arc<Journal>,
    source: String,
    held: Held,
    offered: Option<(Batch, u64)>,
    pub(crate) rows: Rows,
    last_seq: u64,
    since: Option<Instant>,
}

impl JournalLane {
    pub(crate) fn new(journal: Arc<Journal>, source: String, held: Held) -> Self {
        let last_seq = held.spans;
        Self { journal, source, held, offered: None, rows: Rows::default(), last_seq, since: None }
    }

    /// The journal.
    pub(crate) fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// What a former process left in it that the tables do not hold.
    pub(crate) fn replay(&self) -> Replay {
        self.journal.replay(self.held.spans)
    }

    /// Others have committed under the journal's name, up to `found`: leaves a mark in it that keeps later
    /// starts from taking its records for stored. Gives the name.
    pub(crate) fn refuse(&self, found: u64) -> &str {
        self.journal.refuse(self.held.spans, found);
        self.journal.node()
    }

    /// What the tables hold.
    pub(crate) fn held(&self) -> Held {
        self.held
    }

    /// When the first request came that waits for a commit.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.offered.as_ref().map(|(batch, _)| batch.since).or(self.since)
    }

    pub(crate) fn add(&mut self, pending: Pending) {
        let Pending { seq, spans, quarantined, held } = pending;
        self.last_seq = seq;
        self.since.get_or_insert_with(Instant::now);
        self.rows.add_spans(spans);
        self.rows.add_quarantined(quarantined);
        self.rows.keep(held);
    }

    /// Makes a batch of what has come, unless there is one.
    ///
    /// # Errors
    /// The lake takes no file; nothing has changed.
    pub(crate) async fn seal(&mut self, tables: &Tables) -> Result<(), plimsoll_lake::Error> {
        let (None, Some(since)) = (&self.offered, self.since) else { return Ok(()) };
        self.rows.write(tables).await?;
        self.since = None;
        let Rows { files, stored, quarantined_rows, .. } = std::mem::take(&mut self.rows);
        let share = |files, held| Share::one(files, &self.source, held, self.last_seq);
        let quarantine = share(files.quarantine, self.held.quarantine);
        let batch = Batch {
            since,
            quarantine: (quarantined_rows > 0).then_some(quarantine),
            quarantined_rows,
            spans: share(files.spans, self.held.spans),
            stored,
        };
        self.offered = Some((batch, self.last_seq));
        Ok(())
    }

    /// The quarantined rows of the batch.
    pub(crate) fn quarantine_share(&self) -> Option<Share> {
        self.offered.as_ref()?.0.quarantine.clone()
    }

    /// The quarantined rows are in the lake.
    pub(crate) fn quarantine_committed(&mut self, ledger: &Ledger) {
        let Some((batch, seq)) = &mut self.offered else { return };
        self.held.quarantine = *seq;
        batch.quarantine = None;
        let rows = batch.quarantined_rows;
        ledger.change(|counts| {
            counts.quarantined += rows;
            counts.in_flight -= rows;
        });
    }

    /// The spans of the batch.
    pub(crate) fn spans_share(&self) -> Option<Share> {
        Some(self.offered.as_ref()?.0.spans.clone())
    }

    /// The spans are in the lake: their records are given up.
    pub(crate) fn spans_committed(&mut self, ledger: &Ledger) {
        let Some((batch, seq)) = self.offered.take() else { return };
        self.held.spans = seq;
        ledger.change(|counts| {
            counts.stored += batch.stored;
            counts.in_flight -= batch.stored;
        });
        self.journal.release(seq);
    }
}
