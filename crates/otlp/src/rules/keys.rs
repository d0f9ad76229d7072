//! A set of attribute names, most of them given by how they start.

use crate::dialect::Pattern;

/// The set. A name is looked up in the time of a binary search, for millions of attributes go by.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    texts: Vec<Box<str>>,
    /// Sorted, and none the start of another, so that at most the one just before a name can match.
    prefixes: Vec<Box<str>>,
    others: Vec<Pattern>,
}

impl<'p> FromIterator<&'p Pattern> for KeySet {
    fn from_iter<I: IntoIterator<Item = &'p Pattern>>(patterns: I) -> Self {
        let mut set = Self::default();
        for pattern in patterns {
            match (pattern.exact(), pattern.prefix()) {
                (Some(text), _) => set.texts.push(text.into()),
                (None, Some(prefix)) => set.prefixes.push(prefix.into()),
                (None, None) => set.others.push(pattern.clone()),
            }
        }
        set.texts.sort_unstable();
        set.prefixes.sort_unstable();
        set.prefixes.dedup_by(|later, earlier| later.starts_with(&**earlier));
        set
    }
}

impl KeySet {
    /// Whether the set holds `key`, which need not be UTF-8.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let before = self.prefixes.partition_point(|prefix| prefix.as_bytes() <= key);
        self.prefixes[..before].last().is_some_and(|prefix| key.starts_with(prefix.as_bytes()))
            || self.texts.binary_search_by(|text| text.as_bytes().cmp(key)).is_ok()
            || self.matches_other(&String::from_utf8_lossy(key))
    }

    fn matches_other(&self, key: &str) -> bool {
        self.others.iter().any(|pattern| pattern.matches(key))
    }
}

#[cfg(test)]
mod tests {
    use super::KeySet;
    use crate::dialect::Pattern;

    /// Content is found by name, by start and by pattern, also where one start begins with another.
    #[test]
    fn contains() -> Result<(), String> {
        let patterns =
            ["input.value", "gen_ai.prompt*", "gen_ai.prompt.0*", "llm.input_messages.*", "*.api_key"]
                .into_iter()
                .map(|text| Pattern::try_from(text.to_owned()))
                .collect::<Result<Vec<_>, _>>()?;
        let set: KeySet = patterns.iter().collect();
        for key in
            ["input.value", "gen_ai.prompt", "gen_ai.prompt.7.content", "llm.input_messages.0.x", "a.api_key"]
        {
            assert!(set.contains(key.as_bytes()), "{key}");
        }
        for key in ["input.values", "gen_ai.promp", "llm.input_messages", "zzz", ""] {
            assert!(!set.contains(key.as_bytes()), "{key}");
        }
        Ok(())
    }
}
