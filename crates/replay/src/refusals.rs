//! Whether limits, as they are modelled, explain the refusals that were seen; and how much a token bucket
//! then holds.
//!
//! A provider tells what flows into a bucket, seldom how much of it may be drawn at once. What it let in and
//! what it refused tells: every attempt that was let in is drawn from the model, and at every refusal the
//! model is asked whether it would have refused too. A bucket that is taken for larger than it is has more
//! left at each of them and so explains fewer, so the largest that still explains them is the least
//! cautious guess that the evidence allows.
//!
//! In the same way it shows whether refused attempts are counted: a model that counts what is not counted would
//! have refused what was let in.
//!
//! Leaves choosing the attempts to whoever measured them. The invariant: nothing is let in or refused here
//! but what was; a refusal of which the amount is not known is no evidence.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::bucket::Bucket;
use crate::limit::Window;
use crate::quota::{Quota, Rule};
use crate::runs::Draw;
use crate::time::Micros;

/// One attempt as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// When it was sent.
    pub at: Micros,
    /// When it ended.
    pub until: Micros,
    /// What it draws from each quota; for one that was refused, what it asked for. Nothing where that is not
    /// known.
    pub draws: Vec<Option<Draw>>,
    /// Whether a limit refused it.
    pub refused: bool,
}

/// How many refusals a model explains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Explained {
    /// Refusals of which it is known what was asked for.
    pub refused: u64,
    /// Of those, such as the model makes too.
    pub explained: u64,
    /// Attempts that were let in though the model would have refused them.
    pub contradicted: u64,
}

impl Explained {
    /// Share of the refusals that must be explained for a model to be taken for right: the rest is clocks
    /// that differ, and calls that no telemetry shows.
    const ENOUGH_PERCENT: u64 = 90;

    /// Whether there were refusals, and nearly all are explained.
    #[must_use]
    pub fn enough(self) -> bool {
        self.refused > 0 && self.explained * 100 >= self.refused * Self::ENOUGH_PERCENT
    }
}

/// How many of the refusals seen, in the order of their time, these quotas explain together: one refusing is
/// enough.
#[must_use]
pub fn explained(quotas: &[Quota], seen: &[Seen]) -> Explained {
    let mut buckets: Vec<Vec<Bucket>> = quotas
        .iter()
        .map(|quota| Bucket::of(quota, quota.most).into_iter().map(|(_, bucket)| bucket).collect())
        .collect();
    // What settles: when, in which order it was let in, and the ticket of each bucket.
    let mut running: BinaryHeap<Reverse<(Micros, usize)>> = BinaryHeap::new();
    let mut tickets: Vec<Vec<u32>> = vec![Vec::new(); seen.len()];
    let mut found = Explained::default();
    for (place, attempt) in seen.iter().enumerate() {
        while let Some(&Reverse((until, ended))) = running.peek()
            && until <= attempt.at
        {
            running.pop();
            let mut of_bucket = tickets[ended].iter();
            each(&mut buckets, &seen[ended], |bucket, draw| {
                let ticket = of_bucket.next().copied().unwrap_or(0);
                bucket.settle((seen[ended].at, ticket), until, draw.admission, draw.settlement);
            });
        }
        let mut refuses = false;
        each(&mut buckets, attempt, |bucket, draw| refuses |= !bucket.fits(attempt.at, draw.admission));
        if attempt.refused {
            let known = attempt.draws.iter().all(Option::is_some);
            found.refused += u64::from(known);
            found.explained += u64::from(known && refuses);
            for ((buckets, draw), quota) in buckets.iter_mut().zip(&attempt.draws).zip(quotas) {
                if let (Some(draw), true) = (draw, quota.refused_count) {
                    buckets.iter_mut().for_each(|bucket| {
                        bucket.charge(attempt.at, draw.admission);
                    });
                }
            }
        } else {
            found.contradicted += u64::from(refuses);
            let drawn = &mut tickets[place];
            each(&mut buckets, attempt, |bucket, draw| drawn.push(bucket.charge(attempt.at, draw.admission)));
            running.push(Reverse((attempt.until, place)));
        }
    }
    found
}

/// Each bucket with what an attempt draws from it, where that is known.
fn each(buckets: &mut [Vec<Bucket>], attempt: &Seen, mut what: impl FnMut(&mut Bucket, Draw)) {
    for (buckets, draw) in buckets.iter_mut().zip(&attempt.draws) {
        if let Some(draw) = draw {
            buckets.iter_mut().for_each(|bucket| what(bucket, *draw));
        }
    }
}

