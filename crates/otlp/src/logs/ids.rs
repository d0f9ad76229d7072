//! The ids of the span that a log record becomes.
//!
//! Most records have no ids, or those of a span that is not the call's alone. Ids are then made of what
//! the record says, by SHA-256, so that they are the same whenever and wherever the record comes again.
//! The time of collection is left out where the record has one of its own.

use sha2::{Digest, Sha256};

use crate::wire::Record;

/// The record's trace, else one made of the session and the key of the run, else of the record alone.
pub(super) fn trace_id(record: &Record<'_>, session: Option<&str>, run_key: Option<&str>) -> [u8; 16] {
    if let Some(id) = valid(record.trace_id) {
        return id;
    }
    let mut hash = Sha256::new();
    if session.or(run_key).is_none() {
        add_record(record, &mut hash);
    }
    for part in [session, run_key].into_iter().flatten() {
        add(part.as_bytes(), &mut hash);
    }
    first(hash)
}

/// The record's span where that is the call's own, else one made of the record.
pub(super) fn span_id(record: &Record<'_>, own: bool) -> [u8; 8] {
    let sent = valid(record.span_id).filter(|_| own && valid::<16>(record.trace_id).is_some());
    sent.unwrap_or_else(|| {
        let mut hash = Sha256::new();
        add_record(record, &mut hash);
        first(hash)
    })
}

/// Adds all that tells a record from others, whatever the order of its attributes.
fn add_record(record: &Record<'_>, hash: &mut Sha256) {
    add(&record.happened().to_le_bytes(), hash);
    for part in [record.trace_id, record.span_id, record.event_name] {
        add(part, hash);
    }
    let mut attributes = record.attribute_bytes.clone();
    attributes.sort_unstable();
    for attribute in attributes {
        add(attribute, hash);
    }
}

/// Adds a part, with its length so that no two parts run together.
fn add(part: &[u8], hash: &mut Sha256) {
    hash.update((part.len() as u64).to_le_bytes());
    hash.update(part);
}

/// The id, if it has the length of one and is not all zeros.
fn valid<const N: usize>(id: &[u8]) -> Option<[u8; N]> {
    id.try_into().ok().filter(|id| *id != [0; N])
}

fn first<const N: usize>(hash: Sha256) -> [u8; N] {
    let mut id = [0; N];
    id.copy_from_slice(&hash.finalize()[..N]);
    id
}
