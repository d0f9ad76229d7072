//! What happens to one request, whichever way it came: admitted, inflated, decoded, made durable,
//! answered.
//!
//! The receivers read bytes off the wire and turn an [`Accepted`] or a [`Refusal`] into their
//! protocol's answer; nothing here knows HTTP or gRPC.
//!
//! Invariant: an [`Accepted`] is given only for spans that are durable in the journal, on the disk or in a
//! topic, and every span of the request is then counted once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use bytes::Bytes;
use plimsoll_otlp::{DecodeError, Decoded, Decoder, Encoding, Receipt};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::budget::{Budget, Exhausted, Reservation};
use crate::config::Limits;
use crate::counts::Ledger;
use crate::inflate::{Coding, InflateError, inflate};
use crate::journal::{AppendError, Entry, Journal};
use crate::kafka::Producer;
use crate::signal::{Kept, METRICS_TURNED_AWAY, metric_points};

/// What receivers, flusher and handle share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) decoder: Arc<Decoder>,
    pub(crate) log: Log,
    /// The journal on the disk, where this process writes the lake.
    pub(crate) journal: Option<Arc<Journal>>,
    pub(crate) ledger: Ledger,
    pub(crate) limits: Limits,
    /// Memory of requests until they are decoded.
    pub(crate) in_flight: Arc<Budget>,
    /// Memory of decoded spans until they are written to a file.
    pub(crate) backlog: Arc<Budget>,
    /// What the rows say about where they came from.
    pub(crate) source: String,
    /// As many as there are processors: more would only take memory.
    pub(crate) decoders: Arc<Semaphore>,
    pub(crate) durable: mpsc::UnboundedSender<Pending>,
    /// Set while ingest ends.
    pub(crate) closing: AtomicBool,
    /// Cleared when the flusher ends.
    pub(crate) flushing: AtomicBool,
}

/// What makes a request durable.
#[derive(Debug)]
pub(crate) enum Log {
    Disk(Arc<Journal>),
    Kafka(Producer),
}

/// A request's body as it came, and the memory that it holds.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    pub(crate) coding: Coding,
    pub(crate) held: Reservation,
}

/// Decoded spans that are durable and on their way to the lake.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) seq: u64,
    pub(crate) spans: RecordBatch,
    pub(crate) quarantined: RecordBatch,
    pub(crate) held: Reservation,
}

/// A success, whole or partial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Accepted {
    /// Items of the request that are stored nowhere.
    pub(crate) rejected: u64,
    /// Why not.
    pub(crate) message: Option<String>,
}

/// A request that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// It cannot be decoded and must not be sent again as it is.
    #[error("{0}")]
    Invalid(String),
    /// It is over the size limit and must not be sent again as it is.
    #[error("{0}")]
    TooLarge(String),
    /// The senders share more than there is room for; send it again.
    #[error("{0}")]
    Busy(String),
    /// The server cannot keep it for now; send it again.
    #[error("{0}")]
    Unavailable(String),
}

impl Refusal {
    /// Seconds after which a sender should try again; `None` where it should not.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Invalid(_) | Self::TooLarge(_) => None,
            Self::Busy(_) => Some(1),
            Self::Unavailable(_) => Some(5),
        }
    }
}

impl From<Exhausted> for Refusal {
    fn from(error: Exhausted) -> Self {
        Self::Busy(error.to_string())
    }
}

impl From<InflateError> for Refusal {
    fn from(error: InflateError) -> Self {
        match error {
            InflateError::TooLarge(_) => Self::TooLarge(error.to_string()),
            InflateError::Corrupt(_) => Self::Invalid(error.to_string()),
            InflateError::Exhausted(error) => error.into(),
        }
    }
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Invalid(_) | DecodeError::InvalidLogs(_) => Self::Invalid(error.to_string()),
            // The sender is not at fault, and the next version may do better.
            DecodeError::Misfit(_) => Self::Unavailable(error.to_string()),
            DecodeError::TooManySpans { .. } | DecodeError::TooLarge { .. } => {
                Self::TooLarge(error.to_string())
            }
        }
    }
}

