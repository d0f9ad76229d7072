//! Keys of the plan in the words that a reader uses.
//!
//! A key that is not known here is shown as it is with its underscores turned to spaces, so that new
//! dimensions, actions and metrics read well before anybody names them.

use crate::format::capital;

/// A dimension: `input_tokens_per_min` is "input tokens a minute".
pub(crate) fn dimension(key: &str) -> String {
    match key {
        "concurrent" => "concurrent requests".to_owned(),
        _ => limit(key).unwrap_or_else(|| words(key)),
    }
}

/// A limit over time in words; `None` for what is no such key.
pub(crate) fn limit(key: &str) -> Option<String> {
    for (suffix, window) in [
        ("_per_second", "a second"),
        ("_per_min", "a minute"),
        ("_per_hour", "an hour"),
        ("_per_day", "a day"),
    ] {
        if let Some(what) = key.strip_suffix(suffix) {
            return Some(format!("{} {window}", words(what)));
        }
    }
    None
}

/// Underscores as spaces, and percentiles as they are written: `p95_need` is "P95 need".
pub(crate) fn words(key: &str) -> String {
    let word = |word: &str| match word.strip_prefix('p').filter(|n| n.len() == 2) {
        Some(n) if n.bytes().all(|b| b.is_ascii_digit()) => format!("P{n}"),
        _ => word.to_owned(),
    };
    key.split('_').map(word).collect::<Vec<_>>().join(" ")
}

/// A decision of the planner: `file_now` is "file now".
pub(crate) fn decision(key: &str) -> String {
    match key {
        "no_data" => "no data".to_owned(),
        other => words(other),
    }
}

/// A provider's key as people write it.
fn provider(key: &str) -> &str {
    match key {
        "anthropic" => "Anthropic",
        "aws.bedrock" => "Amazon Bedrock",
        "azure.ai.openai" => "Azure OpenAI",
        "gcp.vertex_ai" => "Vertex AI",
        "openai" => "OpenAI",
        other => other,
    }
}

/// A pool by its model: the last part of `provider/product/scope/model`.
pub(crate) fn model(pool: &str) -> &str {
    pool.rsplit('/').next().unwrap_or(pool)
}

/// A pool in full: "claude-sonnet-4.5, Anthropic direct, global". A key of another shape is shown
/// as it is.
pub(crate) fn pool(key: &str) -> String {
    match key.splitn(4, '/').collect::<Vec<_>>().as_slice() {
        [who, product, scope, model] => {
            format!("{model}, {} {product}, {scope}", provider(who))
        }
        _ => key.to_owned(),
    }
}

/// Whether a word is a pool's key: four parts, the first a provider that is known here.
pub(crate) fn is_pool(word: &str) -> bool {
    let parts: Vec<&str> = word.split('/').collect();
    matches!(parts.as_slice(), [who, product, scope, model]
        if provider(who) != *who && ![product, scope, model].iter().any(|part| part.is_empty()))
}

/// A pool inside a sentence: "claude-sonnet-4.5 (Anthropic direct, global)".
pub(crate) fn pool_in_words(key: &str) -> String {
    match pool(key).split_once(", ") {
        Some((model, place)) => format!("{model} ({place})"),
        None => key.to_owned(),
    }
}

