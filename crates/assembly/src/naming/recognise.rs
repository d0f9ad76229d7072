//! Where a call went, from what its telemetry says: account, region, and pool key
//! `provider/product/scope/model`.
//!
//! Match rules come first ([`Naming::place`](super::Naming::place)); who the provider is, and the region that
//! a host names, is settled before by the dialects (`[[fold]]` and `[[place]]`). A product and scope that
//! nothing tells are each provider's most usual ones; who holds another (a data zone, provisioned units)
//! says so in `[[deployment]]`. Invariant: nothing is guessed from an opaque id, such a call has no pool,
//! which `doctor` reports, and is counted all the same.

use std::borrow::Cow;

use super::model::{GEOS, last_part, normal_model};

/// What telemetry says of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told<'a> {
    /// Provider, folded to the conventions' names.
    pub provider: Option<&'a str>,
    /// Model asked for: a name, an alias, a deployment, an ARN, a resource path.
    pub model: Option<&'a str>,
    /// Model that answered.
    pub response_model: Option<&'a str>,
    /// Host that was called.
    pub endpoint: Option<&'a str>,
    /// Region that the provider served from.
    pub region: Option<&'a str>,
    /// Account, as measured.
    pub account: Option<&'a str>,
    /// Tier that the provider served it in; `None` for the standard one.
    pub service_tier: Option<&'a str>,
}

/// Where a call went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// Account: that of an ARN, a Vertex project, else as measured, else the Azure resource.
    pub account: Option<&'a str>,
    /// Region; `None` where it is not told, and for Vertex's `global` location.
    pub region: Option<&'a str>,
    /// Pool key; `None` where provider, model or scope cannot be told.
    pub pool: Option<Cow<'a, str>>,
}

/// Where a call went, from what its telemetry says.
///
/// | provider | product | scope | account and region |
/// |---|---|---|---|
/// | `anthropic`, `openai` and other first-party APIs | `direct` | `global` | as measured |
/// | `aws.bedrock` | `runtime`; `mantle` by its host, `provisioned` by an ARN | `geo` or `global` by the inference profile's prefix, else `regional` | by the ARN |
/// | `azure.ai.openai`, `azure.ai.inference` | `standard` | `global` (the portal's first choice) | the resource, by the host |
/// | `gcp.vertex_ai` | `standard` | `global`, or `regional` where a region is known | by the resource path |
///
/// A call that was served in a `batch` or `reserved` tier draws on the limit of that product, where the
/// provider keeps one apart (facts/providers.md 1.3, 2.2, 3). An OpenAI client that calls a host of its own
/// with a model that is not OpenAI's calls a server that is only compatible.
///
/// ```
/// use plimsoll_assembly::naming::{Told, recognise};
///
/// let place = recognise(&Told {
///     provider: Some("aws.bedrock"),
///     model: Some("arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0"),
///     ..Told::default()
/// });
/// assert_eq!(place.pool.as_deref(), Some("aws.bedrock/runtime/geo/claude-sonnet-4.5"));
/// assert_eq!((place.account, place.region), (Some("123456789012"), Some("eu-west-1")));
/// ```
#[must_use]
pub fn recognise<'a>(told: &Told<'a>) -> Place<'a> {
    let mut place = Place { account: told.account, region: told.region, pool: None };
    let (Some(provider), Some(model)) = (told.provider, told.model.or(told.response_model)) else {
        return place;
    };
    let (provider, product, scope, model) = match provider {
        "anthropic" | "gcp.gemini" | "x_ai" | "mistral_ai" | "cohere" | "groq" | "deepseek"
        | "perplexity" | "moonshot_ai" => (provider, "direct", "global", Some(model)),
        "openai" if only_compatible(told.endpoint, model) => {
            place.account = place.account.or(told.endpoint);
            ("openai-compatible", "direct", "global", Some(model))
        }
        "openai" => (provider, "direct", "global", Some(model)),
        "aws.bedrock" => {
            let called = Bedrock::of(told, model);
            place.account = called.account.or(place.account);
            place.region = place.region.or(called.region);
            (provider, called.product, called.scope.unwrap_or_default(), called.scope.and(called.model))
        }
        "azure.ai.openai" | "azure.ai.inference" => {
            place.account = place.account.or_else(|| azure_resource(told.endpoint?));
            (provider, "standard", "global", Some(model))
        }
        "gcp.vertex_ai" => {
            let called = Vertex::of(told, model);
            place.account = called.project.or(place.account);
            place.region = place.region.or(called.location).filter(|region| *region != "global");
            (provider, "standard", if place.region.is_none() { "global" } else { "regional" }, called.model)
        }
        _ => return place,
    };
    let product = apart(provider, told.service_tier).unwrap_or(product);
    let model = model.map(normal_model).filter(|model| !model.is_empty() && model != "unknown");
    place.pool = model.map(|model| Cow::Owned(format!("{provider}/{product}/{scope}/{model}")));
    place
}

/// The product of a tier whose limit is apart from that of the others.
fn apart(provider: &str, service_tier: Option<&str>) -> Option<&'static str> {
    match (service_tier?, provider) {
        ("batch", _) => Some("batch"),
        ("reserved", "aws.bedrock" | "openai") => Some("reserved"),
        _ => None,
    }
}

