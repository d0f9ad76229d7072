//! A provider's limit as calls meet it: admission, settlement, refusal, speed.
//!
//! Enough of the real rules that what should be throttled is: the exact metering, with every
//! provider's windows and weights, is the catalog's. A pool starts full on its first day and when a
//! new limit begins.

use std::sync::Arc;

use jiff::civil::Time;

use super::bucket::Bucket;
use super::calendar::Calendar;
use super::time::{MILLI, SECOND, nanos};
use crate::file::{Headers, Limits, Meter, Pool};
use crate::random::{Random, normal};

/// Tokens of one call. `input` is uncached + read + written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tokens {
    pub(crate) uncached: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) output: u64,
    /// `max_tokens` as asked for.
    pub(crate) cap: Option<u64>,
}

impl Tokens {
    /// All input, cached or not.
    pub(crate) fn input(&self) -> u64 {
        self.uncached + self.cache_read + self.cache_write
    }
}

/// What a provider's headers tell: a limit and what is left of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Allowance {
    /// Requests a minute.
    pub(crate) requests: Option<(i64, i64)>,
    /// Input tokens, or combined tokens, a minute.
    pub(crate) tokens: Option<(i64, i64)>,
    /// Output tokens a minute.
    pub(crate) output_tokens: Option<(i64, i64)>,
}

/// How fast a model answers one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Nanoseconds to the first token.
    pub(super) first_token: u64,
    /// Nanoseconds from there to the last.
    pub(super) rest: u64,
}

/// One pool in play.
#[derive(Debug, Clone)]
pub(super) struct PoolState {
    pub(super) spec: Arc<Pool>,
    scale: f64,
    /// Limits with the instant from which they hold, soonest last.
    coming: Vec<(u64, Limits)>,
    requests: Option<Bucket>,
    input: Option<Bucket>,
    output: Option<Bucket>,
    tokens: Option<Bucket>,
}

impl PoolState {
    /// A pool whose limits are `scale` times those of the file.
    pub(super) fn new(pool: &Arc<Pool>, calendar: &Calendar, scale: f64) -> Self {
        let mut coming: Vec<_> = pool
            .limits
            .iter()
            .map(|limits| (calendar.instant(limits.from, Time::midnight()).unwrap_or(0), limits.clone()))
            .collect();
        // The first limit is what held before it, too.
        coming[0].0 = 0;
        coming.reverse();
        Self {
            spec: Arc::clone(pool),
            scale,
            coming,
            requests: None,
            input: None,
            output: None,
            tokens: None,
        }
    }

    /// Brings limits and levels up to now; every other method expects it to have been called.
    pub(super) fn advance(&mut self, now: u64) {
        while let Some((_, limits)) = self.coming.pop_if(|(from, _)| *from <= now) {
            // A smaller company makes fewer calls, not smaller ones: its bursts do not shrink with it.
            let burst_s = self.spec.burst_s / self.scale.min(1.0);
            let bucket = |per_min: Option<u64>| {
                per_min.map(|per_min| Bucket::new(per_min as f64 * self.scale, burst_s, now))
            };
            let of_units = limits.units.zip(limits.tokens_per_min_per_unit).map(|(units, each)| units * each);
            self.requests = bucket(limits.requests_per_min);
            self.input = bucket(limits.input_tokens_per_min);
            self.output = bucket(limits.output_tokens_per_min);
            self.tokens = bucket(limits.tokens_per_min.or(of_units));
        }
        for bucket in
            [&mut self.requests, &mut self.input, &mut self.output, &mut self.tokens].into_iter().flatten()
        {
            bucket.refill(now);
        }
    }

    /// Charges a call's admission.
    ///
    /// # Errors
    /// The nanoseconds after which the provider says that it would be admitted, as exactly as its
    /// headers can tell; nothing is charged.
    pub(super) fn admit(&mut self, tokens: &Tokens) -> Result<(), u64> {
        let (input, combined) = (self.input_charge(tokens), self.admission(tokens));
        // Units admit whatever comes while they are below full; the rest wants room for all of it.
        let combined_room = if self.spec.meter == Meter::Units { f64::MIN_POSITIVE } else { combined };
        let wait = [
            (&self.requests, 1.0),
            (&self.input, input),
            (&self.output, f64::MIN_POSITIVE),
            (&self.tokens, combined_room),
        ]
        .into_iter()
        .filter_map(|(bucket, amount)| bucket.as_ref().map(|bucket| bucket.wait_s(amount)))
        .fold(0.0, f64::max);
        if wait > 0.0 {
            return Err(match self.spec.headers {
                Headers::None => 0,
                Headers::Anthropic => nanos(wait).next_multiple_of(SECOND),
                Headers::Azure => nanos(wait).next_multiple_of(MILLI),
            });
        }
        take(&mut self.requests, 1.0);
        take(&mut self.input, input);
        take(&mut self.tokens, combined);
        Ok(())
    }

    /// Corrects what admission charged to what the call really cost.
    pub(super) fn settle(&mut self, tokens: &Tokens) {
        take(&mut self.output, tokens.output as f64);
        let cost = self.input_charge(tokens) + self.spec.output_weight * tokens.output as f64;
        let correction = cost - self.admission(tokens);
        take(&mut self.tokens, correction);
    }

    /// How full the fullest of its limits is: 0 idle, 1 at the limit.
    pub(super) fn utilisation(&self) -> f64 {
        [&self.input, &self.output, &self.tokens]
            .into_iter()
            .flatten()
            .map(Bucket::utilisation)
            .fold(0.0, f64::max)
    }

    /// What its headers would tell.
    pub(super) fn allowance(&self) -> Allowance {
        let told = |bucket: &Option<Bucket>| bucket.as_ref().map(Bucket::told);
        Allowance {
            requests: told(&self.requests),
            tokens: told(&self.input).or_else(|| told(&self.tokens)),
            output_tokens: told(&self.output),
        }
    }

    /// How fast it answers a call with that much output, now.
    pub(super) fn pace(&self, output: u64, random: &mut Random) -> Pace {
        let slow = 1.0 + self.spec.slower_when_full * self.utilisation().clamp(0.0, 1.0).powi(2);
        let first = self.spec.first_token_s * slow * (0.25 * normal(random)).exp();
        let pace = self.spec.token_ms / 1000.0 * slow * (0.1 * normal(random)).exp();
        Pace { first_token: nanos(first), rest: nanos(pace * output as f64) }
    }

    fn input_charge(&self, tokens: &Tokens) -> f64 {
        (tokens.uncached + tokens.cache_write) as f64
    }

    fn admission(&self, tokens: &Tokens) -> f64 {
        let cap = tokens.cap.unwrap_or(self.spec.unset_max_tokens) as f64;
        match self.spec.meter {
            Meter::Split => 0.0,
            Meter::Combined => tokens.input() as f64 + cap,
            Meter::Units => self.input_charge(tokens) + self.spec.output_weight * cap,
        }
    }
}

fn take(bucket: &mut Option<Bucket>, amount: f64) {
    if let Some(bucket) = bucket {
        bucket.take(amount);
    }
}
