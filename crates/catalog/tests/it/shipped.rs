//! The catalog as shipped: it loads, and every row is fit to plan with.

use std::sync::LazyLock;

use jiff::civil::date;
use plimsoll_catalog::{Call, Catalog, Confidence, Entry, PoolKey, Source, Tier};

/// The shipped provider files, by name, in order of name.
pub(crate) fn texts() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers");
    let mut texts: Vec<(String, String)> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|file| file.path().extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|file| {
            let text = std::fs::read_to_string(file.path()).ok()?;
            Some((file.file_name().to_string_lossy().into_owned(), text))
        })
        .collect();
    texts.sort();
    texts
}

/// The shipped catalog.
pub(crate) fn catalog() -> &'static Catalog {
    static SHIPPED: LazyLock<Catalog> = LazyLock::new(|| Catalog::load(texts()).unwrap());
    &SHIPPED
}

/// A shipped entry on 2 November 2026.
pub(crate) fn entry(key: &str) -> &'static Entry {
    catalog().find(&PoolKey::parse(key).unwrap(), date(2026, 11, 2)).unwrap()
}

/// Protects the shipped files: they load, and what a plan needs of a row is there.
#[test]
fn shipped_rows_are_complete() {
    let catalog = catalog();
    assert_eq!(catalog.edition(), "2026-11");
    assert_eq!(catalog.sha256().len(), 64);
    assert!(catalog.entries().count() >= 20);
    for entry in catalog.entries() {
        let key = &entry.key;
        assert!(!entry.dimensions.is_empty(), "{key} has no limit");
        assert!(!entry.sources.is_empty(), "{key} has no source");
        assert!(entry.is_fallback() || entry.channel.is_some(), "{key} has no channel");
        let assumed = |source: &&Source| source.confidence == Confidence::Assumed;
        assert!(entry.is_fallback() || entry.sources.iter().any(|source| !assumed(&source)), "{key}");
        assert_eq!(!entry.units.is_empty(), entry.dimensions.iter().any(|limit| limit.from_units), "{key}");
    }
}

/// Protects the pools that the example company draws on.
#[test]
fn pools_of_the_example_company_are_known() {
    for key in [
        "anthropic/direct/global/claude-sonnet-4.5",
        "aws.bedrock/runtime/geo/claude-haiku-4.5",
        "aws.bedrock/runtime/geo/claude-sonnet-4.5",
        "azure.ai.openai/provisioned/datazone/gpt-5.2",
        "azure.ai.openai/standard/datazone/gpt-5-mini",
        "azure.ai.openai/standard/datazone/gpt-5.2",
        "azure.ai.openai/standard/datazone/text-embedding-3-small",
        "openai/direct/global/gpt-5",
    ] {
        assert!(!entry(key).is_fallback(), "{key}");
    }
    assert!(entry("openai-compatible/vllm/local/meta-llama/Llama-3.3-70B").is_fallback());
}

/// Protects the limit group: Sonnet 4.5 and 4.6 draw on one limit, Haiku on its own, and the same
/// model in another scope on another.
#[test]
fn models_of_a_group_share_limits() {
    let sonnet = entry("anthropic/direct/global/claude-sonnet-4.5");
    assert!(sonnet.shares_limits_with(entry("anthropic/direct/global/claude-sonnet-4.6")));
    assert!(!sonnet.shares_limits_with(entry("anthropic/direct/global/claude-haiku-4.5")));
    let geo = entry("aws.bedrock/runtime/geo/claude-sonnet-4.5");
    assert!(!geo.shares_limits_with(entry("aws.bedrock/runtime/global/claude-sonnet-4.5")));
}

/// Protects staleness: 180 days after it was read a source is stale, on that day it is not yet.
#[test]
fn a_source_is_stale_after_180_days() {
    let units = entry("azure.ai.openai/provisioned/datazone/gpt-5.2");
    let sizing = units.sources.first().map(|source| source.read_on);
    assert_eq!(sizing, Some(date(2026, 5, 22)));
    let stale = |day| units.stale_sources(day).any(|source| Some(source.read_on) == sizing);
    assert!(!stale(date(2026, 11, 18)));
    assert!(stale(date(2026, 11, 19)));
}

/// Protects the filing command: the quota's own code, the value, the Region; none without a code.
#[test]
fn commands_are_filled_in() {
    let haiku = entry("aws.bedrock/runtime/geo/claude-haiku-4.5");
    assert_eq!(
        haiku.command("tokens_per_min", 2_000_000, Some("us-east-1")).as_deref(),
        Some(
            "aws service-quotas request-service-quota-increase --service-code bedrock \
             --quota-code L-58BE175A --desired-value 2000000 --region us-east-1"
        )
    );
    let opus = entry("aws.bedrock/runtime/geo/claude-opus-4.8");
    assert_eq!(opus.command("tokens_per_min", 1, None), None);
}

/// Protects tiers and overflow: every product that a row names has rows, but for those that are bought by
/// contract and come with the provider's own figures.
#[test]
fn products_that_rows_name_have_rows() {
    let on = date(2026, 11, 2);
    let mut missing = Vec::new();
    for entry in catalog().in_force(on).filter(|entry| !entry.is_fallback()) {
        for rule in &entry.tiers {
            for (pool, row) in catalog().draws_on(&entry.key, rule.tier, on) {
                if row.is_none() && rule.tier != Tier::Reserved {
                    missing.push(format!("{}: {} ({pool})", entry.key, rule.tier));
                }
            }
        }
    }
    let batch_of_vertex = |pool: &String| pool.contains("gcp.vertex_ai/batch");
    missing.retain(|pool| !batch_of_vertex(pool));
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Protects what is uncertain: a flag that changes a draw is data, so that some call shows it.
#[test]
fn alternatives_change_something() {
    let calls: Vec<Call> = [
        "input=1000,cache_read=1000,cache_write=1000,max=4000,output=100",
        "input=1000,output=100",
        "input=10,max=5,status=429",
    ]
    .map(|call| call.parse().unwrap())
    .into();
    for entry in catalog().entries() {
        for flag in entry.flags.iter().filter(|flag| flag.alternative.is_some()) {
            let shows = |call: &Call| entry.sensitivities(call).iter().any(|other| other.flag == flag);
            let needs_requests = flag.name == "rpm_enforced" && entry.dimension("requests_per_min").is_none();
            assert!(needs_requests || calls.iter().any(shows), "{}: {}", entry.key, flag.name);
        }
    }
}

/// Protects the seven questions: each provider's rows answer some, and none is answered with nothing.
#[test]
fn questions_are_answered_where_pages_tell() {
    for entry in catalog().entries() {
        for (name, _, answer) in entry.answers.questions() {
            assert!(answer.is_none_or(|answer| answer.len() > 1), "{}: {name}", entry.key);
        }
    }
    let open =
        |key: &str| entry(key).answers.questions().iter().filter(|question| question.2.is_none()).count();
    assert_eq!(open("openai/direct/global/gpt-5"), 2);
    assert_eq!(open("aws.bedrock/runtime/geo/claude-sonnet-4.5"), 3);
}
