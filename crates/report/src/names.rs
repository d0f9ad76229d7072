//! Keys of the plan in the words that a reader uses.
//!
//! A key that is not known here is shown as it is with its underscores turned to spaces, so that new
//! dimensions, actions and metrics read well before anybody names them.

/// A dimension: `input_tokens_per_min` is "input tokens a minute".
pub(crate) fn dimension(key: &str) -> String {
    if key == "concurrent" {
        return "concurrent requests".to_owned();
    }
    for (suffix, window) in [
        ("_per_second", "a second"),
        ("_per_min", "a minute"),
        ("_per_hour", "an hour"),
        ("_per_day", "a day"),
    ] {
        if let Some(what) = key.strip_suffix(suffix) {
            return format!("{} {window}", words(what));
        }
    }
    words(key)
}

/// Underscores as spaces.
pub(crate) fn words(key: &str) -> String {
    key.replace('_', " ")
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

/// Where a pool is: "prod, us-east-1", "prod", or nothing.
pub(crate) fn place(account: Option<&str>, region: Option<&str>) -> String {
    [account, region].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
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
        assert_eq!(place(Some("prod"), None), "prod");
    }
}
