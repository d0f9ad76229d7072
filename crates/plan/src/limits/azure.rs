//! `az cognitiveservices usage list --location REGION`.
//!
//! A quota is called `OpenAI.GlobalStandard.gpt-5.2`, and counts thousands of tokens a minute for standard
//! deployments, units for provisioned ones.

use plimsoll_catalog::Catalog;
use serde::Deserialize;
use serde_json::Value;

use super::known::by_model;
use super::{LimitRead, Origin, ProviderLimits};

const PROVIDER: &str = "azure.ai.openai";

/// The provider's deployment types: product and scope of the pool, and tokens a minute for one of the
/// quota; none where it counts units.
const TYPES: [(&str, &str, &str, Option<f64>); 6] = [
    ("Standard", "standard", "regional", Some(1_000.0)),
    ("GlobalStandard", "standard", "global", Some(1_000.0)),
    ("DataZoneStandard", "standard", "datazone", Some(1_000.0)),
    ("ProvisionedManaged", "provisioned", "regional", None),
    ("GlobalProvisionedManaged", "provisioned", "global", None),
    ("DataZoneProvisionedManaged", "provisioned", "datazone", None),
];

#[derive(Deserialize)]
struct Usage {
    name: Name,
    limit: Option<f64>,
}

#[derive(Deserialize)]
struct Name {
    value: String,
}

/// None where the output is another one's.
pub(super) fn read(json: &Value, catalog: &Catalog, origin: &Origin) -> Option<ProviderLimits> {
    // The command gives a list, the service behind it an object with one.
    let usages = Vec::<Usage>::deserialize(json.get("value").unwrap_or(json)).ok()?;
    let mut found = ProviderLimits::default();
    for usage in usages {
        let quota = usage.name.value;
        let mut parts = quota.splitn(3, '.').skip(1);
        let kind = parts.next().and_then(|kind| TYPES.iter().find(|(name, ..)| *name == kind));
        let Some((_, product, scope, per_unit)) = kind else {
            found.skip(quota, "counts no deployment's tokens or units".to_owned());
            continue;
        };
        let model = parts.next();
        let entry = model.and_then(|model| by_model(catalog, (PROVIDER, product, scope), model, origin.on));
        let limit = |pool: String, dimension: &str| LimitRead {
            pool,
            account: origin.account.clone(),
            region: origin.region.clone(),
            dimension: dimension.to_owned(),
            value: 0,
            quota: quota.clone(),
        };
        match (entry, per_unit) {
            (Some(entry), Some(per_unit)) => {
                let tokens = usage.limit.map(|limit| limit * per_unit);
                found.take(limit(entry.key.to_string(), "tokens_per_min"), tokens);
                // Requests come with the tokens, in the fixed ratio of a capacity unit.
                let unit = entry.grants.capacity_unit.as_ref();
                let requests = unit.and_then(|unit| {
                    let (tokens_of, requests_of) =
                        (unit.limits.get("tokens_per_min")?, unit.limits.get("requests_per_min")?);
                    let units = (tokens? / *tokens_of as f64).floor();
                    Some(units * *requests_of as f64)
                });
                if requests.is_some_and(|requests| requests > 0.0) {
                    found.take(limit(entry.key.to_string(), "requests_per_min"), requests);
                }
            }
            (Some(entry), None) => found.take(limit(entry.key.to_string(), "units"), usage.limit),
            (None, None) if model.is_none() => found.skip(
                quota,
                "units are granted for all models together: give them as limits = [{ units = N }] of each pool"
                    .to_owned(),
            ),
            (None, _) => found.skip(quota, "the catalog has no row for this model and deployment type".to_owned()),
        }
    }
    Some(found)
}
