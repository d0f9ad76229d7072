//! `plimsoll plan --record`: what the plan asks for, as drafts in the ledger.
//!
//! Invariant: the ledger appears whole or stays as it was, and its owner's text is kept.

use std::{io::ErrorKind, path::Path};

use jiff::civil::Date;
use plimsoll_plan::{Draft, LedgerText, Plan};

use crate::{
    failure::{self, Failure},
    whole_file::write_text,
};

/// Adds the drafts, and says what was added.
pub(super) fn record(plan: &Plan, path: &Path, today: Date) -> Result<Vec<(String, String)>, Failure> {
    let mut ledger = ledger_text(path)?;
    let added = ledger.record(plan, today).map_err(failure::in_file(path))?;
    if added.is_empty() {
        let said = format!("nothing: {} has every request already", path.display());
        return Ok(vec![("drafted".to_owned(), said)]);
    }
    write_text(path, &ledger.to_string())?;
    let told = |draft: &Draft| {
        let event = draft.event.as_deref().unwrap_or("ordinary use");
        let Draft { pool, dimension, asked, .. } = draft;
        ("drafted".to_owned(), format!("{pool} {dimension}: {asked} for {event} ({})", path.display()))
    };
    Ok(added.iter().map(told).collect())
}

/// The ledger of that file; one that is not there yet is empty.
pub(super) fn ledger_text(path: &Path) -> Result<LedgerText, Failure> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(failure::file(path))?,
    };
    LedgerText::parse(&text).map_err(failure::in_file(path))
}
