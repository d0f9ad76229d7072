//! The thread that reads: it polls, always, and hands messages on in the order in which they come.
//!
//! It owns which partitions are read and whether they are paused; the flusher owns how far they were
//! committed and the epoch; librdkafka owns who in the group reads what. Changes of the partitions are made
//! one at a time, each in steps between polls, so that a slow lake never keeps this member from the group:
//!
//! * taken: ask where to read from, then read from there;
//! * let go: read no more, have what was read committed (for a bounded time), then let go;
//! * relocated (after a rewind, or when a topic was made again): stop, and as if taken.
//!
//! Nothing is right only because of that order: what a commit follows is checked by the commit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{Consumer as _, RebalanceProtocol};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Message as _};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::consumer::{self, Change, Consumer};
use super::lane::Arrival;
use super::librdkafka::watermarks;
use super::locate;
use super::message::Message;
use super::options::KafkaSource;
use super::order::Order;
use super::partitions::Partitions;
use super::pipeline::{Parcel, barrier};
use super::place::{Place, Placed, TopicPartition};
use super::status::{At, Status};
use crate::budget::Budget;
use crate::tables::Tables;

mod look;

use look::Looks;

/// Longest wait for a message.
const POLL: Duration = Duration::from_millis(100);
/// Longest wait for another message to hand on with those that came.
const LINGER: Duration = Duration::from_millis(5);
/// Bytes and number of messages that are handed on at once.
const BUNDLE: (usize, usize) = (1 << 20, 2048);
/// Bytes of messages that were read and are not yet with the flusher. Past them reading waits for room,
/// or pauses, until half of them have gone.
const UNDER_WAY: usize = 16 << 20;
/// How long reading waits for room before it pauses. A pause drops what was fetched ahead, and after it
/// librdkafka takes up to a second to fetch again; without a pause it may not go unpolled for long.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a partition that leaves may wait for its last commit: as long keeps the group waiting.
const LAST_COMMIT: Duration = Duration::from_secs(15);
/// Wait before the lake or the cluster is asked again where to read from.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Waits before a member that has failed for good is made anew.
const ANEW: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// What the thread works with.
pub(super) struct Reader {
    pub(super) source: KafkaSource,
    /// The member's name in the group, the same after a restart.
    pub(super) instance: String,
    pub(super) tables: Tables,
    pub(super) runtime: Handle,
    pub(super) status: Arc<Status>,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    /// For the answers to what is asked.
    pub(super) answers: mpsc::WeakUnboundedSender<Order>,
    /// None once nothing more is read.
    pub(super) out: Option<mpsc::UnboundedSender<Parcel>>,
    pub(super) state: State,
}

/// What changes as it works.
pub(super) struct State {
    partitions: Partitions,
    epoch: u64,
    bundle: Vec<Message>,
    bundle_bytes: usize,
    under_way: Arc<Budget>,
    /// Since when there is no room; none while there is.
    full: Option<Instant>,
    paused: bool,
    /// Relocations that wait for their turn.
    changes: VecDeque<Change>,
    doing: Doing,
    tickets: u64,
    looks: Looks,
    /// Why this member is of no use any more.
    failed: Option<Stopped>,
}

/// A change in the making.
enum Doing {
    Nothing,
    Locating { ticket: u64, partitions: Vec<TopicPartition>, ask_again: Option<Instant> },
    Leaving { partitions: Vec<TopicPartition>, committed: oneshot::Receiver<()>, until: Instant },
}

/// Why reading stopped.
enum Stopped {
    /// It was told to.
    End,
    /// The member is of no use any more.
    Failed(String),
    /// The group is to do without the member until it has noticed.
    Away(String),
}

impl Default for State {
    fn default() -> Self {
        Self {
            partitions: Partitions::default(),
            epoch: 0,
            bundle: Vec::new(),
            bundle_bytes: 0,
            under_way: Arc::new(Budget::new(UNDER_WAY)),
            full: None,
            paused: false,
            changes: VecDeque::new(),
            doing: Doing::Nothing,
            tickets: 0,
            looks: Looks::default(),
            failed: None,
        }
    }
}

