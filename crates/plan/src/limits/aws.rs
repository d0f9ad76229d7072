//! `aws service-quotas list-service-quotas --service-code bedrock`.

use plimsoll_catalog::Catalog;
use serde::Deserialize;
use serde_json::Value;

use super::known::by_quota;
use super::{LimitRead, Origin, ProviderLimits};

const PROVIDER: &str = "aws.bedrock";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ServiceQuota {
    quota_code: Option<String>,
    quota_name: String,
    value: Option<f64>,
    quota_arn: Option<String>,
}

/// None where the output is another one's.
pub(super) fn read(json: &Value, catalog: &Catalog, origin: &Origin) -> Option<ProviderLimits> {
    let quotas = Vec::<ServiceQuota>::deserialize(json.get("Quotas")?).ok()?;
    let mut found = ProviderLimits::default();
    for quota in quotas {
        let told = match &quota.quota_code {
            Some(code) => format!("{} ({code})", quota.quota_name),
            None => quota.quota_name.clone(),
        };
        // arn:aws:servicequotas:REGION:ACCOUNT:bedrock/L-...
        let arn: Vec<&str> = quota.quota_arn.as_deref().unwrap_or_default().split(':').collect();
        let part =
            |index: usize| arn.get(index).filter(|part| !part.is_empty()).map(|part| (*part).to_owned());
        match by_quota(catalog, PROVIDER, quota.quota_code.as_deref(), &quota.quota_name) {
            Some((key, dimension)) => found.take(
                LimitRead {
                    pool: key.to_string(),
                    account: origin.account.clone().or_else(|| part(4)),
                    region: origin.region.clone().or_else(|| part(3)),
                    dimension: dimension.to_owned(),
                    value: 0,
                    quota: told,
                },
                quota.value,
            ),
            None => found.skip(told, "no pool of the catalog has a quota of this code or name".to_owned()),
        }
    }
    Some(found)
}
