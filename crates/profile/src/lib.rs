//! The DataFusion session over a lake: the table provider, our SQL functions, the runner of `sql/`,
//! and the queries that measure what a plan is made from.

mod advice;
mod erase;
mod error;
mod explain;
mod functions;
mod horizon;
mod jobs;
mod lake_table;
mod measure;
mod pins;
mod plans;
mod policy;
mod pool_calls;
mod pruning;
mod round;
mod runs;
mod session;
mod slices;
mod snapshot;
mod sql_files;
mod tables;
mod together;
mod touched;
mod upkeep;
mod windows;
mod write;

pub use advice::{Advice, Findings, advise};
pub use erase::{ErasureReport, ErasureStep, Found, Subject, erase};
pub use error::ProfileError;
pub use explain::{Verdict, explain};
pub use jobs::Job;
pub use measure::{Recording, measure, recorded};
pub use pins::{Pins, pins};
pub use plans::{store_plan, stored_plans};
pub use policy::Policy;
pub use pool_calls::{PoolCall, PoolCalls, pool_calls};
pub use round::{Remake, RoundReport, is_made_by_jobs, run_round};
pub use session::{LeftOut, Limits, Reader, SessionFactory};
pub use snapshot::{SnapshotRow, latest_snapshot};
pub use sql_files::SqlFiles;
pub use upkeep::{TableUpkeep, Upkeep, UpkeepReport, plan_upkeep, upkeep};
