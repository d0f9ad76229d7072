//! What a client does after a refusal: how long it waits, and when it gives up.
//!
//! The invariant: a wait is never shorter than what the provider asked for, where it is heeded.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::error::ReplayError;
use crate::time::Micros;

/// Retries of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Attempts in all, the first included; a call that was refused so often has failed.
    pub max_attempts: u16,
    /// Wait before the second attempt, doubled before each further one.
    pub base: Micros,
    /// Longest wait that doubling leads to.
    pub cap: Micros,
    /// How the wait is spread.
    pub jitter: Jitter,
    /// What is made of the provider's own `retry-after`.
    pub retry_after: RetryAfter,
}

/// How a wait is spread, so that those refused together do not return together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// Not at all.
    None,
    /// Evenly over the second half of the wait.
    Half,
    /// Evenly over all of the wait.
    Full,
}

/// The provider's `retry-after`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfter {
    /// Not sent, or not heeded.
    Ignored,
    /// Always this long.
    Set(Micros),
    /// One of those measured, each as likely as another.
    Measured(Vec<Micros>),
    /// Until the limit would let the call through if nothing else came.
    Exact,
}

impl Default for Retry {
    /// Two retries from half a second up to eight with half of it jitter, heeding the limit: what the
    /// providers' own clients do by default.
    fn default() -> Self {
        Self {
            max_attempts: 3,
            base: Micros::millis(500),
            cap: Micros::seconds(8),
            jitter: Jitter::Half,
            retry_after: RetryAfter::Exact,
        }
    }
}

impl Retry {
    /// A client that never tries again.
    #[must_use]
    pub fn never() -> Self {
        Self { max_attempts: 1, ..Self::default() }
    }

    pub(crate) fn check(&self) -> Result<(), ReplayError> {
        if self.max_attempts == 0 { Err(ReplayError::Attempts) } else { Ok(()) }
    }

    /// How long to wait after so many attempts. `exact` is the wait until the limit would let the
    /// call through, where it ever does.
    pub(crate) fn wait(&self, attempts: u16, exact: Option<Micros>, random: &mut impl Rng) -> Micros {
        let doubled = 1u64.checked_shl(u32::from(attempts.saturating_sub(1))).unwrap_or(u64::MAX);
        let wait = self.base.0.saturating_mul(doubled).min(self.cap.0);
        let wait = match self.jitter {
            Jitter::None => wait,
            Jitter::Half => random.random_range(wait / 2..=wait),
            Jitter::Full => random.random_range(0..=wait),
        };
        let asked = match &self.retry_after {
            RetryAfter::Ignored => Micros::ZERO,
            RetryAfter::Set(set) => *set,
            RetryAfter::Measured(seen) if seen.is_empty() => Micros::ZERO,
            RetryAfter::Measured(seen) => seen[random.random_range(0..seen.len())],
            RetryAfter::Exact => exact.unwrap_or(Micros::ZERO),
        };
        Micros(wait).max(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    /// Without jitter the wait doubles up to its cap; a longer retry-after is heeded, a shorter one
    /// does not shorten it; after many attempts nothing overflows.
    #[test]
    fn waits_double_and_heed_the_provider() {
        let mut random = Pcg64::seed_from_u64(1);
        let retry = Retry { jitter: Jitter::None, ..Retry::default() };
        let mut wait = |attempts, exact| retry.wait(attempts, exact, &mut random);
        assert_eq!(wait(1, None), Micros::millis(500));
        assert_eq!(wait(3, None), Micros::seconds(2));
        assert_eq!(wait(200, None), Micros::seconds(8));
        assert_eq!(wait(1, Some(Micros::MINUTE)), Micros::MINUTE);
        assert_eq!(wait(3, Some(Micros::millis(1))), Micros::seconds(2));
    }

    /// Jitter stays within its half or its whole.
    #[test]
    fn jitter_stays_within_its_bounds() {
        let mut random = Pcg64::seed_from_u64(1);
        for (jitter, least) in [(Jitter::Half, 250), (Jitter::Full, 0)] {
            let retry = Retry { jitter, retry_after: RetryAfter::Ignored, ..Retry::default() };
            for _ in 0..1_000 {
                let wait = retry.wait(1, None, &mut random);
                assert!((Micros::millis(least)..=Micros::millis(500)).contains(&wait));
            }
        }
    }
}
