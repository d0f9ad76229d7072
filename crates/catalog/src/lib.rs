//! What providers count, grant, reserve and charge: typed, dated data with exact arithmetic.
//!
//! A [`Catalog`] is read from texts (`schemas/providers/*.toml`, then a user's own) and answers by
//! pool key and date with an [`Entry`]. [`Entry::meter`] says what one call draws from the pool's
//! limits when it starts and when it ends; [`Entry::cost`] what it costs; [`Entry::tiers`] which limits and
//! prices another service tier has; [`Entry::grants`] how limits are raised; [`Entry::channel`] where and
//! how fast; [`Entry::units`] what is sold by reservation; [`Entry::answers`] what is known of the seven
//! questions to ask a provider. [`Catalog::reading`] puts all of that together for one call.
//!
//! Pure: no clock, no files. Token figures are integers, weights and prices are decimal text read exactly,
//! a sum of weighted tokens is rounded once, up. What no source tells is absent, never a default; where
//! sources conflict, the entry carries a [`Flag`] that says what was taken, and what the other reading
//! would give ([`Entry::sensitivities`]).
//!
//! # The rules, and what surprises about them
//!
//! The examples below read rows as `schemas/providers` has them. Sources stand beside each.
//!
//! **A call costs its limit twice, by two formulas.** Bedrock reserves the input and the whole `max_tokens`
//! when a call starts, and gives back at its end what was not used; output then weighs 5 to 15 times as
//! much, by model (AWS: token burndown page, Sep 2026). So 429s come far below the use that dashboards
//! show: they show what has settled.
//!
//! ```
//! # use plimsoll_catalog::*;
//! # let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers/");
//! # let text = std::fs::read_to_string(format!("{shipped}aws-bedrock-runtime.toml"))?;
//! # let catalog = Catalog::load([("aws-bedrock-runtime.toml", text)])?;
//! # let day = jiff::civil::date(2026, 11, 2);
//! let sonnet = catalog.row(&"aws.bedrock/runtime/geo/claude-sonnet-4.5".parse()?, day)?;
//! let metered = sonnet.meter(&"input=1000,max=4000,output=100".parse()?);
//! assert_eq!(metered.admission.tokens, 5000);
//! assert_eq!(metered.settlement.tokens, 1500); // 1,000 + 5 x 100
//! assert_eq!(metered.released.tokens, 3500);
//! // Left unset, `max_tokens` reserves the model's maximum: 31 such calls fill two million a minute.
//! assert_eq!(2_000_000 / sonnet.meter(&"input=500".parse()?).admission.tokens, 31);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Settlement can be more than was reserved.** At a burndown of 15 (Claude 4.8) a call that uses up its
//! `max_tokens` settles at far more; nothing is released then, and the limit goes into debt.
//!
//! ```
//! # use plimsoll_catalog::*;
//! # let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers/");
//! # let text = std::fs::read_to_string(format!("{shipped}aws-bedrock-runtime.toml"))?;
//! # let catalog = Catalog::load([("aws-bedrock-runtime.toml", text)])?;
//! # let day = jiff::civil::date(2026, 11, 2);
//! let opus = catalog.row(&"aws.bedrock/runtime/geo/claude-opus-4.8".parse()?, day)?;
//! let metered = opus.meter(&"input=1000,max=4000,output=4000".parse()?);
//! assert_eq!((metered.admission.tokens, metered.settlement.tokens), (5000, 61_000));
//! assert_eq!(metered.released.tokens, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Anthropic counts no cache reads and no `max_tokens`** (rate limits page, Oct 2026): with 80 % of the
//! input served from the cache a limit of two million carries ten. Before 2026 output was estimated from
//! `max_tokens`, so the row of the day is taken.
//!
//! ```
//! # use plimsoll_catalog::*;
//! # let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers/");
//! # let text = std::fs::read_to_string(format!("{shipped}anthropic-direct.toml"))?;
//! # let catalog = Catalog::load([("anthropic-direct.toml", text)])?;
//! # let day = jiff::civil::date;
//! let key: PoolKey = "anthropic/direct/global/claude-sonnet-4".parse()?;
//! let call: Call = "input=50,cache_read=200000,max=8192,output=7".parse()?;
//! let now = catalog.row(&key, day(2026, 11, 2))?.meter(&call);
//! assert_eq!((now.admission.input_tokens, now.admission.output_tokens), (50, 0));
//! let then = catalog.row(&key, day(2025, 11, 2))?.meter(&call);
//! assert_eq!(then.admission.output_tokens, 8192);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **OpenAI takes the larger of input and `max_tokens`, not their sum, and failed requests count** (rate
//! limits guide). What an unset `max_tokens` is charged at no source tells: the output that came stands in
//! for it, and the figure says that it is a lower bound.
//!
//! ```
//! # use plimsoll_catalog::*;
//! # let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers/");
//! # let text = std::fs::read_to_string(format!("{shipped}openai-direct.toml"))?;
//! # let catalog = Catalog::load([("openai-direct.toml", text)])?;
//! # let day = jiff::civil::date(2026, 11, 2);
//! let gpt5 = catalog.row(&"openai/direct/global/gpt-5".parse()?, day)?;
//! assert_eq!(gpt5.meter(&"input=1200,max=500".parse()?).admission.tokens, 1200);
//! assert_eq!(gpt5.meter(&"input=300,max=500".parse()?).admission.tokens, 500);
//! assert_eq!(gpt5.meter(&"input=300,max=500,status=429".parse()?).admission.requests, 1);
//! assert!(gpt5.meter(&"input=300,output=40".parse()?).lower_bound);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **A tier is a limit of its own, or not.** Bedrock's priority and flex share the on-demand quota, its
//! reserved and batch tiers do not; Anthropic's Priority Tier draws on the commitment and on the ordinary
//! limits alike (service tiers pages). A price factor that is not known leaves the cost unknown.
//!
//! ```
//! # use plimsoll_catalog::*;
//! # let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers/");
//! # let text = std::fs::read_to_string(format!("{shipped}aws-bedrock-runtime.toml"))?;
//! # let catalog = Catalog::load([("aws-bedrock-runtime.toml", text)])?;
//! # let day = jiff::civil::date(2026, 11, 2);
//! let haiku = catalog.row(&"aws.bedrock/runtime/geo/claude-haiku-4.5".parse()?, day)?;
//! let standard: Call = "input=1000000,max=1".parse()?;
//! let of = |tier| Call { tier, ..standard };
//! assert_eq!(haiku.meter(&of(Tier::Flex)), haiku.meter(&standard));
//! assert_eq!(haiku.meter(&of(Tier::Batch)), Metered::default());
//! assert_eq!(haiku.cost(&of(Tier::Batch), day), Some("0.55".parse()?)); // half of 1.10
//! assert_eq!(haiku.cost(&of(Tier::Flex), day), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **What sources disagree on is computed both ways.** Whether Bedrock's reservation multiplies `max_tokens`
//! by the burndown, for example: AWS says no, two third parties say yes.
//!
//! ```
//! # use plimsoll_catalog::*;
//! # let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers/");
//! # let text = std::fs::read_to_string(format!("{shipped}aws-bedrock-runtime.toml"))?;
//! # let catalog = Catalog::load([("aws-bedrock-runtime.toml", text)])?;
//! # let day = jiff::civil::date(2026, 11, 2);
//! let sonnet = catalog.row(&"aws.bedrock/runtime/geo/claude-sonnet-4.5".parse()?, day)?;
//! let call: Call = "input=1000,max=64000".parse()?;
//! let others = sonnet.sensitivities(&call);
//! let times = others.iter().find(|other| other.flag.name == "reservation_times_burndown");
//! assert_eq!(sonnet.meter(&call).admission.tokens, 65_000);
//! assert_eq!(times.map(|other| other.metered.admission.tokens), Some(321_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod call;
mod call_text;
mod calls;
mod catalog;
mod channel;
mod diff;
mod dimension;
mod draw;
mod entry;
mod exact;
mod fields;
mod file;
mod flag;
mod grant;
mod key;
mod lines;
mod meter;
mod overflow;
mod price;
mod rates;
mod reading;
mod serving;
mod source;
mod term;
mod tier;
mod unit;
mod unit_window;
mod weights;

