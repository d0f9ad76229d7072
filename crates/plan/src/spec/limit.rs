//! One effective-dated line of limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// The dimensions that a limit can be given for.
pub const LIMIT_DIMENSIONS: [&str; 9] = [
    "requests_per_min",
    "input_tokens_per_min",
    "output_tokens_per_min",
    "tokens_per_min",
    "requests_per_day",
    "tokens_per_day",
    "concurrent",
    "enqueued_tokens",
    "units",
];

/// Keys of a line of limits.
const KEYS: [&str; 11] = [
    "requests_per_min",
    "input_tokens_per_min",
    "output_tokens_per_min",
    "tokens_per_min",
    "requests_per_day",
    "tokens_per_day",
    "concurrent",
    "enqueued_tokens",
    "units",
    "from",
    "scope",
];

/// Limits granted together, and from when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitSpec {
    /// By dimension.
    pub values: BTreeMap<String, u64>,
    /// First day, in the calendar's time zone; without it, always.
    pub from: Option<Date>,
    /// What the limit is on, where several nest: `project`, `organisation`. A later line replaces an
    /// earlier one of its own scope only.
    pub scope: Option<String>,
}

impl LimitSpec {
    /// The limit on a day: of each scope the newest line that has begun, of those the smallest.
    pub(crate) fn in_force(lines: &[Self], dimension: &str, day: Date) -> Option<u64> {
        let mut newest: BTreeMap<Option<&str>, (Option<Date>, u64)> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.from.is_none_or(|from| from <= day)) {
            let Some(value) = line.values.get(dimension) else { continue };
            let held = newest.entry(line.scope.as_deref()).or_insert((line.from, *value));
            if line.from >= held.0 {
                *held = (line.from, *value);
            }
        }
        newest.into_values().map(|(_, value)| value).min()
    }

    /// The first dimension for which two lines say different things from the same day on.
    pub(crate) fn conflict(lines: &[Self]) -> Option<&str> {
        let mut seen = BTreeSet::new();
        lines
            .iter()
            .flat_map(|line| {
                line.values.keys().map(move |dimension| (dimension, line.from, line.scope.as_deref()))
            })
            .find(|key| !seen.insert(*key))
            .map(|(dimension, ..)| dimension.as_str())
    }
}

impl<'de> Deserialize<'de> for LimitSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Line;
        impl<'de> Visitor<'de> for Line {
            type Value = LimitSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("limits such as { requests_per_min = 4000, from = \"2026-09-01\" }")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LimitSpec, A::Error> {
                let mut line = LimitSpec::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "from" => line.from = Some(map.next_value()?),
                        "scope" => line.scope = Some(map.next_value()?),
                        dimension if LIMIT_DIMENSIONS.contains(&dimension) => {
                            line.values.insert(key, map.next_value()?);
                        }
                        _ => return Err(A::Error::unknown_field(&key, &KEYS)),
                    }
                }
                Ok(line)
            }
        }
        deserializer.deserialize_map(Line)
    }
}
