//! How long the records have waited that are not released yet.
//!
//! Records are numerous and an age is looked at by people, so those of one second share an entry.
//!
//! Invariant: the age is never understated, and not overstated by more than a second, or by what stands in
//! one segment for records that a former process wrote.

use std::collections::VecDeque;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// Records by when they were received.
#[derive(Debug, Default)]
pub(super) struct Ages(VecDeque<Entry>);

#[derive(Debug)]
struct Entry {
    last_seq: u64,
    oldest_unix_micros: i64,
}

impl Ages {
    /// Adds records up to `last_seq`, the oldest of which was received then.
    pub(super) fn add(&mut self, last_seq: u64, oldest_unix_micros: i64) {
        match self.0.back_mut() {
            Some(last) if oldest_unix_micros < last.oldest_unix_micros + MICROS_PER_SECOND => {
                last.last_seq = last_seq;
            }
            _ => self.0.push_back(Entry { last_seq, oldest_unix_micros }),
        }
    }

    /// Takes away the records up to `seq`.
    pub(super) fn release(&mut self, seq: u64) {
        while self.0.front().is_some_and(|first| first.last_seq <= seq) {
            self.0.pop_front();
        }
    }

    /// When the oldest was received; `None` where none waits.
    pub(super) fn oldest_unix_micros(&self) -> Option<i64> {
        self.0.front().map(|first| first.oldest_unix_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The age is that of the oldest record that waits, to the second, however many there are.
    #[test]
    fn the_oldest_that_waits() {
        let mut ages = Ages::default();
        for seq in 1..=10_000 {
            ages.add(seq, seq.cast_signed() * 1000);
        }
        assert!(ages.0.len() <= 10);
        assert_eq!(ages.oldest_unix_micros(), Some(1000));
        ages.release(5500);
        let oldest = ages.oldest_unix_micros().unwrap_or_default();
        assert!((4_501_000..=5_501_000).contains(&oldest), "{oldest}");
        ages.release(10_000);
        assert_eq!(ages.oldest_unix_micros(), None);
    }
}