pub use answers::Answers;
pub use call::Call;
pub use call_text::CallError;
pub use calls::{Calls, ChargedCalls, Column, Draws};
pub use catalog::Catalog;
pub use channel::{Channel, Field, Fill, LeadTime};
pub use diff::{Change, changes};
pub use dimension::{Dimension, Enforcement, Measure, Quota};
pub use draw::{Draw, Metered};
pub use entry::{Entry, Sensitivity};
pub use exact::Weight;
pub use flag::{Alternative, Changed, Flag};
pub use grant::{CapacityUnit, Grant, Grants, Step};
pub use key::{KeyError, PoolKey};
pub use meter::{Combine, LongContext, Meter, Refused, UnsetMaxOutput};
pub use overflow::Overflow;
pub use plimsoll_toml::Fault;
pub use price::{LongPrice, TokenPrice};
pub use rates::{Charged, Rates};
pub use reading::{Amount, Amounts, Drawn, Other, OtherPool, Reading, ReadingError};
pub use serving::Serving;
pub use source::{Confidence, Source};
pub use term::{HOURS_PER_MONTH, Term, UnitPrice};
pub use tier::{Tier, TierError, TierRule};
pub use unit::{Carries, Unit};
pub use unit_window::UnitWindow;
pub use weights::{Stage, Weights};
