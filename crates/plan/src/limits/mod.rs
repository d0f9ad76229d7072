//! Limits as the provider itself lists them, read into the spec.
//!
//! One file per provider's output, all of which end in [`LimitRead`]s; the catalog says which pool and
//! dimension a quota's code or name stands for. The invariant: what the catalog does not know is told, and
//! nothing is guessed from a name that is only alike.

mod apply;
mod aws;
mod azure;
mod google;
mod headers;
mod known;
mod read;

pub use apply::{Applied, apply};
pub use read::{LimitRead, LimitsError, Origin, ProviderLimits, Unknown, read_limits};
