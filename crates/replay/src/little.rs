//! Little's law at every boundary: how many are inside is how often one enters times how long it stays.
//!
//! The invariant: both sides are added up apart, from the levels and from the stays, in whole
//! microseconds; [`Little::exact`] says whether they are equal, and a replay for which it is false is
//! wrong.

use serde::Serialize;

use crate::gauge::Reading;

/// The law, boundary by boundary.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Little {
    /// Whether it holds at all of them, to the microsecond.
    pub exact: bool,
    /// Runs in all and by tier, then what runs, waits and streams at each pool and tool.
    pub boundaries: Vec<Boundary>,
}

/// One boundary over the measured time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Boundary {
    /// `run`, `pool`, `tool`, `queue` or `stream`.
    pub boundary: &'static str,
    /// Of which workflow, tier, pool or tool.
    pub name: String,
    /// Who was inside at some time.
    pub entered: u64,
    /// Entries a second.
    pub lambda_per_s: f64,
    /// Mean stay in the measured time, in seconds.
    pub w_s: f64,
    /// Mean number inside.
    pub l: f64,
    /// The number inside that 95 % of the time did not exceed.
    pub p95: u64,
    /// The largest number inside.
    pub max: u64,
    /// Whether levels and stays agree to the microsecond.
    pub exact: bool,
}

impl Boundary {
    pub(crate) fn new(boundary: &'static str, name: String, read: Reading) -> Self {
        let seconds = |micros: u128| micros as f64 / 1e6;
        let length = seconds(u128::from(read.micros));
        let stays = seconds(read.stays);
        Self {
            boundary,
            name,
            entered: read.entered,
            lambda_per_s: read.entered as f64 / length,
            w_s: if read.entered == 0 { 0.0 } else { stays / read.entered as f64 },
            l: seconds(read.area) / length,
            p95: read.p95,
            max: read.max,
            exact: read.area == read.stays,
        }
    }
}
