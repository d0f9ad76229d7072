//! `plimsoll plan --record`: what the plan asks for, as drafts in the ledger.
//!
//! Invariant: the ledger appears whole or stays as it was, and its owner's text is kept.

use std::{
    io::{ErrorKind, Write as _},
    path::Path,
};

use jiff::civil::Date;
use plimsoll_plan::{LedgerText, Plan, SpecError};

use crate::{
    failure::{self, Failure},
    whole_file::WholeFile,
};

/// Adds the drafts, and says what was added.
pub(super) fn record(plan: &Plan, path: &Path, today: Date) -> Result<Vec<(String, String)>, Failure> {
    let mut ledger = read(path)?;
    let added = ledger.record(plan, today).map_err(in_folder(path))?;
    if added.is_empty() {
        let said = format!("nothing: {} has every request already", path.display());
        return Ok(vec![("drafted".to_owned(), said)]);
    }
    write(path, &ledger.to_string())?;
    let told = |draft: &plimsoll_plan::Draft| {
        let event = draft.event.as_deref().unwrap_or("ordinary use");
        let said =
            format!("{} {}: {} for {event} ({})", draft.pool, draft.dimension, draft.asked, path.display());
        ("drafted".to_owned(), said)
    };
    Ok(added.iter().map(told).collect())
}

/// The ledger of that file; one that is not there yet is empty.
pub(super) fn read(path: &Path) -> Result<LedgerText, Failure> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(failure::file(path))?,
    };
    LedgerText::parse(&text).map_err(in_folder(path))
}

/// Writes a text that people own, whole or not at all.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes()).map_err(failure::file(path))?;
    file.finish().map_err(failure::file(path))?;
    Ok(())
}

/// A fault in a file that messages call by its name alone, under the path that the user knows it by.
pub(super) fn in_folder(path: &Path) -> impl FnOnce(SpecError) -> Failure {
    let path = path.display().to_string();
    move |mut fault| {
        fault.file = path;
        Failure::input(fault)
    }
}
