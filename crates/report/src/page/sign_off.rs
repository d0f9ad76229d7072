//! Who signs what, by when: one row a decision.
//!
//! A request costs nothing and is signed by those who run the service and the capacity; money needs
//! FinOps, and a year of it finance and procurement too; letting a limit break instead needs somebody who may
//! accept that, for a stated time. The invariant: a decision on page one has a row here.

use plimsoll_plan::{Plan, ReservationPlan};
use serde::Serialize;

use super::Break;
use super::decisions::Decision;

/// One line to sign on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SignOff {
    /// What is agreed to.
    pub(crate) what: String,
    /// Pool or workflow.
    pub(crate) place: String,
    /// Last day.
    pub(crate) by: String,
    /// Who has to sign, by role.
    pub(crate) who: String,
}

/// What kind of decision a row is, which says who signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A quota request: no spend.
    Quota,
    /// A reservation of less than a year, or the end of one.
    Money,
    /// A reservation of a year or more.
    Year,
    /// A setting of a workflow.
    Setting,
}

impl Kind {
    /// A reservation's, by the term that is signed.
    pub(super) fn of(reservation: &ReservationPlan) -> Self {
        let years = reservation.term.as_deref().is_some_and(|term| term.contains("year"));
        if years && reservation.recommended > 0 { Self::Year } else { Self::Money }
    }

    fn signers(self, owner: &str) -> String {
        match self {
            Self::Quota => format!("{owner}; capacity owner"),
            Self::Money => format!("{owner}; capacity owner; FinOps"),
            Self::Year => format!("{owner}; capacity owner; FinOps; finance and procurement"),
            Self::Setting => owner.to_owned(),
        }
    }
}

pub(super) fn list(plan: &Plan, decisions: &[Decision], breaks: &[Break]) -> Vec<SignOff> {
    let mut rows: Vec<SignOff> = decisions
        .iter()
        .map(|d| SignOff {
            what: format!("{}, {}", d.what, d.change),
            place: d.place.clone(),
            by: d.when.clone(),
            who: d.kind.signers(d.owner.as_deref().unwrap_or("service owner")),
        })
        .collect();
    if !breaks.is_empty() && !plan.quota_requests.is_empty() {
        rows.push(SignOff {
            what: "Or accept what breaks instead, until a day that is written here".to_owned(),
            place: String::new(),
            by: breaks.first().map_or_else(String::new, |b| b.day.clone()),
            who: "service owner; director".to_owned(),
        });
    }
    rows
}
