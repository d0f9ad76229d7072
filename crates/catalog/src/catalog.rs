//! All rows, by pool and date.
//!
//! Invariants: the newest row in force on a date answers for it; a row of a pool's own comes before
//! one with `*` parts; the digest is that of the texts in the order in which they were given, since a
//! later file overrides an earlier one, and not of their names, which differ from host to host.

use std::collections::BTreeMap;

use jiff::civil::Date;
use plimsoll_toml::{Fault, nearest_few};
use sha2::{Digest, Sha256};

use crate::{Entry, PoolKey, Tier, file::read_provider};

/// The provider rules that one plan is made with.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Rows by key, oldest first.
    rows: BTreeMap<PoolKey, Vec<Entry>>,
    edition: String,
    sha256: String,
}

impl Catalog {
    /// Reads `files` (name and text), the built-in ones first and a user's own behind them: a later
    /// file's row for the same key and day takes the place of an earlier one's, any other is added.
    ///
    /// # Errors
    /// File, line, field and remedy of the first mistake: unknown keys and names, figures outside
    /// plausible bounds, the same row twice in one file, prices that hold at once.
    pub fn load<N: AsRef<str>, T: AsRef<str>>(
        files: impl IntoIterator<Item = (N, T)>,
    ) -> Result<Self, Fault> {
        let (catalog, faults) = Self::read(files);
        faults.into_iter().next().map_or(Ok(catalog), Err)
    }

    /// The same with every mistake: the rows that have none, and all faults in the order of the files.
    pub fn read<N: AsRef<str>, T: AsRef<str>>(files: impl IntoIterator<Item = (N, T)>) -> (Self, Vec<Fault>) {
        let mut rows: BTreeMap<PoolKey, Vec<Entry>> = BTreeMap::new();
        let (mut edition, mut faults) = (String::new(), Vec::new());
        let mut digest = Sha256::new();
        for (name, text) in files {
            let (name, text) = (name.as_ref(), text.as_ref());
            digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            digest.update(text);
            let provider = read_provider(name, text);
            faults.extend(provider.faults);
            edition = edition.max(provider.edition.unwrap_or_default());
            for entry in provider.entries {
                let dated = rows.entry(entry.key.clone()).or_default();
                dated.retain(|row| row.from != entry.from);
                dated.push(entry);
                dated.sort_by_key(|row| row.from);
            }
        }
        (Self { rows, edition, sha256: hex::encode(digest.finalize()) }, faults)
    }

    /// Month of the newest file, for example `2026-11`; empty where no file tells.
    pub fn edition(&self) -> &str {
        &self.edition
    }

    /// Last day of the month of the newest file: the day that is meant where none is told, so that the
    /// same catalog gives the same answer on any day. None where no file tells its month.
    pub fn edition_day(&self) -> Option<Date> {
        format!("{}-01", self.edition).parse::<Date>().ok().map(Date::last_of_month)
    }

    /// Digest of the texts, lower-case hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The newest row in force on `as_of` for that pool: its own, else that of the fallback with the
    /// fewest `*`. A retired model still answers ([`Entry::is_retired`]).
    pub fn find(&self, key: &PoolKey, as_of: Date) -> Option<&Entry> {
        let own = self.rows.get(key).and_then(|rows| newest(rows, as_of));
        own.or_else(|| {
            let patterns = self.rows.iter().filter(|(pattern, _)| pattern.covers(key));
            patterns
                .filter_map(|(pattern, rows)| Some((pattern.wildcards(), newest(rows, as_of)?)))
                .min_by_key(|(wildcards, _)| *wildcards)
                .map(|(_, row)| row)
        })
    }

    /// Every pool whose limits a call of that tier draws on, the tier's own first, with its row where
    /// there is one. A tier that the pool's row does not tell of draws on the pool itself.
    pub fn draws_on(&self, key: &PoolKey, tier: Tier, as_of: Date) -> Vec<(PoolKey, Option<&Entry>)> {
        let rule = self.find(key, as_of).and_then(|entry| entry.tier(tier));
        let products = rule.map_or_else(|| vec![key.product().to_owned()], |rule| rule.draws_on.clone());
        let pool = |product: String| {
            let pool = key.of_product(&product);
            let row = self.find(&pool, as_of);
            (pool, row)
        };
        products.into_iter().map(pool).collect()
    }

    /// Every row, by key and then by date.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.rows.values().flatten()
    }

    /// The row of each key that is in force on `as_of`.
    pub fn in_force(&self, as_of: Date) -> impl Iterator<Item = &Entry> {
        self.rows.values().filter_map(move |rows| newest(rows, as_of))
    }

    /// The key that `key` was probably meant to be.
    pub fn did_you_mean(&self, key: &PoolKey) -> Option<&PoolKey> {
        self.nearest_keys(key, 1).into_iter().next()
    }

    /// The keys that `key` was probably meant to be, the likeliest first.
    pub fn nearest_keys(&self, key: &PoolKey, most: usize) -> Vec<&PoolKey> {
        let keys: Vec<(String, &PoolKey)> =
            self.rows.keys().filter(|key| key.wildcards() == 0).map(|key| (key.to_string(), key)).collect();
        nearest_few(&key.to_string(), keys.iter().map(|(name, _)| name.as_str()), most)
            .into_iter()
            .filter_map(|name| keys.iter().find(|(key, _)| key == name).map(|(_, key)| *key))
            .collect()
    }
}

/// The newest of one key's rows that is in force on `as_of`.
fn newest(rows: &[Entry], as_of: Date) -> Option<&Entry> {
    rows.iter().rfind(|row| row.from.is_none_or(|from| from <= as_of))
}
