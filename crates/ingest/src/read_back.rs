//! Reading the journal back at a start: what a former process acknowledged and did not store.
//!
//! Invariant: each record is decoded as it was before it was acknowledged, or kept as a dead letter.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use plimsoll_otlp::Receipt;

use crate::accept::{Core, Pending, decoded_bytes};
use crate::budget::Budget;
use crate::dead_letter::{DeadLetters, Letter, Origin};
use crate::inflate::inflate;
use crate::journal::{Damage, Journal, JournalError, Record, Replay, Replayed};
use crate::tables::Held;

/// What a replay gives.
pub(crate) enum Item {
    /// Spans for the lake.
    Pending(Pending),
    /// A record that gives none any more, and the segment that holds it.
    Undecodable { letter: Box<Letter>, segment: Option<PathBuf> },
}

/// The next record of a replay; `None` at the end.
pub(crate) fn next(
    core: &Core,
    journal: &Journal,
    held: Held,
    replay: &mut Replay,
) -> Result<Option<Item>, JournalError> {
    loop {
        let Some(item) = replay.next().transpose()? else { return Ok(None) };
        match item {
            Replayed::Damaged(damage) => report(core, journal, &damage),
            Replayed::Record(record) => {
                return Ok(Some(match again(core, held, &record) {
                    Ok(pending) => Item::Pending(pending),
                    Err(reason) => Item::Undecodable {
                        letter: Box::new(letter(journal.node(), record, reason)),
                        segment: replay.segment().map(Path::to_owned),
                    },
                }));
            }
        }
    }
}

/// Keeps a record that cannot be decoded any more as a dead letter, or with its whole segment where that
/// fails.
pub(crate) async fn keep(
    core: &Core,
    journal: &Journal,
    dead_letters: &DeadLetters,
    letter: &Letter,
    segment: Option<&Path>,
) {
    tracing::error!(from = ?letter.from, reason = letter.reason, "a record of the journal cannot be decoded any more");
    match dead_letters.keep(std::slice::from_ref(letter)).await {
        Ok(()) => core.ledger.change(|counts| counts.dead_letters += 1),
        Err(error) => {
            tracing::error!(%error, "its segment of the journal is set aside in place of a dead letter");
            core.ledger.change(|counts| counts.damaged += 1);
            if let Some(segment) = segment {
                journal.set_aside(segment);
            }
        }
    }
}

fn letter(node: &str, record: Record, reason: String) -> Letter {
    let Record { seq, entry } = record;
    Letter {
        received: Timestamp::from_microsecond(entry.received_unix_micros).unwrap_or_default(),
        from: Origin::Journal { node: node.to_owned(), seq },
        reason,
        signal: Some(entry.signal),
        encoding: Some(entry.encoding),
        content_encoding: entry.coding.name().map(str::to_owned),
        headers: Vec::new(),
        key: None,
        body: entry.body,
    }
}

/// Decodes a record as it was decoded before it was acknowledged.
fn again(core: &Core, held: Held, record: &Record) -> Result<Pending, String> {
    let entry = &record.entry;
    // It was within the limits when it was acknowledged; those of today must not lose it.
    let unlimited = usize::MAX - 1;
    let mut memory = Arc::new(Budget::new(usize::MAX)).take(0);
    let body =
        inflate(entry.coding, &entry.body, unlimited, &mut memory).map_err(|error| error.to_string())?;
    let receipt = Receipt { received_unix_micros: entry.received_unix_micros, source: &core.source };
    let mut decoded = entry
        .signal
        .decode(&core.decoder, &body, entry.encoding, &receipt)
        .map_err(|error| error.to_string())?;
    if record.seq <= held.quarantine {
        decoded.quarantined = decoded.quarantined.slice(0, 0);
    }
    let rows = (decoded.spans.num_rows() + decoded.quarantined.num_rows()) as u64;
    core.ledger.change(|counts| {
        counts.received += rows;
        counts.in_flight += rows;
    });
    let held = core.backlog.take(decoded_bytes(&decoded));
    Ok(Pending { seq: record.seq, spans: decoded.spans, quarantined: decoded.quarantined, held })
}

fn report(core: &Core, journal: &Journal, damage: &Damage) {
    let Damage { segment, from, to, seq } = damage;
    tracing::error!(segment = %segment.display(), from, to, seq, "part of the journal is damaged and its spans are lost");
    core.ledger.change(|counts| counts.damaged += 1);
    journal.set_aside(segment);
}
