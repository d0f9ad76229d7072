//! Where a limit is raised, how long that takes, and what is asked for there.
//!
//! Leaves the figures to the planner: a [`Field`] only says which figure of the demand sheet
//! (`facts` on requests, 1.8) a provider's form wants under which label.

use serde::{Deserialize, Serialize};

/// The way to a higher limit or to reserved units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Name, for example `AWS Service Quotas`.
    pub name: String,
    /// Address, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How long it takes.
    pub lead_time: LeadTime,
    /// Command that files a request, with `{quota_code}`, `{value}` and `{region}` to be filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The form, field by field, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// What a reviewer wants to see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// What limits the asking itself, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Steps in their order, where quota, capacity and reservation are different things.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// Requests that may be open at once for one quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_per_quota: Option<u32>,
    /// Requests that may be open at once in one account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_per_account: Option<u32>,
    /// Requests that may be open at once in one region of an account.
    pub open_per_region: Option<u32>,
}

/// A lead time in business days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeadTime {
    /// Half of all requests are decided by then.
    pub p50_business_days: u32,
    /// Nine in ten are.
    pub p90_business_days: u32,
}

/// One field of a provider's form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// The provider's label.
    pub label: String,
    /// What goes in.
    pub from: Fill,
}

/// What goes into a field of a form. Steady is the P50 over active minutes, peak the P95.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Account, subscription, project or organisation.
    Account,
    /// Person to answer.
    Contact,
    /// Region, or the scope where there is none.
    Region,
    /// Model.
    Model,
    /// Deployment type or scope.
    DeploymentType,
    /// Exact name of the quota.
    QuotaName,
    /// Its code.
    QuotaCode,
    /// Limit today.
    CurrentValue,
    /// Limit asked for.
    RequestedValue,
    /// Tier held and tier asked for.
    Tier,
    /// Day from which it is needed.
    NeededFrom,
    /// Steady tokens a minute.
    SteadyTokensPerMin,
    /// Peak tokens a minute.
    PeakTokensPerMin,
    /// Steady requests a minute.
    SteadyRequestsPerMin,
    /// Peak requests a minute.
    PeakRequestsPerMin,
    /// Mean input tokens of a request.
    MeanInputTokens,
    /// Mean output tokens of a request.
    MeanOutputTokens,
    /// Share of requests with more than 25,000 input tokens.
    ShareInputAbove25k,
    /// Share of input that the cache served.
    CacheHitShare,
    /// Use of the current limit.
    Utilization,
    /// Growth with its method, and coming events.
    Growth,
    /// Spend expected in a month.
    SpendForecast,
    /// Whether cross-region routing is used, or why not.
    CrossRegion,
    /// What the calls are for.
    UseCase,
    /// What stops without it.
    Impact,
    /// What was done before asking.
    Mitigations,
    /// The justification as a whole.
    Justification,
}

impl Channel {
    /// The command that files a request for `value`; none where the channel has no command, or the
    /// command wants a code that is not known. A region that is not told stays to be filled in.
    pub fn command(&self, quota_code: Option<&str>, value: u64, region: Option<&str>) -> Option<String> {
        let template = self.command.as_deref()?;
        let code = match (template.contains("{quota_code}"), quota_code) {
            (true, None) => return None,
            (_, code) => code.unwrap_or_default(),
        };
        Some(
            template
                .replace("{quota_code}", code)
                .replace("{value}", &value.to_string())
                .replace("{region}", region.unwrap_or("REGION")),
        )
    }

    /// What is wrong with it, if anything: the field and why.
    pub(crate) fn fault(&self) -> Option<(&'static str, String)> {
        if self.lead_time.p90_business_days < self.lead_time.p50_business_days {
            return Some(("lead_time", "the P90 is below the P50".to_owned()));
        }
        let template = self.command.as_deref().unwrap_or_default();
        let mut holes = template.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        holes.find(|hole| !["quota_code", "value", "region"].contains(hole)).map(|hole| {
            (
                "command",
                format!(
                    "`{{{hole}}}` cannot be filled in; there are {{quota_code}}, {{value}} and {{region}}"
                ),
            )
        })
    }
}
