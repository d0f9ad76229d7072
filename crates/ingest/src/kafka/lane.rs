//! The flusher's side of Kafka: what was read, by partition, since the last commit.
//!
//! A lane knows for each source the number that the tables hold and the next one that it takes, so that a
//! message is taken once however often it is read. If somebody else has moved a partition on, the lane
//! gives up all that it has (its files were never committed) and asks the source to read again from where
//! the tables are; what is still on its way from before carries an older epoch and is passed over.
//!
//! Invariant: the rows of what is offered are exactly those of the messages from `held` on, and those of the
//! next batch follow them up to `next`, for each source.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::order::Order;
use crate::batch::Batch;
use crate::counts::Ledger;
use crate::rows::Rows;
use crate::tables::{Held, Share, Step, Tables};

/// What the pipeline hands to the flusher, in the order in which it was read.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// Where sources are read from now on.
    Placed { epoch: u64, sources: Vec<(Arc<str>, Held)> },
    /// Decoded messages of one source.
    Portion(Box<Portion>),
    /// Answered once what came before is in the lake, or cannot be now.
    Barrier(oneshot::Sender<()>),
}

/// Decoded messages of one source, in order and with none left out.
#[derive(Debug)]
pub(crate) struct Portion {
    pub(crate) epoch: u64,
    pub(crate) source: Arc<str>,
    /// The offset that was to come when the first message was read, and the one that came.
    pub(crate) after: u64,
    pub(crate) first: u64,
    /// One more than the offset of the last.
    pub(crate) next: u64,
    pub(crate) spans: Vec<RecordBatch>,
    /// Quarantined rows by the offset of their message.
    pub(crate) quarantined: Vec<(u64, RecordBatch)>,
    pub(crate) tally: Tally,
}

/// What messages told of besides rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) rejected: u64,
    pub(crate) log_calls: u64,
    pub(crate) log_passed_over: u64,
    pub(crate) log_rejected: u64,
    pub(crate) dead_letters: u64,
}

#[derive(Debug)]
struct Progress {
    held: Held,
    next: u64,
    /// Whether rows of the lane are for `quarantine`.
    quarantined: bool,
}

/// A batch, and what the lake's answer is to bring about.
#[derive(Debug)]
struct Offered {
    batch: Batch,
    tally: Tally,
}

/// The lane.
#[derive(Debug)]
pub(crate) struct Lane {
    arrivals: mpsc::Receiver<Arrival>,
    orders: mpsc::UnboundedSender<Order>,
    offered: Option<Offered>,
    pub(crate) rows: Rows,
    /// Bytes taken for the next batch.
    taken: usize,
    epoch: u64,
    sources: BTreeMap<Arc<str>, Progress>,
    tally: Tally,
    since: Option<Instant>,
    /// Whether nothing more arrives.
    ended: bool,
}

impl Lane {
    pub(crate) fn new(arrivals: mpsc::Receiver<Arrival>, orders: mpsc::UnboundedSender<Order>) -> Self {
        Self {
            arrivals,
            orders,
            offered: None,
            rows: Rows::default(),
            taken: 0,
            epoch: 0,
            sources: BTreeMap::new(),
            tally: Tally::default(),
            since: None,
            ended: false,
        }
    }

    /// A lane into which nothing comes.
    pub(crate) fn idle() -> Self {
        Self::new(mpsc::channel(1).1, mpsc::unbounded_channel().0)
    }

    /// Waits for what is read next; for ever once nothing more comes.
    pub(crate) async fn arrival(&mut self) -> Arrival {
        if !self.ended {
            if let Some(arrival) = self.arrivals.recv().await {
                return arrival;
            }
            self.ended = true;
        }
        std::future::pending().await
    }

    /// What has arrived already.
    pub(crate) fn arrived(&mut self) -> Option<Arrival> {
        self.arrivals.try_recv().ok()
    }

    /// How much has arrived already.
    pub(crate) fn waiting(&self) -> usize {
        self.arrivals.len()
    }

