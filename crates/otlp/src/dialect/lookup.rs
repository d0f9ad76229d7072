//! A table from texts and patterns to what they mean, deaf to letter case.
//!
//! Invariant: what was put in later is found first, and a text goes before any pattern.

use std::borrow::Cow;
use std::collections::HashMap;

use ahash::RandomState;

use super::Pattern;

/// The table.
#[derive(Debug, Clone)]
pub(crate) struct Lookup<T> {
    texts: HashMap<Box<str>, T, RandomState>,
    patterns: Vec<(Pattern, T)>,
}

impl<T> Default for Lookup<T> {
    fn default() -> Self {
        Self { texts: HashMap::default(), patterns: Vec::new() }
    }
}

impl<T> Lookup<T> {
    /// Adds what `pattern`, in lower case, means.
    pub(crate) fn insert(&mut self, pattern: &Pattern, meaning: T) {
        match pattern.exact() {
            Some(text) => {
                self.texts.insert(text.to_ascii_lowercase().into(), meaning);
            }
            None => self.patterns.push((pattern.clone(), meaning)),
        }
    }

    /// What `text` means.
    pub(crate) fn get(&self, text: &str) -> Option<&T> {
        let text = lower(text);
        self.texts.get(&*text).or_else(|| {
            let found = self.patterns.iter().rev().find(|(pattern, _)| pattern.matches(&text));
            found.map(|(_, meaning)| meaning)
        })
    }
}

fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}
