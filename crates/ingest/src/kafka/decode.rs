//! Messages to rows: what a message says it is, what it gives, and whether it is a dead letter.
//!
//! Pure but for memory. A message that gives nothing but faults is a letter; so is one with some bad spans,
//! whose good ones are stored. Invariant: every message is in a portion, with its rows or without.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use jiff::Timestamp;
use plimsoll_otlp::{DecodeError, Decoded, Decoder, Encoding, Receipt};

use super::lane::{Portion, Tally};
use super::message::Message;
use crate::budget::Budget;
use crate::content_type;
use crate::dead_letter::{Letter, Origin};
use crate::inflate::{Coding, inflate};
use crate::signal::{Kept, METRICS_TURNED_AWAY, by_signal, metric_points, sniff, speaks_of};

/// The header that names the signal, for bodies that don't show it.
pub(crate) const SIGNAL_HEADER: &str = "plimsoll.signal";

/// Rows from which on a batch is worth its memory.
const SMALL: usize = 256;
/// Bytes of small batches that wait to be joined.
const LOOSE: usize = 4 << 20;

/// How messages are read.
#[derive(Debug)]
pub(super) struct Opener {
    pub(super) decoder: Arc<Decoder>,
    /// How bodies are written where they don't say it themselves.
    pub(super) encoding: Option<Encoding>,
    pub(super) max_message_bytes: usize,
}

/// What a message gave.
#[derive(Default)]
struct Opened {
    decoded: Option<(Kept, Decoded)>,
    fault: Option<String>,
    signal: Option<Kept>,
    encoding: Option<Encoding>,
}

/// The messages of one source.
struct Gathered {
    portion: Portion,
    /// Small batches that wait to be joined.
    loose: Vec<RecordBatch>,
}

impl Opener {
    /// Opens messages in the order in which they were read: a portion for each source, and the dead
    /// letters.
    pub(super) fn open(&self, epoch: u64, messages: &[Message]) -> (Vec<Portion>, Vec<Letter>) {
        let mut gathered: Vec<Gathered> = Vec::new();
        let mut letters = Vec::new();
        let mut loose = 0;
        for message in messages {
            let opened = self.open_one(message);
            let at = gathered.iter().rposition(|known| known.portion.source == message.place.source);
            let at = at.unwrap_or_else(|| {
                gathered.push(Gathered::new(epoch, message));
                gathered.len() - 1
            });
            let Some(of) = gathered.get_mut(at) else { continue };
            loose += of.add(message.offset, opened.decoded);
            if let Some(reason) = opened.fault {
                of.portion.tally.dead_letters += 1;
                letters.push(letter(message, reason, opened.signal, opened.encoding));
            }
            if loose > LOOSE {
                gathered.iter_mut().for_each(Gathered::join);
                loose = 0;
            }
        }
        (gathered.into_iter().map(Gathered::finish).collect(), letters)
    }

    fn open_one(&self, message: &Message) -> Opened {
        let mut opened = Opened::default();
        // What makes the decoder panic would do so again: it is kept, and the reading goes on.
        let read = catch_unwind(AssertUnwindSafe(|| self.read(message, &mut opened)));
        let read =
            read.unwrap_or_else(|_| Err("the decoder failed: this is a fault of the program".to_owned()));
        match read {
            Ok((signal, decoded)) => {
                let message = decoded.message.clone();
                if decoded.rejected > 0 {
                    opened.fault = Some(message.unwrap_or_else(|| "some spans were rejected".to_owned()));
                }
                opened.signal = Some(signal);
                opened.decoded = Some((signal, decoded));
            }
            Err(reason) => opened.fault = Some(reason),
        }
        opened
    }

    fn read(&self, message: &Message, opened: &mut Opened) -> Result<(Kept, Decoded), String> {
        if message.body.is_empty() {
            return Err("the message is empty".to_owned());
        }
        opened.signal = match message.header(SIGNAL_HEADER) {
            None => None,
            Some("metrics") => return Err(METRICS_TURNED_AWAY.to_owned()),
            Some(name) => {
                let unknown = || format!("the header {SIGNAL_HEADER} says `{name}`: send traces or logs");
                Some(Kept::from_name(name).ok_or_else(unknown)?)
            }
        };
        let coding = message.header("content-encoding").unwrap_or_default();
        let coding = Coding::from_name(coding)
            .ok_or_else(|| format!("the content-encoding `{coding}` is not known: use gzip or zstd"))?;
        let mut held = Arc::new(Budget::new(usize::MAX)).take(0);
        let body = inflate(coding, &message.body, self.max_message_bytes, &mut held)
            .map_err(|error| error.to_string())?;
        let encoding =
            encoding(message.header("content-type")).or(self.encoding).unwrap_or_else(|| sniff(&body));
        opened.encoding = Some(encoding);
        if encoding == Encoding::Json && opened.signal.is_none() {
            opened.signal = speaks_of(&body);
            if opened.signal.is_none() {
                return Err(neither(&body, encoding, "the message holds neither traces nor logs"));
            }
        }
        let receipt =
            Receipt { received_unix_micros: message.received_unix_micros, source: &message.place.label };
        let read = |signal: Kept| {
            signal.decode(&self.decoder, &body, encoding, &receipt).map(|decoded| (signal, decoded))
        };
        let (signal, decoded) = by_signal(opened.signal, read, |(_, decoded)| decoded).map_err(|error| {
            if let DecodeError::Misfit(_) = error {
                tracing::error!(%error, source = %message.place.source, offset = message.offset, "a message does not fit the tables");
            }
            neither(&body, encoding, &error.to_string())
        })?;
        if opened.signal.is_none() && decoded.received == decoded.rejected && decoded.rejected > 0 {
            // Nothing but rejects may be another signal that looks like this one.
            if metric_points(&body, encoding).is_ok_and(|points| points > 0) {
                return Err(METRICS_TURNED_AWAY.to_owned());
            }
        }
        Ok((signal, decoded))
    }
}