    /// Bytes taken for the next batch.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// When the first message came that waits for a commit.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.offered.as_ref().map(|offered| offered.batch.since).or(self.since)
    }

    /// Notes where sources are read from. A source with messages that wait for a commit goes on behind
    /// them: what is read again up to there is passed over.
    pub(crate) fn place(&mut self, epoch: u64, placed: Vec<(Arc<str>, Held)>) {
        if epoch != self.epoch {
            return;
        }
        for (source, held) in placed {
            let waiting = self.sources.get(&source).is_some_and(|known| known.next > known.held.spans);
            if !waiting {
                self.sources.insert(source, Progress { held, next: held.spans, quarantined: false });
            }
        }
    }

    /// Takes messages, each once.
    pub(crate) fn take(&mut self, portion: Portion, ledger: &Ledger) {
        let Portion { epoch, source, after, first, next, spans, quarantined, tally } = portion;
        if epoch != self.epoch {
            return;
        }
        let Some(progress) = self.sources.get_mut(&source) else { return };
        if next <= progress.next {
            return;
        }
        if !(after..=first).contains(&progress.next) {
            // Part of it was taken already, or something before it was not: reading again mends both.
            tracing::warn!(%source, after, first, next = progress.next, "messages do not follow one another");
            return self.rewind(ledger);
        }
        progress.next = next;
        self.since.get_or_insert_with(Instant::now);
        let mut rows = 0;
        for batch in spans {
            rows += batch.num_rows() as u64;
            self.taken += batch.get_array_memory_size();
            self.rows.add_spans(batch);
        }
        // What a former process committed to `quarantine` alone is there already.
        for (_, batch) in quarantined.into_iter().filter(|(offset, _)| *offset >= progress.held.quarantine) {
            rows += batch.num_rows() as u64;
            progress.quarantined = true;
            self.taken += batch.get_array_memory_size();
            self.rows.add_quarantined(batch);
        }
        self.tally.add(tally);
        let came = rows + tally.rejected;
        ledger.change(|counts| {
            counts.received += came;
            counts.in_flight += came;
        });
    }

    /// Makes a batch of what has come, unless there is one.
    ///
    /// # Errors
    /// The lake takes no file; nothing has changed.
    pub(crate) async fn seal(&mut self, tables: &Tables) -> Result<(), plimsoll_lake::Error> {
        let (None, Some(since)) = (&self.offered, self.since) else { return Ok(()) };
        self.rows.write(tables).await?;
        (self.since, self.taken) = (None, 0);
        let Rows { files, stored, quarantined_rows, .. } = std::mem::take(&mut self.rows);
        let step = |source: &Arc<str>, held, number| Step { source: source.to_string(), held, number };
        let (mut quarantine, mut spans) = (Vec::new(), Vec::new());
        for (source, Progress { held, next, quarantined }) in &mut self.sources {
            if std::mem::take(quarantined) {
                quarantine.push(step(source, held.quarantine, *next));
            }
            if *next > held.spans {
                spans.push(step(source, held.spans, *next));
            }
        }
        let quarantine = Share { files: files.quarantine, steps: quarantine };
        let batch = Batch {
            since,
            quarantine: (quarantined_rows > 0).then_some(quarantine),
            quarantined_rows,
            spans: Share { files: files.spans, steps: spans },
            stored,
        };
        self.offered = Some(Offered { batch, tally: std::mem::take(&mut self.tally) });
        Ok(())
    }

    /// The quarantined rows of the batch.
    pub(crate) fn quarantine_share(&self) -> Option<Share> {
        self.offered.as_ref()?.batch.quarantine.clone()
    }

    /// The quarantined rows are in the lake.
    pub(crate) fn quarantine_committed(&mut self, ledger: &Ledger) {
        let Some(Offered { batch, .. }) = &mut self.offered else { return };
        for Step { source, number, .. } in batch.quarantine.take().into_iter().flat_map(|share| share.steps) {
            if let Some(progress) = self.sources.get_mut(source.as_str()) {
                progress.held.quarantine = number;
            }
        }
        let rows = batch.quarantined_rows;
        ledger.change(|counts| {
            counts.quarantined += rows;
            counts.in_flight -= rows;
        });
    }

    /// The spans of the batch, and how far each source that went on has come.
    pub(crate) fn spans_share(&self) -> Option<Share> {
        Some(self.offered.as_ref()?.batch.spans.clone())
    }

    /// The spans are in the lake, and with them all that the messages told of.
    pub(crate) fn spans_committed(&mut self, ledger: &Ledger) {
        let Some(Offered { batch, tally }) = self.offered.take() else { return };
        let mut stored = Vec::new();
        for Step { source, number, .. } in batch.spans.steps {
            if let Some(progress) = self.sources.get_mut(source.as_str()) {
                progress.held.spans = number;
                stored.push((source.into(), number));
            }
        }
        ledger.change(|counts| {
            counts.stored += batch.stored;
            counts.rejected += tally.rejected;
            counts.in_flight -= batch.stored + tally.rejected;
            counts.log_calls += tally.log_calls;
            counts.log_passed_over += tally.log_passed_over;
            counts.log_rejected += tally.log_rejected;
            counts.dead_letters += tally.dead_letters;
        });
        // Without a source there is nobody who needs to know.
        let _ended = self.orders.send(Order::Stored(stored));
    }

    /// Gives up what is not committed, and has it read again from where the tables are.
    pub(crate) fn rewind(&mut self, ledger: &Ledger) {
        let mut given_up = self.rows.stored + self.rows.quarantined_rows + self.tally.rejected;
        if let Some(Offered { batch, tally }) = self.offered.take() {
            let quarantined = if batch.quarantine.is_some() { batch.quarantined_rows } else { 0 };
            given_up += batch.stored + quarantined + tally.rejected;
        }
        ledger.change(|counts| {
            counts.received -= given_up;
            counts.in_flight -= given_up;
        });
        self.rows = Rows::default();
        self.sources.clear();
        self.tally = Tally::default();
        (self.taken, self.since) = (0, None);
        self.epoch += 1;
        let _ended = self.orders.send(Order::Rewind { epoch: self.epoch });
    }
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.rejected += other.rejected;
        self.log_calls += other.log_calls;
        self.log_passed_over += other.log_passed_over;
        self.log_rejected += other.log_rejected;
        self.dead_letters += other.dead_letters;
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, UInt32Array};

    use super::*;

    /// A lane that reads one source from an offset, what it orders, and the sums.
    fn lane(spans: u64, quarantine: u64) -> (Lane, mpsc::UnboundedReceiver<Order>, Ledger) {
        let (orders, ordered) = mpsc::unbounded_channel();
        let mut lane = Lane::new(mpsc::channel(1).1, orders);
        lane.place(0, vec![("p".into(), Held { spans, quarantine })]);
        (lane, ordered, Ledger::default())
    }

    fn rows(count: u64) -> RecordBatch {
        let column: ArrayRef = Arc::new((0..count as u32).collect::<UInt32Array>());
        RecordBatch::try_from_iter([("n", column)]).unwrap_or_else(|_| unreachable!())
    }

    /// Messages of one span each.
    fn portion(epoch: u64, after: u64, first: u64, next: u64) -> Portion {
        Portion {
            epoch,
            source: "p".into(),
            after,
            first,
            next,
            spans: vec![rows(next - first)],
            quarantined: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// What was read twice is taken once; what follows it, with offsets that hold nothing in between, too.
    #[test]
    fn each_message_is_taken_once() {
        let (mut lane, mut ordered, ledger) = lane(10, 10);
        for portion in [portion(0, 10, 10, 15), portion(0, 10, 10, 15), portion(0, 15, 18, 20)] {
            lane.take(portion, &ledger);
        }
        assert_eq!((lane.rows.stored, ledger.counts().in_flight), (7, 7));
        // The partition has gone and come back before its rows were committed.
        lane.place(0, vec![("p".into(), Held { spans: 10, quarantine: 10 })]);
        lane.take(portion(0, 10, 10, 20), &ledger);
        lane.take(portion(0, 20, 20, 21), &ledger);
        assert_eq!(lane.rows.stored, 8);
        assert!(ordered.try_recv().is_err());
    }

    /// A hole, or an overlap that can't be told apart, is never committed: everything is read again, and what
    /// is on its way from before is passed over.
    #[test]
    fn a_hole_is_read_again() {
        for wrong in [portion(0, 16, 16, 20), portion(0, 12, 12, 20)] {
            let (mut lane, mut ordered, ledger) = lane(10, 10);
            lane.take(portion(0, 10, 10, 15), &ledger);
            lane.take(wrong, &ledger);
            assert!(matches!(ordered.try_recv(), Ok(Order::Rewind { epoch: 1 })));
            let counts = ledger.counts();
            assert_eq!((lane.rows.stored, counts.received, counts.in_flight), (0, 0, 0));
            assert!(lane.since().is_none());
            lane.take(portion(0, 20, 20, 25), &ledger);
            lane.place(0, vec![("p".into(), Held { spans: 10, quarantine: 10 })]);
            lane.take(portion(1, 10, 10, 15), &ledger);
            assert_eq!(lane.rows.stored, 0, "its place in the new epoch is not known");
            lane.place(1, vec![("p".into(), Held { spans: 10, quarantine: 10 })]);
            lane.take(portion(1, 10, 10, 15), &ledger);
            assert_eq!((lane.rows.stored, ledger.counts().in_flight), (5, 5));
        }
    }

    /// Rows that a reader who died between the two commits has put into `quarantine` are not put there again.
    #[test]
    fn what_is_in_quarantine_stays_there_once() {
        let (mut lane, _ordered, ledger) = lane(10, 13);
        let mut portion = portion(0, 10, 10, 15);
        portion.quarantined = vec![(11, rows(2)), (12, rows(1)), (13, rows(4))];
        lane.take(portion, &ledger);
        assert_eq!((lane.rows.quarantined_rows, lane.rows.stored), (4, 5));
        assert_eq!(ledger.counts().received, 9);
    }
}
