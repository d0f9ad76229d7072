//! The request ledger (`ledger.toml`): every increase ever drafted or asked for, and what came of it.
//!
//! It answers three questions: what is open (so it is not asked again), how long grants take here,
//! and what was granted. The invariant: an outcome counts for lead times only with both its dates.

use jiff::civil::Date;
use plimsoll_catalog::PoolKey;
use plimsoll_toml::read;
use serde::Deserialize;

use crate::SpecError;
use crate::digest::sha256;
use crate::fault::invalid;
use crate::spec::LIMIT_DIMENSIONS;

/// Outcomes below which a P90 of lead times is not trusted.
const ENOUGH_OUTCOMES: usize = 5;

/// `ledger.toml`, read and checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Requests, in file order.
    #[serde(default, rename = "request")]
    pub requests: Vec<LedgerRequest>,
    /// Digest of the text that this was read from, lower-case hex; empty for [`Ledger::default`].
    #[serde(skip)]
    pub sha256: String,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerRequest {
    /// Pool key.
    pub pool: String,
    /// Account. Without it, any.
    pub account: Option<String>,
    /// Region. Without it, any.
    pub region: Option<String>,
    /// Dimension.
    pub dimension: String,
    /// Limit asked for.
    pub asked: u64,
    /// Day on which `plan --record` drafted it.
    pub drafted: Option<Date>,
    /// Day on which it was filed; without it, it is a draft.
    pub filed: Option<Date>,
    /// Day on which the provider decided; without it, it is open.
    pub decided: Option<Date>,
    /// Limit granted; 0 where denied.
    pub granted: Option<u64>,
    /// The provider's case number.
    pub case: Option<String>,
    /// Plan that it came from.
    pub plan_id: Option<String>,
    /// Anything worth keeping.
    pub note: Option<String>,
}

impl Ledger {
    /// Reads and checks the text of a `ledger.toml`.
    ///
    /// # Errors
    /// [`SpecError`] with the line for text that is not a ledger, or the key for entries that
    /// contradict themselves.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let mut ledger: Self = read("ledger.toml", text)?;
        for (index, request) in ledger.requests.iter().enumerate() {
            if let Some(problem) = request.problem() {
                return Err(invalid("ledger.toml", format!("request {}", index + 1), problem));
            }
        }
        ledger.sha256 = sha256(text.as_bytes());
        Ok(ledger)
    }

    /// The newest request for this limit that is not decided yet, filed or only drafted.
    #[must_use]
    pub fn open(
        &self,
        pool: &str,
        account: Option<&str>,
        region: Option<&str>,
        dimension: &str,
    ) -> Option<&LedgerRequest> {
        let fits = |mine: &Option<String>, theirs| mine.is_none() || mine.as_deref() == theirs;
        self.requests
            .iter()
            .filter(|request| {
                request.pool == pool && request.dimension == dimension && request.decided.is_none()
            })
            .filter(|request| fits(&request.account, account) && fits(&request.region, region))
            .max_by_key(|request| (request.filed, request.drafted))
    }

    /// P90 of the calendar days from filing to decision on this provider and product, rounded up,
    /// with the number of outcomes behind it; `None` below five.
    #[must_use]
    pub fn lead_days(&self, pool: &str) -> Option<(u32, usize)> {
        let product = |key: &str| key.split('/').take(2).map(str::to_owned).collect::<Vec<_>>();
        let mut days: Vec<i32> = self
            .requests
            .iter()
            .filter(|request| product(&request.pool) == product(pool))
            .filter_map(|request| Some(request.decided?.since(request.filed?).ok()?.get_days()))
            .collect();
        if days.len() < ENOUGH_OUTCOMES {
            return None;
        }
        days.sort_unstable();
        // Linear interpolation at 0.9, in tenths of a day so that it stays whole, rounded up.
        let tenths = 9 * (days.len() - 1);
        let (below, part) = (tenths / 10, i32::try_from(tenths % 10).ok()?);
        let above = days.get(below + 1).or(days.last())?;
        let interpolated = days.get(below)? * (10 - part) + above * part;
        Some((u32::try_from(interpolated).ok()?.div_ceil(10), days.len()))
    }
}

impl LedgerRequest {
    /// What is wrong with this entry, if anything.
    fn problem(&self) -> Option<String> {
        if let Err(error) = self.pool.parse::<PoolKey>() {
            return Some(error.to_string());
        }
        if !LIMIT_DIMENSIONS.contains(&self.dimension.as_str()) {
            let known = LIMIT_DIMENSIONS.join(", ");
            return Some(format!("unknown dimension `{}`: use one of {known}", self.dimension));
        }
        match (self.drafted, self.filed, self.decided) {
            (None, None, _) => Some("is neither drafted nor filed: give the day".to_owned()),
            (_, None, Some(_)) => {
                Some("is decided but was never filed: give the day it was filed".to_owned())
            }
            (_, Some(filed), Some(decided)) if decided < filed => {
                Some("was decided before it was filed: mend the dates".to_owned())
            }
            (.., None) if self.granted.is_some() => {
                Some("is granted but not decided: give the day of the decision".to_owned())
            }
            _ => None,
        }
    }
}
