//! Ranges of instrumentation versions, `>=1.2, <2`.
//!
//! Versions are compared by their leading dotted numbers; whatever follows (`b0`, `-rc.1`) is passed
//! over, since instrumentations don't keep to one scheme.

use std::cmp::Ordering;

use serde::Deserialize;

/// Bounds that a version must all keep.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct VersionRange {
    bounds: Vec<(Bound, Vec<u64>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
}

impl TryFrom<String> for VersionRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bound = |bound: &str| {
            let bound = bound.trim();
            [
                (">=", Bound::AtLeast),
                ("<=", Bound::AtMost),
                (">", Bound::Above),
                ("<", Bound::Below),
                ("=", Bound::Equal),
            ]
            .into_iter()
            .find_map(|(sign, kind)| Some((kind, numbers(bound.strip_prefix(sign)?))))
            .filter(|(_, version)| !version.is_empty())
            .ok_or_else(|| format!("`{bound}` is no version bound: write one like `>=1.2, <2`"))
        };
        Ok(Self { bounds: text.split(',').map(bound).collect::<Result<_, _>>()? })
    }
}

impl VersionRange {
    /// Whether `version` lies in the range; a version without numbers lies in none.
    pub(crate) fn contains(&self, version: &str) -> bool {
        let version = numbers(version);
        !version.is_empty()
            && self.bounds.iter().all(|(bound, limit)| {
                let order = compare(&version, limit);
                match bound {
                    Bound::AtLeast => order.is_ge(),
                    Bound::AtMost => order.is_le(),
                    Bound::Above => order.is_gt(),
                    Bound::Below => order.is_lt(),
                    Bound::Equal => order.is_eq(),
                }
            })
    }
}

/// Orders versions with missing numbers taken as zero, so that 1.2 is 1.2.0.
fn compare(left: &[u64], right: &[u64]) -> Ordering {
    let at = |version: &[u64], index: usize| version.get(index).copied().unwrap_or(0);
    (0..left.len().max(right.len()))
        .map(|index| at(left, index).cmp(&at(right, index)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The dotted numbers that a version starts with.
fn numbers(version: &str) -> Vec<u64> {
    let version = version.trim();
    let version = version.strip_prefix('v').unwrap_or(version);
    let mut numbers = Vec::new();
    for part in version.split('.') {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(number) = part[..digits].parse() else { break };
        numbers.push(number);
        if digits < part.len() {
            break;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::VersionRange;

    /// Versions are ordered as numbers, not as text, and suffixes don't count.
    #[test]
    fn ranges() -> Result<(), String> {
        let range = VersionRange::try_from(">=0.9, <1.2".to_owned())?;
        assert!(range.contains("0.10.1"));
        assert!(range.contains("v1.1.99b0"));
        assert!(!range.contains("1.2.0"));
        assert!(!range.contains("0.8"));
        assert!(!range.contains(""));
        assert!(VersionRange::try_from("1.2".to_owned()).is_err());
        Ok(())
    }
}
