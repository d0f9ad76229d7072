//! Limits from the provider's own output into a spec, and a spec from nothing.

use jiff::civil::date;
use plimsoll_plan::{LimitsError, Origin, ProviderLimits, Spec, apply, init, patch, read_limits};

use crate::world::{CATALOG, CLOSE, SONNET, as_of, measured, new_york};

fn origin(pool: Option<&str>, region: Option<&str>) -> Origin {
    Origin {
        pool: pool.map(|pool| pool.parse().unwrap()),
        account: None,
        region: region.map(str::to_owned),
        on: date(2026, 11, 2),
    }
}

fn read(text: &str, origin: &Origin) -> ProviderLimits {
    read_limits(text, &CATALOG, origin).unwrap()
}

fn told(limits: &ProviderLimits) -> Vec<(&str, &str, u64)> {
    limits.limits.iter().map(|limit| (limit.pool.as_str(), limit.dimension.as_str(), limit.value)).collect()
}

const AWS: &str = r#"{ "Quotas": [
  { "ServiceCode": "bedrock", "ServiceName": "Amazon Bedrock", "QuotaCode": "L-F4DDD3EB",
    "QuotaArn": "arn:aws:servicequotas:us-east-1:123456789012:bedrock/L-F4DDD3EB",
    "QuotaName": "Cross-region model inference tokens per minute for Claude Sonnet 4.5",
    "Value": 1000000.0, "Unit": "None", "Adjustable": true, "GlobalQuota": false },
  { "QuotaCode": "L-CCA5DF70", "QuotaArn": "arn:aws:servicequotas:us-east-1:123456789012:bedrock/L-CCA5DF70",
    "QuotaName": "Cross-region model inference requests per minute for Claude Haiku 4.5", "Value": 0.0 },
  { "QuotaCode": "L-00000000", "QuotaName": "Sum of training and validation records", "Value": 20000.0 } ] }"#;

/// Protects the mapping by the provider's own code: account and region from its name, zero and strangers told.
#[test]
fn aws_is_read_by_quota_code() {
    let limits = read(AWS, &origin(None, None));
    assert_eq!(told(&limits), [("aws.bedrock/runtime/geo/claude-sonnet-4.5", "tokens_per_min", 1_000_000)]);
    let first = &limits.limits[0];
    assert_eq!(
        (first.account.as_deref(), first.region.as_deref()),
        (Some("123456789012"), Some("us-east-1"))
    );
    let why: Vec<&str> = limits.unknown.iter().map(|unknown| unknown.why.as_str()).collect();
    assert!(why[0].contains("is 0 on aws.bedrock/runtime/geo/claude-haiku-4.5"), "{why:?}");
    assert!(why[1].contains("no pool of the catalog"), "{why:?}");
}

/// Protects the unit trap: Azure counts thousands of tokens, and requests come with them in a fixed ratio.
#[test]
fn azure_counts_thousands() {
    let json = r#"[
      { "name": { "value": "OpenAI.DataZoneStandard.gpt-5.2", "localizedValue": "x" }, "currentValue": 10.0, "limit": 300.0 },
      { "name": { "value": "OpenAI.DataZoneStandard.gpt5-mini" }, "limit": 0.0 },
      { "name": { "value": "OpenAI.GlobalStandard.text-embedding-3-small" }, "limit": 350.0 },
      { "name": { "value": "OpenAI.DataZoneProvisionedManaged" }, "limit": 100.0 },
      { "name": { "value": "OpenAI.Standard.some-model" }, "limit": 5.0 },
      { "name": { "value": "AccountCount" }, "limit": 30.0 } ]"#;
    let limits = read(json, &origin(None, Some("eastus2")));
    let pool = "azure.ai.openai/standard/datazone/gpt-5.2";
    assert_eq!(
        told(&limits),
        [
            (pool, "requests_per_min", 300),
            (pool, "tokens_per_min", 300_000),
            ("azure.ai.openai/standard/global/text-embedding-3-small", "tokens_per_min", 350_000),
        ]
    );
    assert!(limits.limits.iter().all(|limit| limit.region.as_deref() == Some("eastus2")));
    assert_eq!(limits.unknown.len(), 4, "{:?}", limits.unknown);
    let listed = format!("{{ \"value\": {json} }}");
    assert_eq!(
        read(&listed, &origin(None, Some("eastus2"))),
        limits,
        "the service gives the list in an object"
    );
}

