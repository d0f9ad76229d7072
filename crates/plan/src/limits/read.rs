//! From a provider's output to limits, whichever provider it is.

use jiff::civil::Date;
use plimsoll_catalog::{Catalog, PoolKey};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use super::{aws, azure, google, headers};

/// A limit of one pool, as its provider lists it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LimitRead {
    /// Pool key.
    pub pool: String,
    /// Account, where the output or its reader told.
    pub account: Option<String>,
    /// Region, where the output or its reader told.
    pub region: Option<String>,
    /// Dimension.
    pub dimension: String,
    /// The limit, in the dimension's unit per its window.
    pub value: u64,
    /// The provider's name of it, with its code.
    pub quota: String,
}

/// Something in the output that no limit of a pool was made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Unknown {
    /// The provider's name of it, with its code.
    pub quota: String,
    /// Why not.
    pub why: String,
}

/// What a provider's output told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProviderLimits {
    /// Limits, by pool.
    pub limits: Vec<LimitRead>,
    /// The rest.
    pub unknown: Vec<Unknown>,
}

/// What the output does not tell of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Pool, for rate-limit headers, which do not name the model.
    pub pool: Option<PoolKey>,
    /// Account, subscription or project.
    pub account: Option<String>,
    /// Region that was asked.
    pub region: Option<String>,
    /// Day on which it was read.
    pub on: Date,
}

/// An output that cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LimitsError {
    /// None of the outputs that are known.
    #[error(
        "not an output that is known: give the JSON of `aws service-quotas list-service-quotas`, of `az cognitiveservices usage list` or of `gcloud quotas info list`, or a response's rate-limit headers as text"
    )]
    Format,
    /// Begins like JSON, and is none.
    #[error("not JSON at line {line}: {problem}")]
    Json {
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// Headers without a pool.
    #[error("rate-limit headers do not name the model: say which pool they are of (--pool KEY)")]
    Pool,
}

/// Reads a provider's output.
///
/// # Errors
/// [`LimitsError`] for a text that is none.
pub fn read_limits(text: &str, catalog: &Catalog, origin: &Origin) -> Result<ProviderLimits, LimitsError> {
    let mut found = if text.trim_start().starts_with(['{', '[']) {
        let json: Value = serde_json::from_str(text)
            .map_err(|error| LimitsError::Json { line: error.line(), problem: error.to_string() })?;
        aws::read(&json, catalog, origin)
            .or_else(|| google::read(&json, catalog, origin))
            .or_else(|| azure::read(&json, catalog, origin))
            .ok_or(LimitsError::Format)?
    } else {
        headers::read(text, catalog, origin)?
    };
    found.limits.sort();
    found.limits.dedup();
    found.unknown.sort();
    found.unknown.dedup();
    Ok(found)
}

impl ProviderLimits {
    /// Keeps a limit, unless it is zero or no whole number: then says so.
    pub(super) fn take(&mut self, limit: LimitRead, value: Option<f64>) {
        match value.and_then(whole) {
            Some(0) => self.skip(limit.quota, format!("is 0 on {}: nothing is granted there", limit.pool)),
            Some(value) => self.limits.push(LimitRead { value, ..limit }),
            None => self.skip(limit.quota, "has no whole number as its value".to_owned()),
        }
    }

    /// Keeps what no limit was made of.
    pub(super) fn skip(&mut self, quota: String, why: String) {
        self.unknown.push(Unknown { quota, why });
    }
}

/// A figure that JSON writes as a float, where it is a whole number that it can hold exactly.
fn whole(value: f64) -> Option<u64> {
    let exact = value.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&value);
    exact.then_some(value as u64)
}