/// Where a pool is: "prod, us-east-1", "prod", or nothing.
pub(crate) fn place(account: Option<&str>, region: Option<&str>) -> String {
    [account, region].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A pool's model and where it is: "claude-sonnet-4.5, Anthropic direct, global, prod".
pub(crate) fn whereabouts(key: &str, account: Option<&str>, region: Option<&str>) -> String {
    let place = place(account, region);
    if place.is_empty() { pool(key) } else { format!("{}, {place}", pool(key)) }
}

/// What to do instead of asking, as an instruction.
pub(crate) fn fix(key: &str) -> String {
    match key {
        "max_tokens" => "Set max_tokens".to_owned(),
        "caching" => "Cache what prompts share".to_owned(),
        "routing" => "Route to a smaller model".to_owned(),
        "batch" => "Move to batch".to_owned(),
        "staggering" => "Stagger the starts".to_owned(),
        other => words(other),
    }
}

/// What to do with a reservation, as an instruction.
pub(crate) fn action(key: &str) -> String {
    match key {
        "hold" => "Keep the reservation".to_owned(),
        "buy" => "Buy a reservation".to_owned(),
        "step_up" => "Step the reservation up".to_owned(),
        "step_down" => "Step the reservation down".to_owned(),
        "let_lapse" => "Let the reservation lapse".to_owned(),
        "unknown" => "Find out what the reservation costs".to_owned(),
        other => words(other),
    }
}

/// What gave a rate, as a noun: `in_flight` is "runs in flight".
pub(crate) fn rate(key: &str) -> String {
    match key {
        "in_flight" => "runs in flight".to_owned(),
        "runs_per_min" => "declared runs a minute".to_owned(),
        "measured" => "past occurrences".to_owned(),
        "multiplier" => "a declared multiplier".to_owned(),
        "assumed" => "an assumption, since no occurrence was measured".to_owned(),
        "hour_of_week" => "the hour of the week".to_owned(),
        other => words(other),
    }
}

/// What kind of step a filing is.
pub(crate) fn filing(key: &str) -> String {
    match key {
        "anchor" => "file first".to_owned(),
        "companion" => "file with it".to_owned(),
        "case_text" => "case text: write it into that case".to_owned(),
        other => words(other),
    }
}

/// What a warning is about, as a heading.
pub(crate) fn warning(code: &str) -> String {
    match code {
        "no_data" | "thin_history" | "thin_runs" => "Little history".to_owned(),
        "low_coverage" => "Usage that is not known".to_owned(),
        "unknown_pool" => "Calls without a pool".to_owned(),
        "unmeasured_workflow" => "Workflows that were never measured".to_owned(),
        "no_event_rate" => "Events without a rate".to_owned(),
        "assumed_event_rate" => "Events that are assumed".to_owned(),
        "below_past" => "Events planned below what was seen".to_owned(),
        "over_budget" => "Spend above the budget".to_owned(),
        "limit_disagrees" => "Limits that the provider tells otherwise".to_owned(),
        "no_reservation" => "Units without a reservation".to_owned(),
        "no_lead_time" => "Lead times that nobody gave".to_owned(),
        "no_catalog_row" => "Pools that the catalog does not know".to_owned(),
        "multiplier_unused" => "Multipliers that do not count".to_owned(),
        "no_growth" => "Growth is not known".to_owned(),
        "censored" => "Demand that a limit cut off".to_owned(),
        "burst_over_limit" => "Bursts above a limit".to_owned(),
        "stale_catalog" => "Provider rules read long ago".to_owned(),
        "no_limit" => "Limits that nobody gave".to_owned(),
        "fix_first" => "A setting first".to_owned(),
        "open_request" => "Requests under way".to_owned(),
        other => capital(&words(other)),
    }
}

/// A stress as a condition: "every limit is 30 % lower".
pub(crate) fn stress(key: &str) -> String {
    match key {
        "limits -30 %" => "every limit is 30 % lower".to_owned(),
        "latency x2" => "model calls take twice as long".to_owned(),
        "fan-out x2" => "runs call twice as many tools at once".to_owned(),
        "retrieved context +50 %" => "input is 50 % longer".to_owned(),
        "retries 10 %" => "one call in ten is sent again".to_owned(),
        "tail-heavy mix" => "the longest runs come four times as often".to_owned(),
        "tools slow x3" => "tools take three times as long".to_owned(),
        "a tool fails: one call in five again" => {
            "a tool fails, and one call in five is sent again".to_owned()
        }
        "cache lost" => "the prompt cache is lost".to_owned(),
        other => crate::plain::sentence(other),
    }
}

/// A budget's limit with its unit: `wall_clock_s` is "wall clock, seconds".
pub(crate) fn budget(key: &str) -> String {
    match key.strip_suffix("_s") {
        Some(what) => format!("{}, seconds", words(what)),
        None => words(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the names that stand in every table and sentence.
    #[test]
    fn keys_read_as_words() {
        assert_eq!(dimension("input_tokens_per_min"), "input tokens a minute");
        assert_eq!(dimension("tokens_per_day"), "tokens a day");
        assert_eq!(dimension("concurrent"), "concurrent requests");
        assert_eq!(
            pool("anthropic/direct/global/claude-sonnet-4.5"),
            "claude-sonnet-4.5, Anthropic direct, global"
        );
        assert_eq!(pool("odd"), "odd");
        assert_eq!(model("a/b/c/d"), "d");
        assert!(is_pool("openai/direct/global/gpt-5.2") && !is_pool("sql/plan/draws.sql/x"));
        assert_eq!(warning("odd_thing"), "Odd thing");
        assert_eq!(place(Some("prod"), None), "prod");
    }
}