/// Protects from a limit spread over models that it is not of: Google's values per model and region are told
/// where the catalog has no row, and so is what holds for the rest.
#[test]
fn google_tells_what_the_catalog_does_not_know() {
    let json = r#"[{ "quotaId": "OnlinePredictionRequestsPerMinutePerProjectPerRegionPerBaseModel",
      "metric": "aiplatform.googleapis.com/online_prediction_requests_per_base_model",
      "dimensionsInfos": [
        { "dimensions": { "region": "us-central1", "base_model": "no-such-model" }, "details": { "value": "60" } },
        { "dimensions": { "region": "us-central1" }, "details": { "value": "5" } } ] }]"#;
    let limits = read(json, &origin(None, None));
    assert!(limits.limits.is_empty());
    let why: Vec<&str> = limits.unknown.iter().map(|unknown| unknown.why.as_str()).collect();
    assert!(why.iter().any(|why| why.contains("no row for this model")), "{why:?}");
    assert!(why.iter().any(|why| why.contains("all models that have none of their own")), "{why:?}");
}

/// Protects the mapping of headers: as curl prints them, for the pool that the user names, and the sum that a
/// provider sends beside its parts is no limit.
#[test]
fn headers_are_read_for_the_pool_that_is_named() {
    let headers = "HTTP/2 200\r\n< Anthropic-RateLimit-Requests-Limit: 4000\r\nanthropic-ratelimit-requests-remaining: 3999\r\nanthropic-ratelimit-input-tokens-limit: 2000000\r\nanthropic-ratelimit-output-tokens-limit: 400000\r\nanthropic-ratelimit-tokens-limit: 2400000\r\ncontent-type: application/json\r\n";
    assert_eq!(read_limits(headers, &CATALOG, &origin(None, None)), Err(LimitsError::Pool));
    let limits = read(headers, &origin(Some(SONNET), None));
    assert_eq!(
        told(&limits),
        [
            (SONNET, "input_tokens_per_min", 2_000_000),
            (SONNET, "output_tokens_per_min", 400_000),
            (SONNET, "requests_per_min", 4_000),
        ]
    );
    assert_eq!(limits.unknown.len(), 1, "{:?}", limits.unknown);
    assert_eq!(read_limits("hello\n", &CATALOG, &origin(None, None)), Err(LimitsError::Format));
    assert!(matches!(
        read_limits("{ \"Quotas\": [", &CATALOG, &origin(None, None)),
        Err(LimitsError::Json { .. })
    ));
    assert_eq!(read_limits("{}", &CATALOG, &origin(None, None)), Err(LimitsError::Format));
}

/// Protects history and text: a limit becomes a line of its own from its day on, comments stay, what is the
/// same already changes nothing, and pools that the spec does not name are told.
#[test]
fn limits_are_added_beside_what_stands() {
    let spec = CLOSE.replace("account = \"prod\"\n", "account = \"prod\" # ours\n") + "# the end\n";
    let headers =
        "anthropic-ratelimit-requests-limit: 4000\nanthropic-ratelimit-input-tokens-limit: 2000000\n";
    let mut limits = read(headers, &origin(Some(SONNET), None)).limits;
    limits.extend(read(AWS, &origin(None, None)).limits);
    let applied = apply(&spec, &limits, date(2026, 11, 2), false).unwrap();
    assert_eq!((applied.written.len(), applied.same.len(), applied.elsewhere.len()), (1, 1, 1));
    let change = patch("plan.toml", &spec, &applied.text);
    let changed: Vec<&str> = change.lines().skip(2).filter(|line| line.starts_with(['+', '-'])).collect();
    assert_eq!(
        changed,
        [
            "-limits = [{ requests_per_min = 4000, input_tokens_per_min = 750000, output_tokens_per_min = 400000 }]",
            "+limits = [{ requests_per_min = 4000, input_tokens_per_min = 750000, output_tokens_per_min = 400000 }, { input_tokens_per_min = 2000000, from = \"2026-11-02\" }]",
        ]
    );
    let new = Spec::parse(&applied.text).unwrap();
    assert_eq!(new.pools[0].limit("input_tokens_per_min", date(2026, 11, 1)), Some(750_000));
    assert_eq!(new.pools[0].limit("input_tokens_per_min", date(2026, 11, 2)), Some(2_000_000));
    let again = apply(&applied.text, &limits, date(2026, 11, 3), false).unwrap();
    assert_eq!(again.text, applied.text, "nothing to do twice");
    let all = apply(&spec, &limits, date(2026, 11, 2), true).unwrap();
    let added = &Spec::parse(&all.text).unwrap().pools[1];
    assert_eq!(
        (added.key.as_str(), added.region.as_deref()),
        ("aws.bedrock/runtime/geo/claude-sonnet-4.5", Some("us-east-1"))
    );
}

