//! The rate-limit headers of one response, as text: `name: value`, a line each.

use plimsoll_catalog::Catalog;

use super::{LimitRead, LimitsError, Origin, ProviderLimits};

/// Header and the dimension that it limits. A provider that counts input and output apart sends its own
/// sum too, which is no limit then.
const HEADERS: [(&str, &str); 8] = [
    ("anthropic-ratelimit-requests-limit", "requests_per_min"),
    ("anthropic-ratelimit-input-tokens-limit", "input_tokens_per_min"),
    ("anthropic-ratelimit-output-tokens-limit", "output_tokens_per_min"),
    ("anthropic-ratelimit-tokens-limit", "tokens_per_min"),
    ("anthropic-priority-input-tokens-limit", "input_tokens_per_min"),
    ("anthropic-priority-output-tokens-limit", "output_tokens_per_min"),
    ("x-ratelimit-limit-requests", "requests_per_min"),
    ("x-ratelimit-limit-tokens", "tokens_per_min"),
];

/// Reads headers; whatever is not one of a limit is passed over.
pub(super) fn read(text: &str, catalog: &Catalog, origin: &Origin) -> Result<ProviderLimits, LimitsError> {
    // As `curl -i` and `curl -v` print them.
    let lines = text.lines().map(|line| line.trim_start_matches(['<', ' ']).trim());
    let headers: Vec<(String, &str)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim()))
        .filter(|(name, _)| name.contains("ratelimit") || name.starts_with("anthropic-priority-"))
        .collect();
    if headers.is_empty() {
        return Err(LimitsError::Format);
    }
    let key = origin.pool.as_ref().ok_or(LimitsError::Pool)?;
    let priority = key.product() == "priority";
    let counted = catalog.find(key, origin.on).map(|entry| entry.dimensions.as_slice()).unwrap_or_default();
    let mut found = ProviderLimits::default();
    for (name, value) in headers {
        let Some((_, dimension)) = HEADERS.iter().find(|(header, _)| *header == name) else {
            if name.contains("limit") && !name.contains("remaining") && !name.contains("reset") {
                found.skip(name, "is no limit that is known".to_owned());
            }
            continue;
        };
        if name.starts_with("anthropic-priority-") != priority && name.starts_with("anthropic-") {
            found.skip(name, format!("is not of {key}"));
        } else if !counted.is_empty() && !counted.iter().any(|counted| counted.name == *dimension) {
            found.skip(name, format!("{key} has no limit of {dimension}"));
        } else {
            let limit = LimitRead {
                pool: key.to_string(),
                account: origin.account.clone(),
                region: origin.region.clone(),
                dimension: (*dimension).to_owned(),
                value: 0,
                quota: name,
            };
            found.take(limit, value.parse::<u32>().ok().map(f64::from));
        }
    }
    Ok(found)
}
