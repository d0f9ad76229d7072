//! The flusher's side of Kafka: what was read, by partition, since the last commit.
//!
//! A lane knows for each source the number that the tables hold and the next one that it takes, so that a
//! message is taken once however often it is read. If somebody else has moved a partition on, the lane
//! gives up all that it has (its files were never committed) and asks the source to read again from where
//! the tables are; what is still on its way from before carries an older epoch and is passed over.
//!
//! Invariant: the lane's rows are exactly those of the messages from `held` to `next` of its sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::order::Order;
use crate::counts::Ledger;
use crate::rows::Rows;
use crate::tables::{Held, Share, Step};

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
    /// Offset of the first message.
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

/// The lane.
#[derive(Debug)]
pub(crate) struct Lane {
    arrivals: mpsc::Receiver<Arrival>,
    orders: mpsc::UnboundedSender<Order>,
    pub(crate) rows: Rows,
    /// Bytes taken since the last commit.
    taken: usize,
    epoch: u64,
    sources: BTreeMap<Arc<str>, Progress>,
    tally: Tally,
    /// Spans that are counted as in flight.
    in_flight: u64,
    since: Option<Instant>,
    /// Whether nothing more arrives.
    ended: bool,
}

impl Lane {
    pub(crate) fn new(arrivals: mpsc::Receiver<Arrival>, orders: mpsc::UnboundedSender<Order>) -> Self {
        Self {
            arrivals,
            orders,
            rows: Rows::default(),
            taken: 0,
            epoch: 0,
            sources: BTreeMap::new(),
            tally: Tally::default(),
            in_flight: 0,
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

    /// Bytes taken since the last commit.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// When the first message came that waits for a commit.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.since
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
        let Portion { epoch, source, first, next, spans, quarantined, tally } = portion;
        if epoch != self.epoch {
            return;
        }
        let Some(progress) = self.sources.get_mut(&source) else { return };
        if next <= progress.next {
            return;
        }
        if first < progress.next {
            // Part of it was taken already: only reading again can tell it apart.
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
        self.in_flight += came;
        ledger.change(|counts| {
            counts.received += came;
            counts.in_flight += came;
        });
    }

    /// The quarantined rows, and the sources that they are of.
    pub(crate) fn quarantine_share(&self) -> Option<Share> {
        if self.rows.files.quarantine.is_empty() {
            return None;
        }
        let steps = self.sources.iter().filter(|(_, progress)| progress.quarantined);
        let steps = steps.map(|(source, Progress { held, next, .. })| Step {
            source: source.to_string(),
            held: held.quarantine,
            number: *next,
        });
        Some(Share { files: self.rows.files.quarantine.clone(), steps: steps.collect() })
    }

    /// The quarantined rows are in the lake.
    pub(crate) fn quarantine_committed(&mut self, ledger: &Ledger) {
        for progress in self.sources.values_mut().filter(|progress| progress.quarantined) {
            progress.held.quarantine = progress.next;
            progress.quarantined = false;
        }
        self.rows.files.quarantine.clear();
        let rows = std::mem::take(&mut self.rows.quarantined_rows);
        self.in_flight -= rows;
        ledger.change(|counts| {
            counts.quarantined += rows;
            counts.in_flight -= rows;
        });
    }

    /// The spans, and how far each source that went on has come.
    pub(crate) fn spans_share(&self) -> Option<Share> {
        let moved = self.sources.iter().filter(|(_, progress)| progress.next > progress.held.spans);
        let steps: Vec<Step> = moved
            .map(|(source, Progress { held, next, .. })| Step {
                source: source.to_string(),
                held: held.spans,
                number: *next,
            })
            .collect();
        (!steps.is_empty()).then(|| Share { files: self.rows.files.spans.clone(), steps })
    }

    /// The spans are in the lake, and with them all that the messages told of.
    pub(crate) fn spans_committed(&mut self, ledger: &Ledger) {
        let mut stored = Vec::new();
        for (source, progress) in &mut self.sources {
            if progress.next > progress.held.spans {
                progress.held.spans = progress.next;
                stored.push((Arc::clone(source), progress.next));
            }
        }
        let rows = std::mem::take(&mut self.rows).stored;
        let (tally, in_flight) = (std::mem::take(&mut self.tally), std::mem::take(&mut self.in_flight));
        (self.taken, self.since) = (0, None);
        ledger.change(|counts| {
            counts.stored += rows;
            counts.rejected += tally.rejected;
            counts.in_flight -= in_flight;
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
        let in_flight = std::mem::take(&mut self.in_flight);
        ledger.change(|counts| {
            counts.received -= in_flight;
            counts.in_flight -= in_flight;
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
