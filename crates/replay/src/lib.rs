//! Measured runs, replayed against a provider's limits: who waits, who is refused, what it costs, and
//! how large a limit must be so that nobody minds.
//!
//! A percentile of a run's tokens times a rate over-buys for busy workflows and under-buys for rare
//! ones, since runs peak at different times and a provider counts by its own window. So whole runs are
//! sent again, with their steps, pauses, fan-out and tokens, at the rates of a coming peak, through a
//! model of the limit as it is enforced.
//!
//! Pure: structs in, structs out; no clock, no I/O, one thread to a replay. A seed decides everything,
//! so two machines, or one core and two, show the same.
//!
//! # Limits as they are enforced
//!
//! The same 600 requests a minute refuse different calls by different rules ([`Rule`]). Here ten
//! calls come at once and ten more half a minute later, under a limit of ten a minute:
//!
//! ```
//! use plimsoll_replay::*;
//!
//! let call = Route { pool: 0, draws: vec![Draw::flat(1)], latency: Micros::SECOND, ttft: None, nano_usd: 0 };
//! let mut runs = Runs::new(["chat"]);
//! for nth in 0..20 {
//!     let arrival = Micros::seconds(45 + 30 * (nth / 10));
//!     let steps = vec![Step { after: vec![], think: Micros::ZERO, routes: vec![call.clone()] }];
//!     runs.push(&Run { workflow: 0, tier: 0, class: 0, arrival, steps })?;
//! }
//! let throttled = |rule: Rule| -> Result<u64, ReplayError> {
//!     let requests = "requests_per_min".to_owned();
//!     let quota = Quota { dimension: requests.clone(), most: 10, rule, slice: None, refused_count: false };
//!     let pool = Pool { name: "pool".into(), dimensions: vec![requests], quotas: vec![0], ..Pool::default() };
//!     let world = World { quotas: vec![quota], pools: vec![pool], ..World::default() };
//!     let outcome = Replay::new(&world, &runs)?.run(&Arrivals::recorded(&runs), Settings::until(Micros::HOUR))?;
//!     Ok(outcome.tiers[0].summary.throttled)
//! };
//! let window = Window(60);
//! assert_eq!(throttled(Rule::Fixed { window })?, 0); // a new minute began in between
//! assert_eq!(throttled(Rule::Sliding { window })?, 10); // the last minute still holds the first ten
//! assert_eq!(throttled(Rule::Token { window, burst: None })?, 5); // half of it has flowed back
//! # Ok::<(), ReplayError>(())
//! ```
//!
//! # Reserved at the start, settled at the end
//!
//! Most providers charge an estimate when a call is let in, often `max_tokens`, and correct it when it
//! ends ([`Draw`]). So calls are refused far below what is used (T40 of the facts):
//!
//! ```
//! # use plimsoll_replay::*;
//! # let dimension = "tokens_per_min".to_owned();
//! # let mut runs = Runs::new(["chat"]);
//! let draws = vec![Draw { admission: 65_000, settlement: 1_500 }];
//! # let call = Route { pool: 0, draws, latency: Micros::seconds(5), ttft: None, nano_usd: 0 };
//! # for nth in 0..10 {
//! #     let steps = vec![Step { after: vec![], think: Micros::ZERO, routes: vec![call.clone()] }];
//! #     runs.push(&Run { workflow: 0, tier: 0, class: 0, arrival: Micros::millis(nth), steps })?;
//! # }
//! # let rule = Rule::Fixed { window: Window(60) };
//! # let quota = Quota { dimension: dimension.clone(), most: 200_000, rule, slice: None, refused_count: false };
//! # let pool = Pool { name: "pool".into(), dimensions: vec![dimension], quotas: vec![0], ..Pool::default() };
//! # let world = World { quotas: vec![quota], pools: vec![pool], ..World::default() };
//! # let replay = Replay::new(&world, &runs)?;
//! # let arrivals = Arrivals::recorded(&runs);
//! let outcome = replay.run(&arrivals, Settings::until(Micros::MINUTE))?; // ten such calls, 200,000 a minute
//! assert_eq!(outcome.tiers[0].summary.throttled, 7);
//! assert_eq!(outcome.pools[0].peak, 650_000);
//!
//! // The smallest limit under which none is refused, found by replaying.
//! let cases = [(arrivals, Settings::until(Micros::MINUTE))];
//! let nobody = Search { precision: PartsPerMillion(0), ..Search::new(0, vec![]) };
//! assert_eq!(need(&replay, &cases, &nobody)?.most, 650_000);
//! # Ok::<(), ReplayError>(())
//! ```
//!
//! # The way through it
//!
//! [`Runs`] is what was measured, [`World`] what it is held against: [`Quota`]s, [`Pool`]s and tools
//! with their slots, a [`Broker`]'s floors, a client's [`Retry`]. [`Arrivals`] are a recording as it
//! was, or runs drawn whole at a [`Rate`], as unevenly as [`Burst::measure`] found. [`Replay::run`]
//! makes an [`Outcome`]; [`replay_all`] makes one for each seed and [`spread()`] says how far they lie
//! apart; [`need()`] searches for a limit.
//!
//! # What is counted
//!
//! An operation is a call however often it is tried, and is throttled once: where a limit of the
//! provider refused it, or the broker's share of that limit held it back. Waiting for a slot of the
//! client's own is a wait and no throttle. At every boundary the law of Little is held against itself
//! to the microsecond ([`Little`]), and what was offered is what completed, failed, expired and is
//! still in flight.
//!
//! [`explained()`] holds limits against refusals that were seen, and [`holds()`] tells from them how much a
//! token bucket lets through at once.
//!
//! [`Limit`] stands apart: a limit against measured peaks, without a replay.

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
mod refusals;
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
pub use need::{Case, Need, PartsPerMillion, Search, missed, need};
pub use outcome::{Outcome, PoolLimit, PoolQueue, Summary, Tier, Workflow};
pub use quota::{Quota, Rule, ShrinkStep};
pub use refusals::{Explained, Seen, explained, holds};
pub use retry::{Jitter, Retry, RetryAfter};
pub use runs::{Draw, Route, Run, Runs, Step};
pub use sample::Durations;
pub use spread::{Spread, replay_all, spread};
pub use time::Micros;
pub use world::{Pool, PoolKind, TierRules, World};
