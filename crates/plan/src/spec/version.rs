//! The version of a file's form: 1, or none told.
//!
//! It is looked at before anything else, since a file of another version may hold keys that this one does
//! not know, and those are not what its owner should hear about.

use toml_edit::Document;

use crate::SpecError;
use crate::place::Place;

/// The version of `plan.toml` and `ledger.toml` that this program reads.
const VERSION: i64 = 1;

/// The refusal of a text of another version; none where it is ours, or where it is no TOML at all, which
/// its reader will say.
pub(crate) fn other_version(file: &str, text: &str) -> Option<SpecError> {
    let document = Document::parse(text).ok()?;
    let told = document.as_table().get("version")?;
    (told.as_integer() != Some(VERSION)).then(|| {
        let told = told.to_string();
        Place::top("version").refuse(
            file,
            text,
            format!(
                "is {}, and this program reads version {VERSION}: use the program that wrote the file, or rewrite it",
                told.trim()
            ),
        )
    })
}
