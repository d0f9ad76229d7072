//! `gcloud quotas info list --service=aiplatform.googleapis.com --format=json`.
//!
//! One quota has a value per region and model, under `dimensionsInfos`; a value without a model or a region
//! is what holds for all that have none of their own, and is told, not spread over them.

use std::collections::BTreeMap;

use plimsoll_catalog::Catalog;
use serde::Deserialize;
use serde_json::Value;

use super::known::{by_model, by_quota};
use super::{LimitRead, Origin, ProviderLimits};

const PROVIDER: &str = "gcp.vertex_ai";
/// Products whose limits are listed there, in the order in which they are looked through.
const PRODUCTS: [&str; 2] = ["standard", "provisioned"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuotaInfo {
    quota_id: String,
    metric: Option<String>,
    #[serde(default)]
    dimensions_infos: Vec<DimensionsInfo>,
}

#[derive(Deserialize)]
struct DimensionsInfo {
    #[serde(default)]
    dimensions: BTreeMap<String, String>,
    #[serde(default)]
    details: Details,
}

#[derive(Default, Deserialize)]
struct Details {
    value: Option<Value>,
}

/// None where the output is another one's.
pub(super) fn read(json: &Value, catalog: &Catalog, origin: &Origin) -> Option<ProviderLimits> {
    let infos = Vec::<QuotaInfo>::deserialize(json.get("quotaInfos").unwrap_or(json)).ok()?;
    let mut found = ProviderLimits::default();
    for info in infos {
        for at in &info.dimensions_infos {
            let place: Vec<String> =
                at.dimensions.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let told = format!("{} {}", info.quota_id, place.join(" ")).trim_end().to_owned();
            let region = at.dimensions.get("region").cloned();
            let model = at.dimensions.get("base_model").or_else(|| at.dimensions.get("model"));
            match known(catalog, &info, region.is_some(), model.map(String::as_str), origin) {
                Ok((pool, dimension)) => found.take(
                    LimitRead {
                        pool,
                        account: origin.account.clone(),
                        region: region.or_else(|| origin.region.clone()),
                        dimension,
                        value: 0,
                        quota: told,
                    },
                    at.details.value.as_ref().and_then(figure),
                ),
                Err(why) => found.skip(told, why.to_owned()),
            }
        }
    }
    Some(found)
}

/// Pool and dimension: by the quota's id where the catalog has it, else by metric and model.
fn known(
    catalog: &Catalog,
    info: &QuotaInfo,
    regional: bool,
    model: Option<&str>,
    origin: &Origin,
) -> Result<(String, String), &'static str> {
    if let Some((key, dimension)) = by_quota(catalog, PROVIDER, Some(&info.quota_id), &info.quota_id) {
        return Ok((key.to_string(), dimension.to_owned()));
    }
    let model =
        model.ok_or("holds for all models that have none of their own: give it in [[pool]] yourself")?;
    let metric = info.metric.as_deref().unwrap_or(&info.quota_id);
    let dimension = dimension(metric).ok_or("counts neither requests nor tokens a minute")?;
    let scope = if regional { "regional" } else { "global" };
    let entry =
        PRODUCTS.iter().find_map(|product| by_model(catalog, (PROVIDER, product, scope), model, origin.on));
    let entry = entry.ok_or("the catalog has no row for this model and scope")?;
    Ok((entry.key.to_string(), dimension.to_owned()))
}

/// What a metric such as `aiplatform.googleapis.com/online_prediction_input_tokens_per_minute_per_base_model`
/// counts.
fn dimension(metric: &str) -> Option<&'static str> {
    let name = metric.rsplit('/').next().unwrap_or(metric);
    [
        ("input_tokens_per_minute", "input_tokens_per_min"),
        ("output_tokens_per_minute", "output_tokens_per_min"),
        ("tokens_per_minute", "tokens_per_min"),
        ("prediction_requests_per", "requests_per_min"),
    ]
    .into_iter()
    .find(|(part, _)| name.contains(part))
    .map(|(_, dimension)| dimension)
}

/// A value that JSON writes as a number or, being of 64 bits, as a text; -1 is no limit.
fn figure(value: &Value) -> Option<f64> {
    let figure = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    (figure >= 0.0).then_some(figure)
}
