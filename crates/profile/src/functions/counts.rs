//! Columns of an Arrow batch, a word of rows at a time: figures, and a bit for each that tells of it.
//!
//! Leaves what the figures mean to [`metered`](super::metered). Invariant: a figure that is null or nonsense is
//! not told, and 0.

use arrow::{
    array::{Array, BooleanArray, Int64Array},
    buffer::{BooleanBuffer, NullBuffer},
};
use plimsoll_catalog::{Calls, Column};

/// Rows that a word has bits for.
pub(super) const WORD: usize = Calls::MOST;

/// A column of counts.
pub(super) struct Counts<'a> {
    values: &'a [i64],
    valid: Bits,
}

/// A bit a row, the first row's lowest.
pub(super) struct Bits(Vec<u64>);

impl<'a> Counts<'a> {
    pub(super) fn of(array: &'a Int64Array) -> Self {
        Self { values: array.values(), valid: Bits::valid(array.nulls(), array.len()) }
    }

    /// Which counts of the nth word's rows are told.
    #[inline]
    pub(super) fn told(&self, nth: usize) -> u64 {
        let values = self.rows(nth);
        let mut told = self.valid.word(nth);
        // Seldom, so asked of all at once.
        if values.iter().fold(0, |any, value| any | value).is_negative() {
            for (row, _) in values.iter().enumerate().filter(|(_, value)| value.is_negative()) {
                told &= !(1 << row);
            }
        }
        told
    }

    /// Adds the counts of `which` of those rows, all of them told.
    #[inline]
    pub(super) fn add(&self, nth: usize, which: u64, to: &mut Column) {
        let rows = to.iter_mut().zip(self.rows(nth));
        match which {
            0 => {}
            u64::MAX => rows.for_each(|(to, value)| *to += value.cast_unsigned()),
            // Without a branch, since that would be taken at random.
            _ => rows.enumerate().for_each(|(row, (to, value))| {
                *to += value.cast_unsigned() & (which >> row & 1).wrapping_neg();
            }),
        }
    }

    fn rows(&self, nth: usize) -> &[i64] {
        let first = nth * WORD;
        &self.values[first..self.values.len().min(first + WORD)]
    }
}

impl Bits {
    fn of(bits: &BooleanBuffer) -> Self {
        Self(bits.bit_chunks().iter_padded().collect())
    }

    fn valid(nulls: Option<&NullBuffer>, rows: usize) -> Self {
        nulls.map_or_else(|| Self(vec![u64::MAX; rows.div_ceil(WORD)]), |nulls| Self::of(nulls.inner()))
    }

    /// Where `array` holds `value`.
    pub(super) fn where_is(value: bool, array: &BooleanArray) -> Self {
        let (held, valid) = (Self::of(array.values()), Self::valid(array.nulls(), array.len()));
        let is = |(held, valid): (u64, u64)| valid & if value { held } else { !held };
        Self(held.0.into_iter().zip(valid.0).map(is).collect())
    }

    /// The nth word.
    #[inline]
    pub(super) fn word(&self, nth: usize) -> u64 {
        self.0[nth]
    }
}
