//! A model's plain name, whatever a provider, a marketplace or an alias makes of it.
//!
//! Names are folded so that a dated snapshot, an alias and a marketplace's spelling of one model share a
//! pool, as they share a limit. Which pool that is, is [`recognise`](super::recognise)'s.

use std::borrow::Cow;

/// Prefixes of Bedrock's geographic inference profiles (facts/providers.md 1.1).
pub(super) const GEOS: [&str; 7] = ["us", "eu", "apac", "jp", "au", "ca", "us-gov"];

/// Vendors that Bedrock puts before a model's name.
const VENDORS: [&str; 20] = [
    "anthropic",
    "amazon",
    "meta",
    "mistral",
    "cohere",
    "ai21",
    "deepseek",
    "openai",
    "qwen",
    "google",
    "minimax",
    "moonshot",
    "moonshotai",
    "nvidia",
    "stability",
    "writer",
    "twelvelabs",
    "luma",
    "xai",
    "zai",
];

/// A model's plain name: `claude-sonnet-4.5` for `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
///
/// Takes off paths (`models/`, `openai/`, ARNs), inference-profile and vendor prefixes, Bedrock's
/// version (`-v1:0`), dated snapshots (`-20250929`, `-2025-09-29`, `@20250929`), Google's
/// `-001` and `-latest`, and writes a version's digits with a dot (`4-5` as `4.5`).
#[must_use]
pub fn normal_model(model: &str) -> Cow<'_, str> {
    let mut name = last_part(model.trim());
    if let Some((prefix, rest)) = name.split_once('.')
        && (GEOS.contains(&prefix) || prefix == "global")
    {
        name = rest;
    }
    let vendor = name.split_once('.').filter(|(prefix, _)| VENDORS.contains(prefix));
    if let Some((_, rest)) = vendor {
        name = rest;
    }
    name = without_revision(name, vendor.is_some());
    name = name.split_once('@').map_or(name, |(name, _)| name);
    name = name.strip_suffix("-latest").unwrap_or(name);
    name = without_date(name);
    let name = with_dots(name);
    if name.bytes().any(|b| b.is_ascii_uppercase()) { Cow::Owned(name.to_ascii_lowercase()) } else { name }
}

/// What follows the last slash.
pub(super) fn last_part(model: &str) -> &str {
    model.rsplit_once('/').map_or(model, |(_, name)| name)
}

/// Without Bedrock's `-v1:0`; a bare `-v1`, and a `-1:0`, is one only behind a vendor's prefix.
fn without_revision(name: &str, from_vendor: bool) -> &str {
    let Some((stem, last)) = name.rsplit_once('-') else {
        return name;
    };
    let revision = last.strip_prefix('v');
    let number = revision.unwrap_or(last);
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_one = match (revision.is_some(), rest.starts_with(':')) {
        (true, true) => true,
        (true, false) => rest.is_empty() && from_vendor,
        (false, colon) => colon && from_vendor,
    };
    if number.len() > rest.len() && is_one { stem } else { name }
}

/// Without a snapshot's date at the end.
fn without_date(name: &str) -> &str {
    let numeric = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let Some((stem, last)) = name.rsplit_once('-') else {
        return name;
    };
    // A date, or Google's number of a stable version (`gemini-2.5-pro-001`).
    let numbered = stem.starts_with("gemini") && last.len() == 3 && numeric(last) && last.starts_with("00");
    if numbered || (last.len() == 8 && numeric(last) && last.starts_with("20")) {
        return stem;
    }
    if last.len() == 2
        && numeric(last)
        && let Some((stem, month)) = stem.rsplit_once('-')
        && let Some((stem, year)) = stem.rsplit_once('-')
        && month.len() == 2
        && numeric(month)
        && year.len() == 4
        && numeric(year)
    {
        return stem;
    }
    name
}

/// Joins two neighbouring short numbers by a dot.
fn with_dots(name: &str) -> Cow<'_, str> {
    let short = |part: &str| matches!(part.len(), 1 | 2) && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = name.split('-').collect();
    let Some(major) = parts.windows(2).position(|pair| short(pair[0]) && short(pair[1])) else {
        return Cow::Borrowed(name);
    };
    let at = parts[..=major].iter().map(|part| part.len() + 1).sum::<usize>() - 1;
    Cow::Owned(format!("{}.{}", &name[..at], &name[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spellings of one model that share a limit share a name.
    #[test]
    fn model_names() {
        for (id, name) in [
            ("claude-sonnet-4-5", "claude-sonnet-4.5"),
            ("gemini-2.5-pro-001", "gemini-2.5-pro"),
            ("davinci-002", "davinci-002"),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4.5"),
            ("claude-sonnet-4-5@20250929", "claude-sonnet-4.5"),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4.5"),
            ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4.6"),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-3-5-sonnet-20240620-v1:0:200k",
                "claude-3.5-sonnet",
            ),
            ("claude-3-5-haiku-latest", "claude-3.5-haiku"),
            ("claude-sonnet-4-20250514", "claude-sonnet-4"),
            ("openai/gpt-4.1-2025-04-14", "gpt-4.1"),
            ("gpt-4.1-mini", "gpt-4.1-mini"),
            ("GPT-5.2", "gpt-5.2"),
            ("gpt-3.5-turbo-0125", "gpt-3.5-turbo-0125"),
            ("o1-2024-12-17", "o1"),
            ("command-r-08-2024", "command-r-08-2024"),
            ("models/gemini-2.5-flash", "gemini-2.5-flash"),
            ("gemini-2.5-flash@default", "gemini-2.5-flash"),
            ("deepseek-v3", "deepseek-v3"),
            ("llama3:8b", "llama3:8b"),
            ("amazon.nova-pro-v1:0", "nova-pro"),
            ("text-embedding-3-small", "text-embedding-3-small"),
            ("", ""),
        ] {
            assert_eq!(normal_model(id), name, "{id}");
        }
    }
}
