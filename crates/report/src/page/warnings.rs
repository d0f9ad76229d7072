//! The plan's warnings by what they are about, so that forty of one kind are one thing to know.
//!
//! The invariant: kinds stand in the plan's own order, and none is left out; of a long kind the first
//! few are told and the others counted.

use plimsoll_plan::Plan;
use serde::Serialize;

use crate::{names, plain};

/// Most warnings of one kind that are told.
const MOST: usize = 8;

/// Warnings of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Warned {
    /// What they are about.
    pub(crate) title: String,
    /// The plan's codes for it.
    pub(crate) codes: Vec<String>,
    /// One sentence each.
    pub(crate) details: Vec<String>,
    /// How many more there are.
    pub(crate) left: usize,
}

pub(super) fn list(plan: &Plan) -> Vec<Warned> {
    let mut kinds: Vec<Warned> = Vec::new();
    for warning in &plan.warnings {
        let title = names::warning(&warning.code);
        let detail = plain::sentence(&warning.detail);
        let place = kinds.iter().position(|k| k.title == title).unwrap_or_else(|| {
            kinds.push(Warned { title, codes: Vec::new(), details: Vec::new(), left: 0 });
            kinds.len() - 1
        });
        if let Some(kind) = kinds.get_mut(place) {
            if !kind.codes.contains(&warning.code) {
                kind.codes.push(warning.code.clone());
            }
            if kind.details.len() < MOST { kind.details.push(detail) } else { kind.left += 1 }
        }
    }
    kinds
}
