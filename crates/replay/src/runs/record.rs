//! How a step is laid out in memory: its head, its routes with their draws, then who waits for it.
//!
//! The invariant: what [`write`] lays down is what the accessors read, word for word; all of a step
//! is in one stretch, two lines of cache for a call of three dimensions.

use super::{Draw, Step};
use crate::time::Micros;

/// Words of a step before its routes.
const STEP: usize = 3;
/// Words of a route before its draws.
const ROUTE: usize = 4;

/// How many words a step takes, if so many wait for it.
pub(super) fn length(step: &Step, followers: usize) -> usize {
    STEP + step.routes.iter().map(|route| ROUTE + 2 * route.draws.len()).sum::<usize>() + followers
}

/// Two numbers in a word.
pub(super) fn pair(high: usize, low: usize) -> u64 {
    (high as u64) << 32 | low as u64
}

/// A step of a run: its place in it, and where its record begins.
pub(crate) fn place_and_record(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Appends a step. `followers` are the steps that wait for it, as [`place_and_record`] reads them.
pub(super) fn write(words: &mut Vec<u64>, step: &Step, followers: &[u64]) {
    words.extend([
        step.think.0,
        followers.len() as u64,
        pair(length(step, followers.len()), step.routes.len()),
    ]);
    for route in &step.routes {
        let ttft = route.ttft.unwrap_or(Micros::MAX).0;
        words.extend([pair(route.pool as usize, route.draws.len()), route.latency.0, ttft, route.nano_usd]);
        words.extend(route.draws.iter().flat_map(|draw| [draw.admission, draw.settlement]));
    }
    words.extend(followers);
}

/// A step as it lies in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepRecord<'a>(&'a [u64]);

/// A route as it lies in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteRecord<'a>(&'a [u64]);

impl<'a> StepRecord<'a> {
    #[inline]
    pub(super) fn at(words: &'a [u64], at: u32) -> Self {
        let words = &words[at as usize..];
        Self(&words[..(words[2] >> 32) as usize])
    }

    pub(super) fn length(self) -> u32 {
        self.0.len() as u32
    }

    pub(crate) fn think(self) -> Micros {
        Micros(self.0[0])
    }

    /// The steps that wait for it, as [`place_and_record`] reads them.
    pub(crate) fn followers(self) -> &'a [u64] {
        let count = self.0[1] as usize;
        &self.0[self.0.len() - count..]
    }

    pub(crate) fn routes(self) -> u32 {
        self.0[2] as u32
    }

    /// One of its routes.
    #[inline]
    pub(crate) fn route(self, number: u8) -> RouteRecord<'a> {
        let mut words = &self.0[STEP..];
        for _ in 0..number {
            words = &words[RouteRecord(words).length()..];
        }
        RouteRecord(&words[..RouteRecord(words).length()])
    }
}

impl RouteRecord<'_> {
    #[inline]
    fn length(self) -> usize {
        ROUTE + 2 * self.draws()
    }

    #[inline]
    pub(crate) fn draws(self) -> usize {
        self.0[0] as u32 as usize
    }

    #[inline]
    pub(crate) fn pool(self) -> usize {
        (self.0[0] >> 32) as usize
    }

    pub(crate) fn latency(self) -> Micros {
        Micros(self.0[1])
    }

    /// [`Micros::MAX`] where it does not stream.
    pub(crate) fn ttft(self) -> Micros {
        Micros(self.0[2])
    }

    pub(crate) fn nano_usd(self) -> u64 {
        self.0[3]
    }

    #[inline]
    pub(crate) fn draw(self, dimension: usize) -> Draw {
        let at = ROUTE + 2 * dimension;
        Draw { admission: self.0[at], settlement: self.0[at + 1] }
    }
}
