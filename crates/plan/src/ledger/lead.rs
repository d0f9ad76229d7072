//! How long increases take here: what the ledger's outcomes teach.
//!
//! The invariant: an outcome counts only with both its dates, and fewer than five outcomes teach nothing.

use super::Ledger;

/// Outcomes below which a P90 of lead times is not trusted.
pub(crate) const ENOUGH_OUTCOMES: usize = 5;

/// Calendar days from filing to decision, rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeadTimes {
    /// Half of the requests were decided by then.
    pub p50_days: u32,
    /// Nine in ten were.
    pub p90_days: u32,
    /// Outcomes behind both.
    pub n: usize,
}

impl Ledger {
    /// Lead times of the decided requests on this provider and product; `None` below five outcomes.
    #[must_use]
    pub fn lead_times(&self, pool: &str) -> Option<LeadTimes> {
        let mut days = self.outcome_days(pool);
        if days.len() < ENOUGH_OUTCOMES {
            return None;
        }
        days.sort_unstable();
        Some(LeadTimes { p50_days: quantile(&days, 5)?, p90_days: quantile(&days, 9)?, n: days.len() })
    }

    /// Days from filing to decision of every outcome on this provider and product, in file order.
    pub(crate) fn outcome_days(&self, pool: &str) -> Vec<u32> {
        let product = |key: &str| key.split('/').take(2).map(str::to_owned).collect::<Vec<_>>();
        self.requests
            .iter()
            .filter(|request| product(&request.pool) == product(pool))
            .filter_map(|request| Some(request.decided?.since(request.filed?).ok()?.get_days()))
            .filter_map(|days| u32::try_from(days).ok())
            .collect()
    }
}

/// Linear interpolation at `tenths` of the way, in whole tenths of a day, rounded up.
fn quantile(sorted: &[u32], tenths: usize) -> Option<u32> {
    let place = tenths * (sorted.len() - 1);
    let (below, part) = (place / 10, u32::try_from(place % 10).ok()?);
    let above = sorted.get(below + 1).or(sorted.last())?;
    Some((sorted.get(below)? * (10 - part) + above * part).div_ceil(10))
}
