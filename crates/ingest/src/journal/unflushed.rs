//! What a journal holds that its lake does not, for whoever asks from outside.
//!
//! Reads beside the process that has the directory: nothing is locked, made or mended. Records that come
//! or go meanwhile may be counted or not.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use plimsoll_lake::Lake;

use super::error::JournalError;
use super::node::{Node, look};
use super::scan::{Found, Scanner};
use super::segment;
use crate::error::IngestError;

/// The records of the journal in `folder`, each of which is a request, that `lake` does not hold yet; 0 where
/// there is no journal.
///
/// # Errors
/// The folder or the lake can't be read.
pub async fn unflushed(folder: &Path, lake: &Lake) -> Result<u64, IngestError> {
    let Some(node) = look(folder)? else { return Ok(0) };
    let spans = lake.table("spans").await?.snapshot().await?;
    let held = spans.txn(&format!("otlp/{}", node.id)).and_then(|seq| u64::try_from(seq).ok());
    let (folder, after) = (folder.to_owned(), held.unwrap_or(0).max(node.stored));
    let counted = tokio::task::spawn_blocking(move || {
        records_after(&folder, &node, after).map_err(JournalError::io("read", folder))
    });
    let stopped = |error| JournalError::io("read", "the journal")(io::Error::other(error));
    Ok(counted.await.map_err(stopped)??)
}

fn records_after(folder: &Path, node: &Node, after: u64) -> io::Result<u64> {
    let mut records = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(first_seq) = entry.file_name().to_str().and_then(segment::first_seq) else { continue };
        let mut scanner = match Scanner::open(&entry.path(), &node.salt, first_seq) {
            Ok(scanner) => scanner,
            // It was stored meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        loop {
            match scanner.next()? {
                Found::Record(record) => records += u64::from(record.seq > after),
                Found::Damaged { .. } => {}
                Found::End { .. } => break,
            }
        }
    }
    Ok(records)
}
