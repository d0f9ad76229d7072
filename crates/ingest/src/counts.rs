//! What came and what became of it.
//!
//! Exported through the global meter `plimsoll.ingest`:
//!
//! | metric | kind | attributes | counts |
//! |---|---|---|---|
//! | `plimsoll.ingest.spans` | up-down counter | `state`: received, stored, quarantined, rejected, forwarded, in_flight | spans |
//! | `plimsoll.ingest.requests` | counter | `outcome`: accepted, invalid, too_large, refused | requests |
//! | `plimsoll.ingest.log_records` | counter | `outcome`: call, no_call, rejected | log records by what they tell of |
//! | `plimsoll.ingest.other_signals` | counter | | metric points that were turned away |
//! | `plimsoll.ingest.flushes` | counter | `outcome`: ok, failed | commits to the lake |
//! | `plimsoll.ingest.journal.size` | gauge | | bytes in the journal |
//! | `plimsoll.ingest.journal.segments` | gauge | | files of the journal |
//! | `plimsoll.ingest.journal.age` | gauge | | seconds that the oldest record has waited for the lake |
//! | `plimsoll.ingest.journal.damaged` | counter | | stretches of the journal that were lost |
//! | `plimsoll.ingest.backlog.size` | gauge | | bytes of decoded spans that wait |
//! | `plimsoll.ingest.dead_letters` | counter | | messages and records that were kept as dead letters |
//! | `plimsoll.ingest.ready` | gauge | | 1 while requests are taken |
//!
//! Invariant: `received = stored + quarantined + rejected + forwarded + in_flight` in every [`Counts`] and in
//! every reading of `plimsoll.ingest.spans`; a log record that tells of a call is a span there. A span is
//! received when its request is durable or answered; a request that was refused, and will be sent again, has
//! received nothing. What goes to a topic is counted as it came, records that tell of no call included.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use opentelemetry::KeyValue;
use plimsoll_otlp::Decoded;

use crate::accept::{Core, now_unix_micros};
use crate::journal::Journal;
use crate::signal::Kept;

/// Numbers since the process started, of one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Spans that came, and those that a former process had left in the journal.
    pub received: u64,
    /// Spans committed to the table `spans`.
    pub stored: u64,
    /// Spans committed to the table `quarantine`.
    pub quarantined: u64,
    /// Spans that are stored nowhere, as their senders were told.
    pub rejected: u64,
    /// Spans that Kafka has, for whoever reads the topic; they are counted again where that is this process.
    pub forwarded: u64,
    /// Spans that are durable in the journal and not yet in the lake.
    pub in_flight: u64,
    /// Requests that were acknowledged.
    pub accepted_requests: u64,
    /// Requests that could not be decoded.
    pub invalid_requests: u64,
    /// Requests over the size limit.
    pub too_large_requests: u64,
    /// Requests that were asked to come again.
    pub refused_requests: u64,
    /// Log records that told of a call; they are among the spans.
    pub log_calls: u64,
    /// Log records that told of none and are stored nowhere.
    pub log_passed_over: u64,
    /// Log records that were none; they are among the rejected.
    pub log_rejected: u64,
    /// Metric points that were turned away.
    pub other_signals: u64,
    /// Commits to the lake.
    pub flushes: u64,
    /// Commits that failed and were tried again.
    pub failed_flushes: u64,
    /// Stretches of the journal that could not be read back.
    pub damaged: u64,
    /// Messages and records that were kept as dead letters, since they gave no rows or not all.
    pub dead_letters: u64,
}

impl Counts {
    /// Adds what the log records of a request told of.
    pub(crate) fn add_records(&mut self, signal: Kept, decoded: &Decoded) {
        if signal == Kept::Logs {
            self.log_calls += decoded.received - decoded.rejected;
            self.log_passed_over += decoded.passed_over;
            self.log_rejected += decoded.rejected;
        }
    }
}

/// The one place where they are counted.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Counts>);

impl Ledger {
    pub(crate) fn counts(&self) -> Counts {
        *self.lock()
    }