/// Protects regions from each other: a limit whose region nobody told is not given to the first that fits.
#[test]
fn a_limit_that_fits_two_pools_is_told() {
    let pool = |region: &str| format!("[[pool]]\nkey = \"{SONNET}\"\nregion = \"{region}\"\n\n");
    let spec = pool("us") + &pool("eu");
    let header = "anthropic-ratelimit-requests-limit: 4000\n";
    let untold = read(header, &origin(Some(SONNET), None)).limits;
    let applied = apply(&spec, &untold, date(2026, 11, 2), true).unwrap();
    assert_eq!((applied.text.as_str(), applied.elsewhere.len()), (spec.as_str(), 1));
    let told = read(header, &origin(Some(SONNET), Some("eu"))).limits;
    let applied = Spec::parse(&apply(&spec, &told, date(2026, 11, 2), false).unwrap().text).unwrap();
    assert_eq!(applied.pools[1].limit("requests_per_min", date(2026, 11, 2)), Some(4_000));
    assert!(applied.pools[0].limits.is_empty());
}

/// Protects a list that is written over lines: the new line stands under the last one.
#[test]
fn a_list_of_lines_stays_one() {
    let spec = format!(
        "[[pool]]\nkey = \"{SONNET}\"\nlimits = [\n  {{ requests_per_min = 50 }}, # at first\n  {{ requests_per_min = 1000, from = \"2026-09-01\" }}, # in autumn\n]\n"
    );
    let limits = read("anthropic-ratelimit-requests-limit: 4000\n", &origin(Some(SONNET), None)).limits;
    let applied = apply(&spec, &limits, date(2026, 11, 2), false).unwrap();
    let change = patch("plan.toml", &spec, &applied.text);
    let added: Vec<&str> = change.lines().skip(2).filter(|line| line.starts_with(['+', '-'])).collect();
    assert_eq!(added, ["+  { requests_per_min = 4000, from = \"2026-11-02\" },"], "{change}");
}

/// Protects the first day: what `plan --init` writes is a spec, holds what headers told, and says what it
/// does not know.
#[test]
fn a_first_spec_can_be_planned_with() {
    let mut measured = measured();
    measured.pools[0].limits_seen = [("requests".to_owned(), 4_000), ("tokens".to_owned(), 750_000)].into();
    let text = init(&measured, &CATALOG, "America/New_York", date(2026, 11, 2));
    let spec = Spec::parse(&text).unwrap();
    let limit = |dimension| spec.pools[0].limit(dimension, date(2026, 11, 2));
    assert_eq!(limit("requests_per_min"), Some(4_000));
    assert_eq!(limit("input_tokens_per_min"), Some(750_000), "the provider counts input and output apart");
    assert_eq!(limit("output_tokens_per_min"), None);
    assert!(text.contains("output_tokens_per_min") && text.contains("limits import"), "{text}");
    assert_eq!(spec.workflow("invoice-reconciliation").unwrap().tier, Some(1));
    assert_eq!(spec.policy.time_zone, "America/New_York");
    plimsoll_plan::windows(&spec, &new_york(), as_of()).unwrap();
}
