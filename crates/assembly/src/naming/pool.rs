//! The pool that a call draws on where no rule says, from its provider and model.
//!
//! The product and scope are each provider's most usual ones; who holds another (a reservation, a
//! data zone) says so in `[[deployment]]`. Model ids are folded so that a dated snapshot, an alias
//! and a marketplace's spelling of one model share a pool, as they share a limit.

use std::borrow::Cow;

/// Pool key `provider/product/scope/model`; `None` for a provider that is not known here.
///
/// | provider | product | scope |
/// |---|---|---|
/// | `anthropic`, `openai` and other first-party APIs | `direct` | `global` |
/// | `aws.bedrock` | `runtime` | `geo` or `global` by the inference profile's prefix, else `regional` |
/// | `azure.ai.openai`, `azure.ai.inference` | `standard` | `global` (the portal's first choice) |
/// | `gcp.vertex_ai` | `paygo` | `regional` where a region is known, else `global` |
#[must_use]
pub fn default_pool(provider: &str, model: &str, region: Option<&str>) -> Option<String> {
    let (product, scope) = match provider {
        "anthropic" | "openai" | "gcp.gemini" | "x_ai" | "mistral_ai" | "cohere" | "groq" | "deepseek"
        | "perplexity" | "moonshot_ai" => ("direct", "global"),
        "aws.bedrock" => ("runtime", inference_scope(model)),
        "azure.ai.openai" | "azure.ai.inference" => ("standard", "global"),
        "gcp.vertex_ai" => {
            ("paygo", if region.is_none_or(|region| region == "global") { "global" } else { "regional" })
        }
        _ => return None,
    };
    let model = normal_model(model);
    (!model.is_empty() && model != "unknown").then(|| format!("{provider}/{product}/{scope}/{model}"))
}

/// Scope of a Bedrock model id, by its inference profile's prefix.
fn inference_scope(model: &str) -> &'static str {
    match last_part(model).split_once('.') {
        Some(("global", _)) => "global",
        Some((prefix, _)) if GEOS.contains(&prefix) => "geo",
        _ => "regional",
    }
}

/// Prefixes of Bedrock's geographic inference profiles.
const GEOS: [&str; 7] = ["us", "eu", "apac", "jp", "au", "ca", "us-gov"];

/// Vendors that Bedrock puts before a model's name.
const VENDORS: [&str; 14] = [
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
    "nvidia",
    "stability",
    "writer",
    "twelvelabs",
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

fn last_part(model: &str) -> &str {
    model.rsplit_once('/').map_or(model, |(_, name)| name)
}

/// Without Bedrock's `-v1:0`; a bare `-v1` is one only behind a vendor's prefix.
fn without_revision(name: &str, from_vendor: bool) -> &str {
    let Some((stem, revision)) = name.rsplit_once("-v") else {
        return name;
    };
    let digits = revision.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &revision[digits..];
    if digits > 0 && (rest.starts_with(':') || (rest.is_empty() && from_vendor)) { stem } else { name }
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

    /// Each provider's product and scope.
    #[test]
    fn default_pools() {
        let pool = |provider, model, region| default_pool(provider, model, region).unwrap_or_default();
        assert_eq!(pool("openai", "gpt-5.2", None), "openai/direct/global/gpt-5.2");
        let bedrock = |model| pool("aws.bedrock", model, Some("us-east-1"));
        assert_eq!(
            bedrock("us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
            "aws.bedrock/runtime/geo/claude-sonnet-4.5"
        );
        assert_eq!(
            bedrock("global.anthropic.claude-haiku-4-5-20251001-v1:0"),
            "aws.bedrock/runtime/global/claude-haiku-4.5"
        );
        assert_eq!(
            bedrock("anthropic.claude-3-haiku-20240307-v1:0"),
            "aws.bedrock/runtime/regional/claude-3-haiku"
        );
        assert_eq!(pool("azure.ai.openai", "gpt-5.2", None), "azure.ai.openai/standard/global/gpt-5.2");
        assert_eq!(
            pool("gcp.vertex_ai", "gemini-2.5-pro", Some("europe-west4")),
            "gcp.vertex_ai/paygo/regional/gemini-2.5-pro"
        );
        assert_eq!(
            pool("gcp.vertex_ai", "gemini-2.5-pro", Some("global")),
            "gcp.vertex_ai/paygo/global/gemini-2.5-pro"
        );
        assert_eq!(default_pool("acme", "m", None), None);
        assert_eq!(default_pool("openai", "unknown", None), None);
    }
}
