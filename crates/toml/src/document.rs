//! A text read part by part, so that every mistake in it is found and not only the first.
//!
//! A part is a value at the top level, an entry of a named table (`[meter.x]`) or of an array of tables
//! (`[[entry]]`). A part with a mistake is left out, and its mistake kept; where a part has several, the
//! offending value is put aside and the rest read again. Invariant: a mistake is told once.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{DeserializeOwned, IntoDeserializer};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

use crate::{Fault, meant, nearest, read::fault};

/// Mistakes that one part is searched for.
const MOST: usize = 20;

/// A text, cut at its top level.
pub struct Document<'t> {
    file: &'t str,
    text: &'t str,
    parts: DeTable<'t>,
    asked: Vec<&'static str>,
    broken: BTreeSet<String>,
    faults: Vec<Fault>,
}

impl<'t> Document<'t> {
    /// Cuts `text`; `file` is only how messages call it. A text that is no TOML has no parts.
    pub fn parse(file: &'t str, text: &'t str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let faults: Vec<Fault> = errors.into_iter().map(|error| fault(file, text, error, "")).collect();
        let parts = if faults.is_empty() { table.into_inner() } else { DeTable::new() };
        Self { file, text, parts, asked: Vec::new(), broken: BTreeSet::new(), faults }
    }

    /// The value under `name`, where there is one and it is right.
    pub fn value<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        let part = self.part(name)?;
        self.read(part, name)
    }

    /// The same, and a mistake where it is not there.
    pub fn required<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        let missing = self.faults.is_empty() && !self.parts.iter().any(|(key, _)| key.get_ref() == name);
        if missing {
            self.faults.push(Fault::new(self.file, "is missing").field(name));
        }
        self.value(name)
    }

    /// The parts of the table `name`, by their names.
    pub fn named<T: DeserializeOwned>(&mut self, name: &'static str) -> BTreeMap<String, Spanned<T>> {
        let mut named = BTreeMap::new();
        let Some(part) = self.part(name) else { return named };
        let span = part.span();
        match part.into_inner() {
            DeValue::Table(table) => {
                for (key, value) in table {
                    let (place, key) = (value.span(), key.into_inner().into_owned());
                    let path = format!("{name}.{key}");
                    match self.read(value, &path) {
                        Some(read) => drop(named.insert(key, Spanned::new(place, read))),
                        None => drop(self.broken.insert(path)),
                    }
                }
            }
            _ => self.tell(&span, name, "is no table of named parts"),
        }
        named
    }

    /// The parts of the array of tables `name`.
    pub fn each<T: DeserializeOwned>(&mut self, name: &'static str) -> Vec<Spanned<T>> {
        let Some(part) = self.part(name) else { return Vec::new() };
        let span = part.span();
        let DeValue::Array(array) = part.into_inner() else {
            self.tell(&span, name, "is no array of tables");
            return Vec::new();
        };
        let mut each = Vec::new();
        for value in array {
            let place = value.span();
            if let Some(read) = self.read(value, name) {
                each.push(Spanned::new(place, read));
            }
        }
        each
    }

    /// Names of the parts of tables that had mistakes, as `meter.x`.
    pub fn broken(&self) -> &BTreeSet<String> {
        &self.broken
    }

    /// Every mistake, in the order of lines; whatever was not asked for by name is one.
    pub fn finish(mut self) -> Vec<Fault> {
        for (key, _) in std::mem::take(&mut self.parts) {
            let meant = meant(key.get_ref(), self.asked.iter().copied());
            let known = self.asked.join(", ");
            let message = format!("unknown field `{}`{meant} (there are {known})", key.get_ref());
            self.tell(&key.span(), key.get_ref(), &message);
        }
        self.faults.sort_by_key(|fault| fault.line);
        self.faults
    }

    /// Keeps a mistake at that place.
    pub fn tell(&mut self, span: &std::ops::Range<usize>, field: &str, message: &str) {
        self.faults.push(Fault::new(self.file, message).at(self.text, span).field(field));
    }

    fn part(&mut self, name: &'static str) -> Option<Spanned<DeValue<'t>>> {
        self.asked.push(name);
        self.parts.remove(name)
    }

    /// Reads a part; each offending value is put aside until the rest can be read.
    fn read<T: DeserializeOwned>(&mut self, mut value: Spanned<DeValue<'t>>, path: &str) -> Option<T> {
        let mut aside: Vec<String> = Vec::new();
        for _ in 0..MOST {
            let error = match T::deserialize(value.clone().into_deserializer()) {
                Ok(read) => return aside.is_empty().then_some(read),
                Err(error) => error,
            };
            // What is missing now was put aside before, perhaps because it was misspelt.
            let missing =
                error.message().strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
            if missing.is_some_and(|missing| aside.iter().any(|key| nearest(key, [missing]).is_some())) {
                return None;
            }
            let span = error.span();
            self.faults.push(fault(self.file, self.text, error, path));
            match span.and_then(|span| remove(value.get_mut(), &span)) {
                Some(key) => aside.push(key),
                None => return None,
            }
        }
        None
    }
}

/// Takes out of `value` the innermost pair whose key or value stands at `span`; its key.
fn remove(value: &mut DeValue<'_>, span: &std::ops::Range<usize>) -> Option<String> {
    let covers = |place: &std::ops::Range<usize>| place.start <= span.start && span.end <= place.end;
    match value {
        DeValue::Table(table) => {
            let key = table.iter().find(|(key, value)| covers(&key.span()) || covers(&value.span())).map(
                |(key, value)| (key.get_ref().to_string(), covers(&key.span()), value.span() == *span),
            )?;
            let (name, at_key, at_value) = key;
            if !at_key
                && !at_value
                && let Some(inner) =
                    table.get_mut(name.as_str()).and_then(|inner| remove(inner.get_mut(), span))
            {
                return Some(inner);
            }
            table.remove(name.as_str());
            Some(name)
        }
        DeValue::Array(array) => {
            let at = array.iter().position(|value| covers(&value.span()))?;
            if let Some(inner) = array.get_mut(at).and_then(|inner| remove(inner.get_mut(), span)) {
                return Some(inner);
            }
            let mut rest = DeArray::new();
            let items = std::mem::replace(array, DeArray::new()).into_iter().enumerate();
            items.filter(|(index, _)| *index != at).for_each(|(_, item)| rest.push(item));
            *array = rest;
            Some(String::new())
        }
        _ => None,
    }
}