impl Reader {
    /// Reads with one member after another until it is told to end.
    pub(super) fn run(mut self, first: Arc<Consumer>) {
        let mut consumer = Some(first);
        let mut wait = ANEW.0;
        loop {
            let made = match consumer.take() {
                Some(made) => Ok(made),
                None => consumer::create(&self.source, &self.instance, &self.status),
            };
            let began = Instant::now();
            let stopped = match made {
                Ok(member) => {
                    let stopped = self.read(&member);
                    close(member);
                    stopped
                }
                Err(error) => Stopped::Failed(error.to_string()),
            };
            let (reason, least) = match stopped {
                Stopped::End => return,
                Stopped::Failed(reason) => (reason, Duration::ZERO),
                Stopped::Away(reason) => (reason, consumer::session(&self.source, &self.instance) + ANEW.0),
            };
            self.status.trouble(reason);
            self.forget();
            wait = if began.elapsed() > ANEW.1 { ANEW.0 } else { (wait * 2).min(ANEW.1) };
            if self.wait(wait.max(least)) {
                return;
            }
        }
    }

    fn read(&mut self, consumer: &Arc<Consumer>) -> Stopped {
        let topics: Vec<&str> = self.source.topics.iter().map(String::as_str).collect();
        if let Err(error) = consumer.subscribe(&topics) {
            return Stopped::Failed(format!("kafka.topics: {error}"));
        }
        loop {
            while let Ok(order) = self.orders.try_recv() {
                if self.obey(order, consumer) {
                    return Stopped::End;
                }
            }
            if self.orders.is_closed() {
                return Stopped::End;
            }
            self.advance(consumer);
            if let Some(stopped) = self.state.failed.take() {
                return stopped;
            }
            let wait_for_room = self.ease(consumer);
            self.look(consumer);
            if wait_for_room {
                std::thread::sleep(LINGER);
                continue;
            }
            match consumer.poll(if self.state.bundle.is_empty() { POLL } else { LINGER }) {
                None => self.hand_on(),
                Some(Ok(message)) => self.take(&message, consumer),
                Some(Err(KafkaError::MessageConsumptionFatal(code))) => {
                    let reason =
                        consumer.client().fatal_error().map_or_else(String::new, |(_, reason)| reason);
                    return Stopped::Failed(consumer::explain(code, &reason));
                }
                // What it means was said to the context.
                Some(Err(_)) => {}
            }
        }
    }

    /// Does as told; whether that is to end.
    fn obey(&mut self, order: Order, consumer: &Arc<Consumer>) -> bool {
        match order {
            Order::Rewind { epoch } => {
                self.status.change(|status| status.rewinds += 1);
                self.state.epoch = epoch;
                // All that was read follows what was given up.
                self.state.bundle.clear();
                self.state.bundle_bytes = 0;
                self.relocate(|_| true, consumer);
            }
            Order::Recreated(topics) => {
                tracing::warn!(?topics, "topics were deleted and made again: they are read from their start");
                self.status.reached();
                self.hand_on();
                self.relocate(|topic| topics.iter().any(|known| known == topic), consumer);
            }
            Order::Stored(numbers) => self.stored(&numbers, consumer),
            Order::Located { ticket, found } => self.located(ticket, found, consumer),
            Order::Well => self.status.reached(),
            Order::Unread(unread) => {
                if let Some(reason) = self.state.looks.lost(unread) {
                    self.state.failed = Some(Stopped::Away(reason));
                }
            }
            Order::Finish => {
                self.hand_on();
                self.out = None;
            }
            Order::End => return true,
        }
        false
    }

    /// Takes a message.
    fn take(&mut self, message: &BorrowedMessage<'_>, consumer: &Consumer) {
        let (Some(reading), Ok(offset)) = (
            self.state.partitions.reading(message.topic(), message.partition()),
            u64::try_from(message.offset()),
        ) else {
            return;
        };
        if self.out.is_none() {
            return;
        }
        let after = reading.next;
        if offset < after {
            // The topic is not what it was: made again, or cut short by its cluster.
            self.state.looks.soon(ASK_AGAIN);
            return;
        }
        reading.next = offset + 1;
        if offset > after && after > 0 {
            missed(consumer, &reading.place, after, &self.status);
        }
        let message = Message::copy(Arc::clone(&reading.place), after, offset, message);
        let bytes = message.size();
        self.state.bundle_bytes += bytes;
        self.state.bundle.push(message);
        self.status.change(|status| {
            status.messages += 1;
            status.bytes += bytes as u64;
        });
        if self.state.bundle_bytes >= BUNDLE.0 || self.state.bundle.len() >= BUNDLE.1 {
            self.hand_on();
        }
    }

    /// Hands on what was read.
    fn hand_on(&mut self) {
        let messages = std::mem::take(&mut self.state.bundle);
        if messages.is_empty() {
            return;
        }
        let held = self.state.under_way.take(std::mem::take(&mut self.state.bundle_bytes));
        self.send(Parcel::Messages { epoch: self.state.epoch, messages, held });
    }

