//! Reading the journal back at a start: what a former process acknowledged and did not store.
//!
//! Invariant: each record is decoded as it was before it was acknowledged, or reported and set aside.

use std::sync::Arc;

use plimsoll_otlp::Receipt;

use crate::accept::{Core, Pending, decoded_bytes};
use crate::budget::Budget;
use crate::inflate::inflate;
use crate::journal::{Damage, Journal, JournalError, Record, Replay, Replayed};
use crate::tables::Held;

/// The next record of a replay that still gives spans; `None` at the end.
pub(crate) fn next(
    core: &Core,
    journal: &Journal,
    held: Held,
    replay: &mut Replay,
) -> Result<Option<Pending>, JournalError> {
    loop {
        let Some(item) = replay.next().transpose()? else { return Ok(None) };
        match item {
            Replayed::Damaged(damage) => report(core, journal, &damage),
            Replayed::Record(record) => match again(core, held, &record) {
                Ok(pending) => return Ok(Some(pending)),
                Err(reason) => {
                    tracing::error!(
                        seq = record.seq,
                        reason,
                        "a record of the journal cannot be decoded any more"
                    );
                    core.ledger.change(|counts| counts.damaged += 1);
                    if let Some(segment) = replay.segment() {
                        journal.set_aside(segment);
                    }
                }
            },
        }
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