/// Which token bucket among these quotas has made the refusals, and the most seconds of its own flow that it can
/// hold such that it explains nearly all of them: the one that can hold the longest. `None` where none does by
/// itself, since refusals then don't tell of which they are.
#[must_use]
pub fn holds(quotas: &[Quota], seen: &[Seen]) -> Option<(usize, Window, Explained)> {
    let each = (0..quotas.len()).filter_map(|at| one_holds(quotas, at, seen));
    each.reduce(|best, other| if other.1 > best.1 { other } else { best })
}

/// The same of one of them, while the others hold what flows in within their windows.
fn one_holds(quotas: &[Quota], at: usize, seen: &[Seen]) -> Option<(usize, Window, Explained)> {
    let Rule::Token { window: Window(longest), .. } = quotas.get(at)?.rule else { return None };
    let mut tried = quotas.to_vec();
    // The larger the buckets, the less is explained: the last length that explains enough lies between these.
    let (mut enough, mut too_long) = (0, longest + 1);
    let mut best = None;
    while too_long - enough > 1 {
        let middle = enough + (too_long - enough) / 2;
        tried[at] = tried[at].with_burst(Window(middle));
        let found = explained(&tried, seen);
        if found.enough() {
            (enough, best) = (middle, Some((at, Window(middle), found)));
        } else {
            too_long = middle;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(seconds: Option<u32>) -> Quota {
        let rule = Rule::Token { window: Window(60), burst: seconds.map(Window) };
        Quota { dimension: "tokens".to_owned(), most: 6_000, rule, slice: None, refused_count: false }
    }

    /// Calls of 50 to 449 tokens, nearly twice as many as flow in, let in and refused by a bucket.
    fn seen_through(quota: &Quota) -> Vec<Seen> {
        let (_, mut real) = Bucket::of(quota, quota.most).swap_remove(0);
        let attempt = |number: u64| {
            let at = Micros(number * 1_300_000);
            let amount = 50 + number * 7_919 % 400;
            let refused = !real.fits(at, amount);
            if !refused {
                real.charge(at, amount);
            }
            Seen { at, until: at + Micros::SECOND, draws: vec![Some(Draw::flat(amount))], refused }
        };
        (0..2_000).map(attempt).collect()
    }

    /// A bucket tells by what it refuses how much it holds: to the second, whatever that is.
    #[test]
    fn what_a_bucket_holds_is_found_again() {
        for seconds in [5, 12, 30, 60] {
            let seen = seen_through(&bucket(Some(seconds)));
            let (_, found, share) = holds(&[bucket(None)], &seen).unwrap_or_default();
            assert!(found.0.abs_diff(seconds) <= 1, "{found:?} for {seconds} s");
            assert!(share.enough());
        }
    }

    /// Refusals that a limit cannot have made are explained by no bucket; without refusals nothing is told.
    #[test]
    fn what_is_not_explained_is_not_explained_away() {
        let mut seen = seen_through(&Quota { most: 600_000, ..bucket(None) });
        assert_eq!(holds(&[bucket(None)], &seen[..10]), None);
        seen.iter_mut().step_by(3).for_each(|attempt| attempt.refused = true);
        assert_eq!(holds(&[Quota { most: 600_000, ..bucket(None) }], &seen), None);
    }

    /// A bucket that does not count refused attempts lets in what one that does would not.
    #[test]
    fn refused_attempts_that_do_not_count_are_told() {
        let seen = seen_through(&bucket(Some(5)));
        let counting = Quota { refused_count: true, ..bucket(Some(5)) };
        assert_eq!(explained(&[bucket(Some(5))], &seen).contradicted, 0);
        assert!(explained(&[counting], &seen).contradicted > 500);
    }

    /// What a call does not use comes back when it ends, and an unknown amount is no evidence.
    #[test]
    fn settlements_and_unknown_amounts() {
        let draw = Draw { admission: 6_000, settlement: 10 };
        let call = |at: u64, draws, refused| Seen {
            at: Micros::seconds(at),
            until: Micros::seconds(at + 5),
            draws: vec![draws],
            refused,
        };
        let seen = [
            call(0, Some(draw), false),
            call(1, Some(draw), true),
            call(2, None, true),
            call(6, Some(draw), true),
        ];
        let found = explained(&[bucket(None)], &seen);
        assert_eq!(found, Explained { refused: 2, explained: 1, contradicted: 0 });
    }
}
