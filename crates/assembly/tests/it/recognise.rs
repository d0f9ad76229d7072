//! What telemetry says, and where the call went: facts/dialects.md 1.4 and facts/providers.md 1 to 5.

use plimsoll_assembly::naming::{Told, recognise};

/// What is told of a call, and the account, region and pool that it is.
struct Case {
    told: Told<'static>,
    account: Option<&'static str>,
    region: Option<&'static str>,
    pool: Option<&'static str>,
}

fn case(provider: &'static str, model: &'static str, pool: &'static str) -> Case {
    let told = Told { provider: Some(provider), model: Some(model), ..Told::default() };
    Case { told, account: None, region: None, pool: (!pool.is_empty()).then_some(pool) }
}

impl Case {
    fn host(mut self, endpoint: &'static str) -> Self {
        self.told.endpoint = Some(endpoint);
        self
    }

    /// The region that the dialects read off the host.
    fn served_from(mut self, region: &'static str) -> Self {
        self.told.region = Some(region);
        self.region = Some(region);
        self
    }

    fn answered_by(mut self, model: &'static str) -> Self {
        self.told.response_model = Some(model);
        self
    }

    fn tier(mut self, tier: &'static str) -> Self {
        self.told.service_tier = Some(tier);
        self
    }

    fn gives(
        mut self,
        account: impl Into<Option<&'static str>>,
        region: impl Into<Option<&'static str>>,
    ) -> Self {
        (self.account, self.region) = (account.into(), region.into());
        self
    }
}

fn check(cases: Vec<Case>) {
    for Case { told, account, region, pool } in cases {
        let place = recognise(&told);
        assert_eq!((place.account, place.region, place.pool.as_deref()), (account, region, pool), "{told:?}");
    }
}

/// Bedrock: the inference profile's prefix is the scope (1.1), an ARN tells account and source Region, the
/// host the endpoint, whose quotas are apart.
#[test]
fn bedrock() {
    const SONNET: &str = "anthropic.claude-sonnet-4-5-20250929-v1:0";
    let mut cases: Vec<Case> = [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "geo/claude-sonnet-4.5"),
        ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "geo/claude-sonnet-4.5"),
        ("apac.anthropic.claude-sonnet-4-20250514-v1:0", "geo/claude-sonnet-4"),
        ("jp.anthropic.claude-haiku-4-5-20251001-v1:0", "geo/claude-haiku-4.5"),
        ("au.anthropic.claude-haiku-4-5-20251001-v1:0", "geo/claude-haiku-4.5"),
        ("global.anthropic.claude-opus-4-6-v1", "global/claude-opus-4.6"),
        ("global.amazon.nova-2-lite-v1:0", "global/nova-2-lite"),
        ("us.meta.llama3-3-70b-instruct-v1:0", "geo/llama3-3-70b-instruct"),
        ("bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "geo/claude-sonnet-4.5"),
        (SONNET, "regional/claude-sonnet-4.5"),
        ("amazon.nova-pro-v1:0", "regional/nova-pro"),
        ("openai.gpt-oss-120b-1:0", "regional/gpt-oss-120b"),
    ]
    .into_iter()
    .map(|(model, pool)| {
        let pool: &'static str = Box::leak(format!("aws.bedrock/runtime/{pool}").into_boxed_str());
        case("aws.bedrock", model, pool)
            .host("bedrock-runtime.us-east-1.amazonaws.com")
            .served_from("us-east-1")
    })
    .collect();
    let arn = |model, pool| case("aws.bedrock", model, pool);
    cases.extend([
        arn(
            "arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws.bedrock/runtime/geo/claude-sonnet-4.5",
        )
        .gives("123456789012", "us-west-2"),
        arn(
            "bedrock/arn:aws:bedrock:eu-central-1:123456789012:inference-profile/global.anthropic.claude-haiku-4-5-20251001-v1:0",
            "aws.bedrock/runtime/global/claude-haiku-4.5",
        )
        .gives("123456789012", "eu-central-1"),
        arn(
            "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
            "aws.bedrock/runtime/regional/claude-3-haiku",
        )
        .gives(None, "us-east-1"),
        arn(
            "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws.bedrock/runtime/geo/claude-sonnet-4.5",
        )
        .gives("123456789012", "us-gov-west-1"),
        // Only the answer can tell what an id of the account's own stands for; without it there is no pool.
        arn("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3", "")
            .gives("123456789012", "us-east-1"),
        arn("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3", "")
            .answered_by(SONNET)
            .gives("123456789012", "us-east-1"),
        arn(
            "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3",
            "aws.bedrock/runtime/geo/claude-sonnet-4.5",
        )
        .answered_by("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
        .gives("123456789012", "us-east-1"),
        arn(
            "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/x7y8",
            "aws.bedrock/provisioned/regional/claude-sonnet-4.5",
        )
        .answered_by(SONNET)
        .gives("123456789012", "us-east-1"),
        arn("arn:aws:bedrock:us-east-1:123456789012:prompt-router/p", "").gives("123456789012", "us-east-1"),
        case("aws.bedrock", "openai.gpt-oss-120b", "aws.bedrock/mantle/regional/gpt-oss-120b")
            .host("bedrock-mantle.us-east-2.api.aws")
            .served_from("us-east-2"),
        // Priority and flex share the on-demand quota, reserved and batch do not (1.3).
        case("aws.bedrock", "us.anthropic.claude-sonnet-5", "aws.bedrock/runtime/geo/claude-sonnet-5").tier("flex"),
        case("aws.bedrock", "us.anthropic.claude-sonnet-5", "aws.bedrock/reserved/geo/claude-sonnet-5")
            .tier("reserved"),
        case("aws.bedrock", "us.anthropic.claude-sonnet-5", "aws.bedrock/batch/geo/claude-sonnet-5").tier("batch"),
    ]);
    check(cases);
}

