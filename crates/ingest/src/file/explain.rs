//! What ingest would make of a file, and why; nothing is stored.

use plimsoll_otlp::explain::Explained;
use plimsoll_otlp::{DecodeError, Decoder, Receipt};

use super::bodies::{Bad, Bodies};
use super::content::Content;
use super::error::FileError;
use super::options::{BadItem, FileInput, FileOptions};
use super::span::Rows;
use crate::signal::by_signal;

/// Calls `each` with what each request that [`super::ingest_file`] would decode gives, in the file's order,
/// until `each` says that it has seen enough. Gives the items that could not be read. Blocks.
///
/// # Errors
/// The file can't be read or understood.
pub fn explain_file(
    input: &FileInput,
    options: &FileOptions,
    decoder: &Decoder,
    mut each: impl FnMut(Result<Explained, DecodeError>) -> bool,
) -> Result<Vec<BadItem>, FileError> {
    let mut content = Content::open(input)?;
    let digest = content.digest()?;
    let source = options.source.clone().unwrap_or_else(|| content.stem.clone());
    let FileOptions { format, columns, constants, start, time_unit: unit, .. } = options.clone();
    let rows = Rows { digest, source: source.clone(), constants, start, unit };
    let source = format!("file/{source}");
    let receipt = Receipt { received_unix_micros: 0, source: &source };
    let mut bodies = Bodies::open(&mut content, format, rows, columns)?;
    let (mut through, mut bad) = (0, Bad::default());
    while let Some(body) = bodies.next(through, &mut bad)? {
        through = body.through;
        let explain =
            |signal: crate::signal::Kept| signal.explain(decoder, &body.bytes, body.encoding, &receipt);
        if !each(by_signal(body.signal, explain, |explained| &explained.decoded)) {
            break;
        }
    }
    Ok(bad.first)
}
