//! How a step is laid out in memory: its head, who waits for it, then its routes with their draws.
//!
//! The invariant: what [`write()`] lays down is what the accessors read, word for word; all of a step
//! is in one stretch, two lines of cache for a call of three dimensions.

use super::{Draw, Step};
use crate::time::Micros;

/// Words of a step before its followers and routes.
const STEP: usize = 2;
/// Words of a route before its draws.
const ROUTE: usize = 4;

/// How many words a step takes, if so many wait for it.
pub(super) fn length(step: &Step, followers: usize) -> usize {
    STEP + followers + step.routes.iter().map(|route| ROUTE + 2 * route.draws.len()).sum::<usize>()
}

fn pair(high: usize, low: usize) -> u64 {
    (high as u64) << 32 | low as u64
}

/// A step that waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Follower {
    /// Which of the run's joins it is, where it waits for others too.
    pub(crate) join: Option<u32>,
    /// Where its record begins.
    pub(crate) step: u32,
}

impl Follower {
    const ALONE: u32 = u32::MAX;

    fn word(self) -> u64 {
        pair(self.join.unwrap_or(Self::ALONE) as usize, self.step as usize)
    }

    #[inline]
    fn read(word: u64) -> Self {
        let join = (word >> 32) as u32;
        Self { join: (join != Self::ALONE).then_some(join), step: word as u32 }
    }
}

/// Appends a step.
pub(super) fn write(words: &mut Vec<u64>, step: &Step, followers: &[Follower]) {
    words.extend([step.think.0, pair(followers.len(), step.routes.len())]);
    words.extend(followers.iter().map(|follower| follower.word()));
    for route in &step.routes {
        let ttft = route.ttft.unwrap_or(Micros::MAX).0;
        words.extend([pair(route.pool as usize, route.draws.len()), route.latency.0, ttft, route.nano_usd]);
        words.extend(route.draws.iter().flat_map(|draw| [draw.admission, draw.settlement]));
    }
}

/// A step as it lies in memory, and whatever comes after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepRecord<'a>(&'a [u64]);

/// A route as it lies in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteRecord<'a> {
    head: &'a [u64],
    draws: &'a [[u64; 2]],
}

impl<'a> StepRecord<'a> {
    #[inline]
    pub(super) fn at(words: &'a [u64], at: u32) -> Self {
        Self(&words[at as usize..])
    }

    #[inline]
    pub(crate) fn think(self) -> Micros {
        Micros(self.0[0])
    }

    #[inline]
    fn following(self) -> usize {
        (self.0[1] >> 32) as usize
    }

    /// The steps that wait for it.
    #[inline]
    pub(crate) fn followers(self) -> impl Iterator<Item = Follower> {
        self.0[STEP..STEP + self.following()].iter().map(|&word| Follower::read(word))
    }

    #[inline]
    pub(crate) fn routes(self) -> u32 {
        self.0[1] as u32
    }

    /// From its own beginning to that of its first route.
    #[inline]
    pub(crate) fn to_route(self) -> u32 {
        (STEP + self.following()) as u32
    }

    /// Its routes, in order.
    pub(crate) fn each_route(self) -> impl Iterator<Item = RouteRecord<'a>> {
        let mut at = self.to_route();
        (0..self.routes()).map(move |_| {
            let route = RouteRecord::at(self.0, at);
            at += route.length();
            route
        })
    }

    pub(super) fn length(self) -> u32 {
        self.to_route() + self.each_route().map(RouteRecord::length).sum::<u32>()
    }
}

impl<'a> RouteRecord<'a> {
    #[inline]
    pub(super) fn at(words: &'a [u64], at: u32) -> Self {
        let (head, draws) = words[at as usize..].split_at(ROUTE);
        Self { head, draws: draws[..2 * head[0] as u32 as usize].as_chunks().0 }
    }

    /// How far the next route is.
    #[inline]
    pub(crate) fn length(self) -> u32 {
        (ROUTE + 2 * self.draws.len()) as u32
    }

    #[inline]
    pub(crate) fn draws(self) -> usize {
        self.draws.len()
    }

    #[inline]
    pub(crate) fn pool(self) -> usize {
        (self.head[0] >> 32) as usize
    }

    #[inline]
    pub(crate) fn latency(self) -> Micros {
        Micros(self.head[1])
    }

    /// [`Micros::MAX`] where it does not stream.
    #[inline]
    pub(crate) fn ttft(self) -> Micros {
        Micros(self.head[2])
    }

    #[inline]
    pub(crate) fn nano_usd(self) -> u64 {
        self.head[3]
    }

    #[inline]
    pub(crate) fn draw(self, dimension: usize) -> Draw {
        let [admission, settlement] = self.draws[dimension];
        Draw { admission, settlement }
    }
}