    fn send(&self, parcel: Parcel) {
        if let Some(out) = &self.out {
            // Without a flusher nothing is committed, and what was read is read again after a restart.
            let _ended = out.send(parcel);
        }
    }

    /// Pauses when too much has been under way for a while, and goes on once half of it is gone. Whether the
    /// next message is to wait instead.
    fn ease(&mut self, consumer: &Consumer) -> bool {
        let under_way = self.state.under_way.used() + self.state.bundle_bytes;
        let full = if self.state.paused { under_way > UNDER_WAY / 2 } else { under_way >= UNDER_WAY };
        if !full {
            self.state.full = None;
        }
        let paused = full && self.state.full.get_or_insert_with(Instant::now).elapsed() >= PATIENCE;
        if paused != self.state.paused {
            self.state.paused = paused;
            self.pause(consumer, &self.state.partitions.all());
        }
        full && !paused
    }

    /// Pauses partitions, or lets them go on, as all others.
    fn pause(&self, consumer: &Consumer, partitions: &[TopicPartition]) {
        let list = consumer::list(partitions);
        let paused = self.state.paused;
        let done = if paused { consumer.pause(&list) } else { consumer.resume(&list) };
        if let Err(error) = done {
            tracing::warn!(%error, paused, "partitions were not paused or resumed");
        }
        self.status.change(|status| status.paused = paused);
    }

    /// Makes the next step of a change.
    fn advance(&mut self, consumer: &Arc<Consumer>) {
        match &mut self.state.doing {
            Doing::Nothing => {
                // What the group waits for comes first.
                match consumer.context().change().or_else(|| self.state.changes.pop_front()) {
                    None => {}
                    Some(Change::Assign(partitions)) => self.ask(partitions, consumer),
                    Some(Change::Relocate(mut partitions)) => {
                        partitions.retain(|at| self.state.partitions.contains(at));
                        if let Err(error) = consumer::unassign(consumer, &consumer::list(&partitions)) {
                            tracing::warn!(%error, "partitions were not stopped");
                        }
                        self.ask(partitions, consumer);
                    }
                    Some(Change::Revoke(partitions)) => self.leave(partitions, consumer),
                }
            }
            Doing::Locating { ask_again, .. } => {
                if ask_again.is_some_and(|at| at <= Instant::now())
                    && let Doing::Locating { partitions, .. } =
                        std::mem::replace(&mut self.state.doing, Doing::Nothing)
                {
                    self.ask(partitions, consumer);
                }
            }
            Doing::Leaving { committed, until, .. } => {
                let waiting = matches!(committed.try_recv(), Err(oneshot::error::TryRecvError::Empty));
                if (!waiting || *until <= Instant::now())
                    && let Doing::Leaving { partitions, .. } =
                        std::mem::replace(&mut self.state.doing, Doing::Nothing)
                {
                    self.let_go(&partitions, consumer);
                }
            }
        }
    }

    /// Asks where partitions are to be read from.
    fn ask(&mut self, partitions: Vec<TopicPartition>, consumer: &Arc<Consumer>) {
        self.state.tickets += 1;
        let ticket = self.state.tickets;
        let asked = locate::locate(Arc::clone(consumer), self.tables.clone(), partitions.clone());
        self.have_answered(async move { Some(Order::Located { ticket, found: asked.await }) });
        self.state.doing = Doing::Locating { ticket, partitions, ask_again: None };
    }

    /// Has a question answered by an order, however long that takes; none where there is nothing to tell.
    fn have_answered(&self, asked: impl Future<Output = Option<Order>> + Send + 'static) {
        let answers = self.answers.clone();
        self.runtime.spawn(async move {
            if let (Some(order), Some(answers)) = (asked.await, answers.upgrade()) {
                let _ended = answers.send(order);
            }
        });
    }

