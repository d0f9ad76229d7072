//! What the plan says of the ledger: every entry with what came of it, and how long that took.
//!
//! The invariant: a row says what the file says; only the days are counted here.

use jiff::civil::Date;

use super::{Ledger, LedgerRequest};
use crate::LedgerPlan;

impl Ledger {
    /// All entries in file order, as of a day.
    pub(crate) fn told(&self, today: Date) -> Vec<LedgerPlan> {
        self.requests.iter().map(|request| told(request, today)).collect()
    }
}

fn told(request: &LedgerRequest, today: Date) -> LedgerPlan {
    let until = request.decided.unwrap_or(today);
    let days = request.filed.map(|filed| until.duration_since(filed).as_hours() / 24);
    LedgerPlan {
        pool: request.pool.clone(),
        account: request.account.clone(),
        region: request.region.clone(),
        dimension: request.dimension.clone(),
        event: request.event.clone(),
        state: request.state().to_owned(),
        asked: request.asked,
        granted: request.granted,
        filed: request.filed,
        decided: request.decided,
        // An entry of a later day than the plan's has not been open yet.
        days: days.filter(|days| *days >= 0),
        case: request.case.clone(),
    }
}