/// Whether an OpenAI client called a server that merely speaks its protocol: a host that is not OpenAI's, and
/// a model that is not. (A gateway's host with a model of OpenAI's leads to OpenAI.)
fn only_compatible(endpoint: Option<&str>, model: &str) -> bool {
    const FAMILIES: [&str; 14] = [
        "gpt",
        "chatgpt",
        "o1",
        "o3",
        "o4",
        "text-",
        "ft:",
        "codex",
        "computer-use",
        "omni-",
        "dall-e",
        "tts-",
        "whisper",
        "davinci",
    ];
    let theirs = |host: &str| host == "openai.com" || host.ends_with(".openai.com");
    let model = last_part(model);
    let begins = |with: &str| model.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    // The open weights that OpenAI gave away are served by others.
    let of_openai = FAMILIES.iter().any(|family| begins(family)) && !begins("gpt-oss");
    endpoint.is_some_and(|host| !theirs(host)) && !of_openai
}

/// The resource that an Azure host names: `harbor` of `harbor.openai.azure.com`.
fn azure_resource(host: &str) -> Option<&str> {
    const DOMAINS: [&str; 3] =
        [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"];
    let name = DOMAINS.iter().find_map(|domain| host.strip_suffix(domain))?;
    (!name.is_empty() && !name.contains('.')).then_some(name)
}

/// What a call to Bedrock names.
#[derive(Debug, Default)]
struct Bedrock<'a> {
    account: Option<&'a str>,
    region: Option<&'a str>,
    product: &'static str,
    scope: Option<&'static str>,
    model: Option<&'a str>,
}

impl<'a> Bedrock<'a> {
    fn of(told: &Told<'a>, model: &'a str) -> Self {
        let mantle = told.endpoint.is_some_and(|host| host.starts_with("bedrock-mantle."));
        let product = if mantle { "mantle" } else { "runtime" };
        // Gateways put a path of their own before an ARN.
        let Some(arn) = model.find("arn:").and_then(|at| Arn::parse(&model[at..])) else {
            return Self {
                product,
                scope: Some(profile_scope(model)),
                model: Some(model),
                ..Self::default()
            };
        };
        let named = Self { account: arn.account, region: arn.region, product, ..Self::default() };
        // What an id of the account's own stands for, only the answer can tell.
        let answered = told.response_model.filter(|answered| !answered.contains("arn:"));
        match arn.kind {
            "foundation-model" | "inference-profile" => {
                Self { scope: Some(profile_scope(arn.id)), model: Some(arn.id), ..named }
            }
            "provisioned-model" => {
                Self { product: "provisioned", scope: Some("regional"), model: answered, ..named }
            }
            // Copied from a profile of any reach, or from a model of one Region.
            "application-inference-profile" => {
                let reach = answered.map(profile_scope).filter(|scope| *scope != "regional");
                Self { scope: reach, model: answered, ..named }
            }
            "custom-model-deployment" | "imported-model" => {
                Self { scope: Some("regional"), model: answered, ..named }
            }
            _ => named,
        }
    }
}

/// Scope of a Bedrock model id, by its inference profile's prefix.
fn profile_scope(model: &str) -> &'static str {
    match last_part(model).split_once('.') {
        Some(("global", _)) => "global",
        Some((prefix, _)) if GEOS.contains(&prefix) => "geo",
        _ => "regional",
    }
}

/// `arn:PARTITION:bedrock:REGION:ACCOUNT:KIND/ID`.
struct Arn<'a> {
    region: Option<&'a str>,
    account: Option<&'a str>,
    kind: &'a str,
    id: &'a str,
}

impl<'a> Arn<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(6, ':');
        let (_, _, service) = (parts.next()?, parts.next()?, parts.next()?);
        let (region, account, resource) = (parts.next()?, parts.next()?, parts.next()?);
        let (kind, id) = resource.split_once('/')?;
        let told = |part: &'a str| (!part.is_empty()).then_some(part);
        (service == "bedrock").then_some(Self { region: told(region), account: told(account), kind, id })
    }
}

/// What a call to Vertex AI names.
#[derive(Debug)]
struct Vertex<'a> {
    project: Option<&'a str>,
    location: Option<&'a str>,
    model: Option<&'a str>,
}

impl<'a> Vertex<'a> {
    /// `projects/P/locations/L/publishers/V/models/M`; of `.../endpoints/E`, which is a number, the answer tells
    /// the model.
    fn of(told: &Told<'a>, model: &'a str) -> Self {
        let after = |name: &str| {
            let mut parts = model.split('/');
            parts.find(|part| *part == name)?;
            parts.next().filter(|part| !part.is_empty())
        };
        let tuned = after("locations").and_then(|_| after("endpoints")).is_some();
        let answered = told.response_model.filter(|answered| !answered.contains("/endpoints/"));
        Self {
            project: after("projects"),
            location: after("locations"),
            model: if tuned { answered } else { Some(model) },
        }
    }
}