    /// Changes some numbers at once, so that no reader sees a span in two states or in none.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A metric: its name, unit and meaning, the attribute that tells its readings apart, and how it is
/// read.
struct Metric {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    attribute: &'static str,
    read: fn(&Core) -> Vec<(&'static str, u64)>,
}

const SPANS: Metric = Metric {
    name: "plimsoll.ingest.spans",
    unit: "{span}",
    about: "spans by what became of them; received is the sum of the others",
    attribute: "state",
    read: |core| {
        let counts = core.ledger.counts();
        vec![
            ("received", counts.received),
            ("stored", counts.stored),
            ("quarantined", counts.quarantined),
            ("rejected", counts.rejected),
            ("forwarded", counts.forwarded),
            ("in_flight", counts.in_flight),
        ]
    },
};

const COUNTERS: [Metric; 6] = [
    Metric {
        name: "plimsoll.ingest.requests",
        unit: "{request}",
        about: "export requests by their answer",
        attribute: "outcome",
        read: |core| {
            let counts = core.ledger.counts();
            vec![
                ("accepted", counts.accepted_requests),
                ("invalid", counts.invalid_requests),
                ("too_large", counts.too_large_requests),
                ("refused", counts.refused_requests),
            ]
        },
    },
    Metric {
        name: "plimsoll.ingest.flushes",
        unit: "{commit}",
        about: "commits to the lake",
        attribute: "outcome",
        read: |core| {
            let counts = core.ledger.counts();
            vec![("ok", counts.flushes), ("failed", counts.failed_flushes)]
        },
    },
    Metric {
        name: "plimsoll.ingest.log_records",
        unit: "{record}",
        about: "log records by what they tell of; those of calls are among the spans",
        attribute: "outcome",
        read: |core| {
            let counts = core.ledger.counts();
            vec![
                ("call", counts.log_calls),
                ("no_call", counts.log_passed_over),
                ("rejected", counts.log_rejected),
            ]
        },
    },
    Metric {
        name: "plimsoll.ingest.other_signals",
        unit: "{item}",
        about: "metric points that were turned away",
        attribute: "",
        read: |core| vec![("", core.ledger.counts().other_signals)],
    },
    Metric {
        name: "plimsoll.ingest.journal.damaged",
        unit: "{stretch}",
        about: "stretches of the journal that were lost",
        attribute: "",
        read: |core| vec![("", core.ledger.counts().damaged)],
    },
    Metric {
        name: "plimsoll.ingest.dead_letters",
        unit: "{letter}",
        about: "messages and records that were kept as dead letters",
        attribute: "",
        read: |core| vec![("", core.ledger.counts().dead_letters)],
    },
];

const GAUGES: [Metric; 5] = [
    Metric {
        name: "plimsoll.ingest.journal.size",
        unit: "By",
        about: "bytes in the journal",
        attribute: "",
        read: |core| core.journal.iter().map(|journal| ("", journal.bytes())).collect(),
    },
    Metric {
        name: "plimsoll.ingest.journal.segments",
        unit: "{file}",
        about: "files of the journal",
        attribute: "",
        read: |core| core.journal.iter().map(|journal| ("", journal.segments())).collect(),
    },
    Metric {
        name: "plimsoll.ingest.journal.age",
        unit: "s",
        about: "seconds that the oldest record of the journal has waited for the lake",
        attribute: "",
        read: |core| core.journal.iter().map(|journal| ("", waited(journal))).collect(),
    },
    Metric {
        name: "plimsoll.ingest.backlog.size",
        unit: "By",
        about: "bytes of decoded spans that wait",
        attribute: "",
        read: |core| vec![("", core.backlog.used() as u64)],
    },
    Metric {
        name: "plimsoll.ingest.ready",
        unit: "",
        about: "1 while requests are taken",
        attribute: "",
        read: |core| vec![("", u64::from(core.admit().is_ok()))],
    },
];

fn waited(journal: &Journal) -> u64 {
    let micros = journal.oldest_unix_micros().map_or(0, |oldest| now_unix_micros().saturating_sub(oldest));
    u64::try_from(micros / 1_000_000).unwrap_or(0)
}

impl Metric {
    /// Reads all values at once; none once ingest is gone.
    fn observe(&self, core: &Weak<Core>, mut tell: impl FnMut(u64, &[KeyValue])) {
        let Some(core) = core.upgrade() else { return };
        for (value, number) in (self.read)(&core) {
            match self.attribute {
                "" => tell(number, &[]),
                attribute => tell(number, &[KeyValue::new(attribute, value)]),
            }
        }
    }
}

/// Registers the metrics; they fall silent when ingest is dropped.
pub(crate) fn export(core: &Arc<Core>) {
    let meter = opentelemetry::global::meter("plimsoll.ingest");
    let weak = Arc::downgrade(core);
    let builder =
        meter.i64_observable_up_down_counter(SPANS.name).with_unit(SPANS.unit).with_description(SPANS.about);
    let _spans = builder
        .with_callback(move |observer| {
            SPANS.observe(&weak, |number, attributes| observer.observe(number.cast_signed(), attributes));
        })
        .build();
    for metric in COUNTERS {
        let weak = Arc::downgrade(core);
        let builder =
            meter.u64_observable_counter(metric.name).with_unit(metric.unit).with_description(metric.about);
        let _counter = builder
            .with_callback(move |observer| {
                metric.observe(&weak, |number, attributes| observer.observe(number, attributes));
            })
            .build();
    }
    for metric in GAUGES {
        let weak = Arc::downgrade(core);
        let builder =
            meter.u64_observable_gauge(metric.name).with_unit(metric.unit).with_description(metric.about);
        let _gauge = builder
            .with_callback(move |observer| {
                metric.observe(&weak, |number, attributes| observer.observe(number, attributes));
            })
            .build();
    }
}