impl Gathered {
    fn new(epoch: u64, first: &Message) -> Self {
        let portion = Portion {
            epoch,
            source: Arc::clone(&first.place.source),
            after: first.after,
            first: first.offset,
            next: first.offset,
            spans: Vec::new(),
            quarantined: Vec::new(),
            tally: Tally::default(),
        };
        Self { portion, loose: Vec::new() }
    }

    /// Adds what a message gave; says how many bytes wait to be joined because of it.
    fn add(&mut self, offset: u64, decoded: Option<(Kept, Decoded)>) -> usize {
        self.portion.next = offset + 1;
        let Some((signal, decoded)) = decoded else { return 0 };
        self.portion.tally.add(Tally::of(signal, &decoded));
        let Decoded { spans, quarantined, .. } = decoded;
        if quarantined.num_rows() > 0 {
            self.portion.quarantined.push((offset, fitting(quarantined)));
        }
        let bytes = spans.get_array_memory_size();
        match spans.num_rows() {
            0 => 0,
            SMALL.. => {
                self.portion.spans.push(spans);
                0
            }
            _ => {
                self.loose.push(spans);
                bytes
            }
        }
    }

    /// Makes one batch of the small ones: each takes a few hundred kilobytes, however few its rows.
    fn join(&mut self) {
        let joined = match &*self.loose {
            [first, _, ..] => concat_batches(first.schema_ref(), &self.loose).ok(),
            _ => None,
        };
        match joined {
            Some(joined) => {
                self.loose.clear();
                self.portion.spans.push(joined);
            }
            None => self.portion.spans.append(&mut self.loose),
        }
    }

    fn finish(mut self) -> Portion {
        self.join();
        self.portion
    }
}

impl Tally {
    fn of(signal: Kept, decoded: &Decoded) -> Self {
        let rejected = decoded.rejected;
        match signal {
            Kept::Traces => Self { rejected, ..Self::default() },
            Kept::Logs => Self {
                rejected,
                log_calls: decoded.received - rejected,
                log_passed_over: decoded.passed_over,
                log_rejected: rejected,
                ..Self::default()
            },
        }
    }
}

/// The same rows in no more memory than they need.
fn fitting(rows: RecordBatch) -> RecordBatch {
    let all = UInt32Array::from_iter_values((0_u32..).take(rows.num_rows()));
    take_record_batch(&rows, &all).unwrap_or(rows)
}

/// What a `content-type` says; none where it says nothing of OTLP. Messages come from more hands than
/// requests, and some leave out the `x-`.
fn encoding(content_type: Option<&str>) -> Option<Encoding> {
    let said = content_type?;
    let short = || content_type::is(said, "application/protobuf").then_some(Encoding::Protobuf);
    content_type::encoding(said).or_else(short)
}

/// The reason why a body gives nothing, unless it is metrics.
fn neither(body: &[u8], encoding: Encoding, reason: &str) -> String {
    match metric_points(body, encoding) {
        Ok(points) if points > 0 => METRICS_TURNED_AWAY.to_owned(),
        _ => reason.to_owned(),
    }
}

fn letter(message: &Message, reason: String, signal: Option<Kept>, encoding: Option<Encoding>) -> Letter {
    let place = &message.place;
    Letter {
        received: Timestamp::from_microsecond(message.received_unix_micros).unwrap_or_default(),
        from: Origin::Kafka {
            cluster: place.cluster.clone(),
            topic: place.topic.clone(),
            topic_id: place.topic_id.clone(),
            partition: place.partition,
            offset: message.offset,
        },
        reason,
        signal,
        encoding,
        content_encoding: message.header("content-encoding").map(str::to_owned),
        headers: message.headers.clone(),
        key: message.key.clone(),
        body: message.body.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that were cut out of a larger batch keep nothing of it alive.
    #[test]
    fn rows_take_what_they_need() {
        let numbers: UInt32Array = (0..100_000).collect();
        let field = arrow::datatypes::Field::new("n", arrow::datatypes::DataType::UInt32, true);
        let schema = Arc::new(arrow::datatypes::Schema::new(vec![field]));
        let rows = RecordBatch::try_new(schema, vec![Arc::new(numbers)]).map(|rows| rows.slice(7, 1));
        let fitted = rows.map(fitting);
        assert!(fitted.is_ok_and(|rows| rows.num_rows() == 1 && rows.get_array_memory_size() < 1000));
    }
}