    /// Reads partitions from where the tables are.
    fn located(&mut self, answer: u64, found: Result<Vec<Placed>, String>, consumer: &Arc<Consumer>) {
        let Doing::Locating { ticket, ask_again, .. } = &mut self.state.doing else { return };
        if *ticket != answer {
            return;
        }
        let placed = match found {
            Ok(placed) => placed,
            Err(reason) => {
                *ask_again = Some(Instant::now() + ASK_AGAIN);
                return self.status.trouble(reason);
            }
        };
        self.state.doing = Doing::Nothing;
        if let Err(error) = consumer::assign(consumer, &placed) {
            // The group has gone on without this member's answer.
            let reason = format!("partitions could not be taken ({error}): joining anew");
            self.state.failed = Some(Stopped::Failed(reason));
            return;
        }
        self.status.well();
        let mut sources = Vec::new();
        for at in &placed {
            let Placed { place, held } = at;
            self.state.partitions.place(at);
            sources.push((Arc::clone(&place.source), *held));
            let key = TopicPartition { topic: place.topic.clone(), partition: place.partition };
            let at = At { stored: held.spans, watermarks: None };
            self.status.change(|status| {
                status.partitions.insert(key, at);
            });
            tracing::info!(source = %place.source, topic = place.topic, from = held.spans, "a partition is read");
        }
        // What was read under another epoch goes before.
        self.hand_on();
        let held: Vec<_> = sources.iter().map(|(source, held)| (Arc::clone(source), held.spans)).collect();
        self.stored(&held, consumer);
        self.send(Parcel::Pass(Arrival::Placed { epoch: self.state.epoch, sources }));
        if self.state.paused {
            self.pause(consumer, &self.state.partitions.all());
        }
    }

    /// Reads partitions no more, and has what was read of them committed.
    fn leave(&mut self, partitions: Vec<TopicPartition>, consumer: &Arc<Consumer>) {
        self.hand_on();
        partitions.iter().for_each(|at| self.state.partitions.suspend(at));
        if consumer.assignment_lost() {
            // They are another's already.
            return self.let_go(&partitions, consumer);
        }
        let (parcel, committed) = barrier();
        self.send(parcel);
        self.state.doing = Doing::Leaving { partitions, committed, until: Instant::now() + LAST_COMMIT };
    }

    fn let_go(&mut self, partitions: &[TopicPartition], consumer: &Arc<Consumer>) {
        let list = consumer::list(partitions);
        if self.state.paused {
            // They would still be paused when they come back.
            let resumed = consumer.resume(&list);
            if let Err(error) = resumed {
                tracing::warn!(%error, "partitions leave paused");
            }
        }
        for at in partitions {
            self.state.partitions.remove(at);
            self.status.change(|status| {
                status.partitions.remove(at);
            });
        }
        if let Err(error) = consumer::unassign(consumer, &list) {
            tracing::warn!(%error, "partitions were not let go");
        }
        tracing::info!(partitions = partitions.len(), "partitions were let go");
    }

    /// Stops partitions of some topics, to be read from where the tables are.
    fn relocate(&mut self, wanted: impl Fn(&str) -> bool, consumer: &Consumer) {
        let one_by_one = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
        let partitions = self.state.partitions.of(|topic| !one_by_one || wanted(topic));
        partitions.iter().for_each(|at| self.state.partitions.suspend(at));
        self.state.changes.push_back(Change::Relocate(partitions));
    }

    /// Forgets the partitions of a member that is gone.
    fn forget(&mut self) {
        self.hand_on();
        self.state.partitions = Partitions::default();
        self.state.changes.clear();
        self.state.doing = Doing::Nothing;
        (self.state.full, self.state.paused) = (None, false);
        self.state.looks = Looks::default();
        self.status.change(|status| {
            status.partitions.clear();
            status.paused = false;
        });
    }

    /// Waits without a member; whether it was told to end.
    fn wait(&mut self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        while Instant::now() < until {
            while let Ok(order) = self.orders.try_recv() {
                match order {
                    Order::Rewind { epoch } => self.state.epoch = epoch,
                    Order::Finish => self.out = None,
                    Order::End => return true,
                    _ => {}
                }
            }
            if self.orders.is_closed() {
                return true;
            }
            std::thread::sleep(POLL);
        }
        false
    }
}

/// Closes a member on this thread, which may take as long as its brokers are away: what it is still asked
/// holds it for some seconds, and must not be what closes it, on a thread that the runtime waits for.
fn close(member: Arc<Consumer>) {
    member.context().close();
    while Arc::strong_count(&member) > 1 {
        std::thread::sleep(POLL);
    }
}

/// Notes messages that were there to be read and are no more. Offsets may also be skipped because they
/// never held one (transactions, compacted topics).
fn missed(consumer: &Consumer, place: &Place, after: u64, status: &Status) {
    let Some((first, _)) = watermarks(consumer.client(), &place.topic, place.partition) else { return };
    if first > after {
        let Place { topic, partition, .. } = place;
        tracing::error!(
            topic,
            partition,
            from = after,
            to = first,
            "messages had expired before they were read: keep them longer, or read faster"
        );
        status.change(|status| status.missed += first - after);
    }
}
