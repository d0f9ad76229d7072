//! The bodies of a file for who wants to look at them and store nothing.

use plimsoll_otlp::Encoding;

use super::bodies::{Bad, Bodies};
use super::content::Content;
use super::error::FileError;
use super::options::{BadItem, FileInput, FileOptions};
use super::span::Rows;

/// Calls `each` with every OTLP request that [`super::ingest_file`] would decode, in the file's order,
/// until `each` says that it has seen enough. Gives the items that could not be read. Blocks.
///
/// # Errors
/// The file can't be read or understood.
pub fn read_bodies(
    input: &FileInput,
    options: &FileOptions,
    mut each: impl FnMut(&[u8], Encoding) -> bool,
) -> Result<Vec<BadItem>, FileError> {
    let mut content = Content::open(input)?;
    let digest = content.digest()?;
    let source = options.source.clone().unwrap_or_else(|| content.stem.clone());
    let FileOptions { format, columns, constants, start, time_unit: unit, .. } = options.clone();
    let rows = Rows { digest, source, constants, start, unit };
    let mut bodies = Bodies::open(&mut content, format, rows, columns)?;
    let (mut through, mut bad) = (0, Bad::default());
    while let Some(body) = bodies.next(through, &mut bad)? {
        through = body.through;
        if !each(&body.bytes, body.encoding) {
            break;
        }
    }
    Ok(bad.first)
}
