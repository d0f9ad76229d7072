//! What is different between two sets of rows, field by field.
//!
//! Leaves to its caller what makes two rows the same one: key and date where two catalogs are compared,
//! the key alone where one catalog is compared with itself on two days.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Entry;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Which row: its key, and its first day where that tells it from another.
    pub row: String,
    /// `added`, `removed` or `changed`.
    pub change: &'static str,
    /// Path of the field that changed.
    pub field: Option<String>,
    /// What stood there before.
    pub old: Option<String>,
    /// What stands there now.
    pub new: Option<String>,
}

/// The differences from `old` to `new`, rows by name, fields in their order.
pub fn changes(old: &BTreeMap<String, &Entry>, new: &BTreeMap<String, &Entry>) -> Vec<Change> {
    let whole = |row: &String, change| Change { row: row.clone(), change, field: None, old: None, new: None };
    let mut changes: Vec<Change> = Vec::new();
    for (row, entry) in old {
        match new.get(row) {
            None => changes.push(whole(row, "removed")),
            Some(other) if entry != other => changes.extend(fields(row, entry, other)),
            Some(_) => {}
        }
    }
    changes.extend(new.keys().filter(|row| !old.contains_key(*row)).map(|row| whole(row, "added")));
    changes.sort_by(|left, right| left.row.cmp(&right.row));
    changes
}

/// The fields in which two rows differ.
fn fields(row: &str, old: &Entry, new: &Entry) -> Vec<Change> {
    let (before, after) = (old.fields(), new.fields());
    let texts: BTreeMap<&String, &String> = after.iter().map(|(path, text)| (path, text)).collect();
    let known: BTreeMap<&String, &String> = before.iter().map(|(path, text)| (path, text)).collect();
    let change = |path: &String, old: Option<&String>, new: Option<&String>| Change {
        row: row.to_owned(),
        change: "changed",
        field: Some(path.clone()),
        old: old.cloned(),
        new: new.cloned(),
    };
    let gone = before.iter().filter_map(|(path, text)| {
        let now = texts.get(path).copied();
        (now != Some(text)).then(|| change(path, Some(text), now))
    });
    let come = after
        .iter()
        .filter(|(path, _)| !known.contains_key(path))
        .map(|(path, text)| change(path, None, Some(text)));
    gone.chain(come).collect()
}
