//! Text patterns: `*` stands for any text, `{region}` for a name without dots or slashes.
//!
//! All else stands for itself; letter case counts. What stands at the first hole can be asked for.

use serde::Deserialize;

const REGION: &str = "{region}";
/// Matching tries every cut of a text at every hole, so a pattern may have few.
const MAX_HOLES: usize = 3;

/// A pattern, as the parts that a text must have one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Pattern {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    /// Any text, none too.
    Any,
    /// Some text without dots and slashes.
    Name,
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut parts = Vec::new();
        for (index, names) in text.split(REGION).enumerate() {
            if index > 0 {
                parts.push(Part::Name);
            }
            for (index, literal) in names.split('*').enumerate() {
                if index > 0 {
                    parts.push(Part::Any);
                }
                if !literal.is_empty() {
                    parts.push(Part::Text(literal.into()));
                }
            }
        }
        match parts.iter().filter(|part| !matches!(part, Part::Text(_))).count() {
            0..=MAX_HOLES => Ok(Self { parts }),
            _ => Err(format!("`{text}` has more than {MAX_HOLES} of `*` and {REGION}: write two patterns")),
        }
    }
}

impl Pattern {
    /// The text itself, where the pattern stands for one text only.
    pub(crate) fn exact(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text that the pattern's matches start with, where that is all it asks.
    pub(crate) fn prefix(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text(text), Part::Any] => Some(text),
            _ => None,
        }
    }

    /// Whether the pattern has a `{region}` to find.
    pub(crate) fn names_region(&self) -> bool {
        self.parts.contains(&Part::Name)
    }

    /// Whether the pattern stands for all of `text`.
    pub(crate) fn matches(&self, text: &str) -> bool {
        find(&self.parts, text).is_some()
    }

    /// What stands at `{region}`, or else at the last `*`; empty where the pattern has neither, none where
    /// it doesn't match.
    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        find(&self.parts, text).map(|found| match found {
            Found::Nothing => "",
            Found::Any(text) | Found::Name(text) => text,
        })
    }
}

/// What the holes of a match hold, as far as it is asked for.
enum Found<'t> {
    Nothing,
    Any(&'t str),
    Name(&'t str),
}

fn find<'t>(parts: &[Part], text: &'t str) -> Option<Found<'t>> {
    let Some((part, rest)) = parts.split_first() else {
        return text.is_empty().then_some(Found::Nothing);
    };
    match (part, rest) {
        (Part::Text(literal), _) => find(rest, text.strip_prefix(&**literal)?),
        (Part::Any, []) => Some(Found::Any(text)),
        (Part::Any, [Part::Text(end)]) => text.strip_suffix(&**end).map(Found::Any),
        (Part::Any, [Part::Text(literal), rest @ ..]) => {
            places(text, literal).find_map(|at| match find(rest, &text[at + literal.len()..])? {
                Found::Nothing => Some(Found::Any(&text[..at])),
                found => Some(found),
            })
        }
        (Part::Any, _) => cuts(text, text.len()).find_map(|(hole, after)| match find(rest, after)? {
            Found::Nothing => Some(Found::Any(hole)),
            found => Some(found),
        }),
        (Part::Name, _) => {
            let end = text.find(['.', '/']).unwrap_or(text.len());
            cuts(text, end)
                .filter(|(hole, _)| !hole.is_empty())
                .find_map(|(hole, after)| find(rest, after).map(|_| Found::Name(hole)))
        }
    }
}

/// Where `literal` stands in `text`. The standard search first builds tables for the literal, which costs
/// more than the names of models and hosts are long.
fn places<'t>(text: &'t str, literal: &'t str) -> impl Iterator<Item = usize> + 't {
    let last = (text.len() + 1).saturating_sub(literal.len());
    let (text, literal) = (text.as_bytes(), literal.as_bytes());
    let first = literal.first().copied();
    (0..last).filter(move |at| first == text.get(*at).copied() && text[*at..].starts_with(literal))
}

/// Every way to cut `text` in two at or before `end`.
fn cuts(text: &str, end: usize) -> impl Iterator<Item = (&str, &str)> {
    (0..=end).filter_map(|at| text.split_at_checked(at))
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    fn find<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
        Pattern::try_from(pattern.to_owned()).ok()?.find(text)
    }

    /// The host patterns of facts/dialects.md par. 1.4 give their regions, and no other host does.
    #[test]
    fn regions() {
        let bedrock = "bedrock-runtime.{region}.amazonaws.com";
        assert_eq!(find(bedrock, "bedrock-runtime.eu-west-1.amazonaws.com"), Some("eu-west-1"));
        assert_eq!(find(bedrock, "bedrock-runtime.eu.west.amazonaws.com"), None);
        assert_eq!(find(bedrock, "bedrock-runtime..amazonaws.com"), None);
        assert_eq!(
            find("{region}-aiplatform.googleapis.com", "us-central1-aiplatform.googleapis.com"),
            Some("us-central1")
        );
        assert_eq!(
            find("arn:aws:bedrock:{region}:*", "arn:aws:bedrock:us-east-1:1:inference-profile/x"),
            Some("us-east-1")
        );
    }

    /// Stars stand for any text at the start, the end, in the middle, and for none.
    #[test]
    fn stars() {
        assert_eq!(find("chat *", "chat gpt-5"), Some("gpt-5"));
        assert_eq!(find("*.kickoff", "crew.kickoff"), Some("crew"));
        assert_eq!(find("ai.*.doStream", "ai.streamText.doStream"), Some("streamText"));
        assert_eq!(find("*throttl*", "AWSThrottling"), None);
        assert_eq!(find("*hrottl*", "AWSThrottling"), Some("ing"));
        assert_eq!(find("exact", "exact"), Some(""));
        assert_eq!(find("exact", "exactly"), None);
        assert!(Pattern::try_from("*a*b*c*".to_owned()).is_err());
    }
}
