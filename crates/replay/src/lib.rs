//! Draft.

mod arrivals;
mod broker;
mod bucket;
mod burst;
mod engine;
mod error;
mod gauge;
mod limit;
mod little;
mod need;
mod outcome;
mod queue;
mod quota;
mod retry;
mod runs;
mod sample;
mod spread;
mod time;
mod world;

pub use arrivals::{Arrivals, Rate};
pub use broker::{Broker, TierShare};
pub use burst::Burst;
pub use engine::{Replay, Settings};
pub use error::ReplayError;
pub use limit::{Breach, Limit, Window};
pub use little::{Boundary, Little};
pub use need::{Case, Need, PartsPerMillion, Search, need};
pub use outcome::{Outcome, PoolLimit, PoolQueue, Summary, Tier, Workflow};
pub use quota::{Quota, Rule, ShrinkStep};
pub use retry::{Jitter, Retry, RetryAfter};
pub use runs::{Draw, Route, Run, Runs, Step};
pub use sample::Durations;
pub use spread::{Spread, replay_all, spread};
pub use time::Micros;
pub use world::{Pool, PoolKind, TierRules, World};