/// Azure: the request names the deployment, which is a model's name only where it was given one; the host
/// names the resource.
#[test]
fn azure() {
    check(vec![
        case("azure.ai.openai", "gpt-5.2", "azure.ai.openai/standard/global/gpt-5.2")
            .host("harbor-copilot.openai.azure.com")
            .gives("harbor-copilot", None),
        case("azure.ai.openai", "gpt-4o-2024-08-06", "azure.ai.openai/standard/global/gpt-4o")
            .host("harbor.cognitiveservices.azure.com")
            .gives("harbor", None),
        case("azure.ai.inference", "DeepSeek-R1", "azure.ai.inference/standard/global/deepseek-r1")
            .host("harbor.services.ai.azure.com")
            .gives("harbor", None),
        case("azure.ai.openai", "gpt52-finance", "azure.ai.openai/standard/global/gpt52-finance")
            .answered_by("gpt-5.2-2025-12-11")
            .host("eastus.api.cognitive.microsoft.com")
            .served_from("eastus"),
        case("azure.ai.openai", "gpt-5.2", "azure.ai.openai/batch/global/gpt-5.2").tier("batch"),
    ]);
}

/// Vertex AI: project and location stand in the path, the location in the host too; `global` is no region.
#[test]
fn vertex() {
    check(vec![
        case(
            "gcp.vertex_ai",
            "projects/acme-prod/locations/europe-west4/publishers/google/models/gemini-2.5-pro-001",
            "gcp.vertex_ai/standard/regional/gemini-2.5-pro",
        )
        .gives("acme-prod", "europe-west4"),
        case(
            "gcp.vertex_ai",
            "projects/acme-prod/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929",
            "gcp.vertex_ai/standard/global/claude-sonnet-4.5",
        )
        .gives("acme-prod", None),
        case("gcp.vertex_ai", "projects/acme-prod/locations/us-central1/endpoints/4711", "")
            .gives("acme-prod", "us-central1"),
        case(
            "gcp.vertex_ai",
            "projects/acme-prod/locations/us-central1/endpoints/4711",
            "gcp.vertex_ai/standard/regional/gemini-2.5-flash",
        )
        .answered_by("gemini-2.5-flash")
        .gives("acme-prod", "us-central1"),
        case("gcp.vertex_ai", "gemini-2.5-flash", "gcp.vertex_ai/standard/regional/gemini-2.5-flash")
            .host("europe-west1-aiplatform.googleapis.com")
            .served_from("europe-west1"),
        case("gcp.vertex_ai", "gemini-3.6-flash", "gcp.vertex_ai/standard/global/gemini-3.6-flash")
            .host("aiplatform.googleapis.com"),
        case("gcp.gemini", "models/gemini-2.5-flash", "gcp.gemini/direct/global/gemini-2.5-flash"),
    ]);
}

/// First-party APIs: snapshots and aliases of one model are one pool, other tiers and other hosts are not.
#[test]
fn first_party() {
    check(vec![
        case("anthropic", "claude-sonnet-4-5-20250929", "anthropic/direct/global/claude-sonnet-4.5"),
        case("anthropic", "claude-sonnet-4-5", "anthropic/direct/global/claude-sonnet-4.5"),
        case("anthropic", "claude-3-5-haiku-latest", "anthropic/direct/global/claude-3.5-haiku"),
        case("anthropic", "claude-haiku-4-5", "anthropic/direct/global/claude-haiku-4.5").tier("priority"),
        case("anthropic", "claude-haiku-4-5", "anthropic/batch/global/claude-haiku-4.5").tier("batch"),
        case("openai", "gpt-5-2025-08-07", "openai/direct/global/gpt-5").host("api.openai.com"),
        case("openai", "gpt-5", "openai/direct/global/gpt-5").tier("flex"),
        case("openai", "gpt-5.6-sol", "openai/reserved/global/gpt-5.6-sol").tier("reserved"),
        case("openai", "gpt-5", "openai/direct/global/gpt-5").host("eu.api.openai.com").served_from("eu"),
        // A gateway in front of OpenAI, and a server that merely speaks its protocol.
        case("openai", "openai/gpt-5", "openai/direct/global/gpt-5").host("gateway.internal"),
        case(
            "openai",
            "meta-llama/Llama-3.3-70B-Instruct",
            "openai-compatible/direct/global/llama-3.3-70b-instruct",
        )
        .host("vllm.internal")
        .gives("vllm.internal", None),
        case("openai", "openai/gpt-oss-120b", "openai-compatible/direct/global/gpt-oss-120b")
            .host("vllm.internal")
            .gives("vllm.internal", None),
        case("mistral_ai", "mistral-large-latest", "mistral_ai/direct/global/mistral-large"),
    ]);
}

/// Where provider or model is not known, no pool is made up.
#[test]
fn unknown() {
    check(vec![
        case("acme", "m", ""),
        case("openai", "unknown", ""),
        case("openai", "", ""),
        Case {
            told: Told { provider: Some("openai"), ..Told::default() },
            account: None,
            region: None,
            pool: None,
        },
        Case {
            told: Told { model: Some("gpt-5"), ..Told::default() },
            account: None,
            region: None,
            pool: None,
        },
    ]);
}