impl From<AppendError> for Refusal {
    fn from(error: AppendError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl Core {
    /// Whether a request would be taken now: asked before its body is read, and by readiness.
    ///
    /// # Errors
    /// What is in the way.
    pub(crate) fn admit(&self) -> Result<(), Refusal> {
        let unavailable = |reason: &str| Err(Refusal::Unavailable(reason.to_owned()));
        if self.closing.load(Ordering::Relaxed) {
            return unavailable("the server is shutting down");
        }
        match &self.log {
            Log::Kafka(producer) => producer.link().map(drop).map_err(Refusal::Unavailable),
            Log::Disk(journal) => {
                if let Some(reason) = journal.stopped() {
                    unavailable(reason)
                } else if !self.flushing.load(Ordering::Relaxed) {
                    unavailable("the writer of the lake has ended: restart the server")
                } else if journal.is_full() {
                    unavailable("the journal is full: it drains as the lake stores spans")
                } else if self.backlog.is_full() {
                    unavailable("decoded spans are waiting for the lake")
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Takes a request of traces or logs: when this returns `Ok`, its spans are durable.
    ///
    /// # Errors
    /// The request is at fault, or there is no room for it now.
    pub(crate) async fn accept(
        self: &Arc<Self>,
        body: Body,
        encoding: Encoding,
        signal: Kept,
    ) -> Result<Accepted, Refusal> {
        let answer = match &self.log {
            Log::Disk(journal) => self.take(journal, body, encoding, signal).await,
            Log::Kafka(producer) => self.forward(producer, body, encoding, signal).await,
        };
        self.count(&answer);
        answer
    }

    /// Answers a metrics request: a success in which every point is rejected, so that exporters neither
    /// fail nor try again.
    ///
    /// # Errors
    /// As for [`Core::accept`].
    pub(crate) async fn turn_away(
        self: &Arc<Self>,
        body: Body,
        encoding: Encoding,
    ) -> Result<Accepted, Refusal> {
        let core = Arc::clone(self);
        let counted = self.decode(
            move |mut body| {
                let bytes = body.inflate(core.limits.max_message_bytes)?;
                metric_points(&bytes, encoding).map_err(Refusal::Invalid)
            },
            body,
        );
        let answer = counted.await.map(|rejected| {
            self.ledger.change(|counts| counts.other_signals += rejected);
            Accepted { rejected, message: Some(METRICS_TURNED_AWAY.to_owned()) }
        });
        self.count(&answer);
        answer
    }

    /// Counts a refusal that was decided before there was a body.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        self.count(&Err(refusal.clone()));
    }

    async fn take(
        self: &Arc<Self>,
        journal: &Journal,
        body: Body,
        encoding: Encoding,
        signal: Kept,
    ) -> Result<Accepted, Refusal> {
        let received_unix_micros = now_unix_micros();
        let (raw, coding) = (body.bytes.clone(), body.coding);
        let core = Arc::clone(self);
        let decoded = self
            .decode(
                move |mut body| {
                    let bytes = body.inflate(core.limits.max_message_bytes)?;
                    let receipt = Receipt { received_unix_micros, source: &core.source };
                    Ok(signal.decode(&core.decoder, &bytes, encoding, &receipt)?)
                },
                body,
            )
            .await?;
        let accepted = Accepted { rejected: decoded.rejected, message: decoded.message.clone() };
        if decoded.spans.num_rows() + decoded.quarantined.num_rows() == 0 {
            self.ledger.change(|counts| {
                counts.received += decoded.received;
                counts.rejected += decoded.received;
                counts.add_records(signal, &decoded);
            });
            return Ok(accepted);
        }
        let entry = Entry { received_unix_micros, signal, encoding, coding, body: raw };
        self.keep(journal, entry, decoded).await?;
        Ok(accepted)
    }

    /// Runs what takes processor time off the threads that serve connections.
    pub(crate) async fn decode<T: Send + 'static>(
        &self,
        work: impl FnOnce(Body) -> Result<T, Refusal> + Send + 'static,
        body: Body,
    ) -> Result<T, Refusal> {
        let closed = |_| Refusal::Unavailable("the server is shutting down".to_owned());
        let permit = Arc::clone(&self.decoders).acquire_owned().await.map_err(closed)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work(body);
            drop(permit);
            result
        });
        done.await.unwrap_or_else(|error| {
            // A body that makes the decoder panic would do so again.
            tracing::error!(%error, "decoding a request failed");
            Err(Refusal::Invalid("the body cannot be decoded: this is a fault of the server's".to_owned()))
        })
    }

    /// Makes the request durable and hands its spans on, in the order of the journal.
    async fn keep(
        self: &Arc<Self>,
        journal: &Journal,
        entry: Entry,
        decoded: Decoded,
    ) -> Result<(), Refusal> {
        let (acknowledge, acknowledged) = oneshot::channel();
        let held = self.backlog.take(decoded_bytes(&decoded));
        let core = Arc::clone(self);
        let signal = entry.signal;
        journal.append(entry, move |written| {
            let kept = written.map(|seq| core.hand_on(seq, signal, decoded, held));
            // The sender may have hung up; its spans are kept all the same.
            let _gone = acknowledge.send(kept);
        });
        match acknowledged.await {
            Ok(kept) => Ok(kept?),
            Err(_) => Err(Refusal::Unavailable("the journal has closed".to_owned())),
        }
    }

    fn hand_on(&self, seq: u64, signal: Kept, decoded: Decoded, held: Reservation) {
        self.ledger.change(|counts| {
            counts.received += decoded.received;
            counts.rejected += decoded.rejected;
            counts.in_flight += decoded.received - decoded.rejected;
            counts.add_records(signal, &decoded);
        });
        let Decoded { spans, quarantined, .. } = decoded;
        // Without a flusher the record waits in the journal for the next start.
        let _ended = self.durable.send(Pending { seq, spans, quarantined, held });
    }

    fn count(&self, answer: &Result<Accepted, Refusal>) {
        self.ledger.change(|counts| match answer {
            Ok(_) => counts.accepted_requests += 1,
            Err(Refusal::Invalid(_)) => counts.invalid_requests += 1,
            Err(Refusal::TooLarge(_)) => counts.too_large_requests += 1,
            Err(Refusal::Busy(_) | Refusal::Unavailable(_)) => counts.refused_requests += 1,
        });
    }
}

impl Body {
    pub(crate) fn inflate(&mut self, limit: usize) -> Result<Bytes, InflateError> {
        inflate(self.coding, &self.bytes, limit, &mut self.held)
    }
}

/// Bytes that decoded spans take.
pub(crate) fn decoded_bytes(decoded: &Decoded) -> usize {
    decoded.spans.get_array_memory_size() + decoded.quarantined.get_array_memory_size()
}

/// The clock, in microseconds since 1970.
pub(crate) fn now_unix_micros() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}
