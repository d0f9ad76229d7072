//! In which steps a provider raises limits.
//!
//! Invariant: a grant is never below the need. A limit that a provider once granted outside its steps
//! is no concern here: steps round what is asked for, they do not judge what is held.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The steps of a pool's limits: tiers, capacity units, or any whole number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Tiers that raise every limit together, smallest first.
    #[serde(default, rename = "step", skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// What comes after the last tier, for example `Custom`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<String>,
    /// A unit that carries all limits in a fixed ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_unit: Option<CapacityUnit>,
    /// Largest figure that the channel takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

/// A tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Name.
    pub name: String,
    /// Limit by dimension.
    pub limits: BTreeMap<String, u64>,
    /// Most that can be spent in a month at this tier, USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend_cap_usd_month: Option<u64>,
}

/// A unit in which limits are allotted together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityUnit {
    /// Name with its size, for example `capacity unit (1,000 tokens per minute)`.
    pub name: String,
    /// What one unit carries, by dimension.
    pub limits: BTreeMap<String, u64>,
}

/// What to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The limit to ask for: the need, rounded up once to what is granted.
    pub limit: u64,
    /// Name of the tier that it lands on.
    pub step: Option<String>,
    /// Capacity units that it is made of.
    pub units: Option<u64>,
    /// It is more than the channel takes; it has to go to a person, in words.
    pub above_max: bool,
}

impl Grants {
    /// The smallest grant that covers `need` of one dimension.
    pub fn cover(&self, dimension: &str, need: u64) -> Grant {
        let plain =
            Grant { limit: need, step: None, units: None, above_max: self.max.is_some_and(|max| need > max) };
        if !self.steps.is_empty() {
            return match self.step_for([(dimension, need)]) {
                Some(step) => Grant {
                    limit: step.limits.get(dimension).copied().unwrap_or(need),
                    step: Some(step.name.clone()),
                    ..plain
                },
                None => Grant { step: self.beyond.clone(), ..plain },
            };
        }
        match self.capacity_unit.as_ref().and_then(|unit| unit.limits.get(dimension)) {
            Some(per_unit) => {
                let units = need.div_ceil(*per_unit);
                Grant { limit: units.saturating_mul(*per_unit), units: Some(units), ..plain }
            }
            None => plain,
        }
    }

    /// The smallest tier that covers all these needs together; none where no tier does, or where
    /// limits do not come in tiers. A tier that does not tell a dimension does not cover it.
    pub fn step_for<'a>(&self, needs: impl IntoIterator<Item = (&'a str, u64)>) -> Option<&Step> {
        let needs: Vec<(&str, u64)> = needs.into_iter().collect();
        self.steps
            .iter()
            .find(|step| needs.iter().all(|(dimension, need)| step.limits.get(*dimension) >= Some(need)))
    }

    /// Capacity units that cover all these needs together: limits in a fixed ratio cannot be raised
    /// alone. None where limits do not come in capacity units. A dimension that a unit does not
    /// carry is passed over.
    pub fn units_for<'a>(&self, needs: impl IntoIterator<Item = (&'a str, u64)>) -> Option<u64> {
        let unit = self.capacity_unit.as_ref()?;
        needs
            .into_iter()
            .filter_map(|(dimension, need)| Some(need.div_ceil(*unit.limits.get(dimension)?)))
            .max()
    }

    /// What is wrong with it, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        if !self.steps.is_empty() && self.capacity_unit.is_some() {
            return Some("limits come in steps or in capacity units, not both".to_owned());
        }
        for (lower, upper) in self.steps.iter().zip(self.steps.iter().skip(1)) {
            for (dimension, limit) in &lower.limits {
                if upper.limits.get(dimension).is_some_and(|above| above <= limit) {
                    return Some(format!(
                        "step `{}` does not raise {dimension} above `{}`; write the smallest first",
                        upper.name, lower.name
                    ));
                }
            }
        }
        let zero = |unit: &CapacityUnit| unit.limits.values().any(|limit| *limit == 0);
        self.capacity_unit.as_ref().is_some_and(zero).then(|| "a capacity unit carries nothing".to_owned())
    }
}
