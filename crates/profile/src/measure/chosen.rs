//! Whole runs with their calls, from the rows that `chosen_calls` gives.
//!
//! Leaves the choice of runs to whoever registers `chosen_runs`. The invariant: the calls of a run come one
//! behind the other, in the order in which they were wanted.

use plimsoll_plan::{SampledCall, SampledRun};
use serde::Deserialize;

use super::Queries;
use crate::error::ProfileError;

#[derive(Deserialize)]
struct Row {
    event: Option<String>,
    workflow: String,
    run_id: String,
    arrival_us: i64,
    class: Option<String>,
    restarted: bool,
    #[serde(flatten)]
    call: SampledCall,
}

impl Queries<'_> {
    /// The runs in `chosen_runs`, whole; one without any call is left out.
    pub(super) async fn chosen_calls(&self) -> Result<Vec<SampledRun>, ProfileError> {
        let mut runs: Vec<SampledRun> = Vec::new();
        let mut last = None;
        for row in self.rows::<Row>("chosen_calls").await? {
            let Row { event, workflow, run_id, arrival_us, class, restarted, call } = row;
            if last.as_ref() != Some(&(event.clone(), run_id.clone())) {
                last = Some((event.clone(), run_id));
                runs.push(SampledRun { event, workflow, arrival_us, class, restarted, calls: Vec::new() });
            }
            if let Some(run) = runs.last_mut() {
                run.calls.push(call);
            }
        }
        Ok(runs)
    }
}
