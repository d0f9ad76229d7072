//! Calls side by side: a column of each kind of token, so that a processor weighs many calls at once.
//!
//! Leaves what they cost to [`crate::Rates`]. Invariant: no token stands in two columns.

use std::ops::Range;

use crate::{Call, Charged, Draw};

/// A figure of each of [`Calls::MOST`] calls.
pub type Column = [u64; Calls::MOST];

/// Calls that have no audio from a cache or as output and no images, are not held within the United States, were
/// not refused, and are all of the tier that they are charged by.
#[derive(Debug, Clone)]
pub struct Calls {
    /// As [`Call::input_uncached`].
    pub input_uncached: Column,
    /// As [`Call::audio`].
    pub audio: Column,
    /// As [`Call::cache_read`].
    pub cache_read: Column,
    /// As [`Call::cache_write`].
    pub cache_write: Column,
    /// As [`Call::cache_write_1h`].
    pub cache_write_1h: Column,
    /// Output tokens without reasoning.
    pub plain_output: Column,
    /// Reasoning tokens.
    pub reasoning: Column,
    /// `max_tokens` of those calls that sent it.
    pub max_output: Column,
    /// Which calls did not send it: a bit each, that of the first call lowest.
    pub unset: u64,
}

impl Default for Calls {
    fn default() -> Self {
        let none = [0; Self::MOST];
        Self {
            input_uncached: none,
            audio: none,
            cache_read: none,
            cache_write: none,
            cache_write_1h: none,
            plain_output: none,
            reasoning: none,
            max_output: none,
            unset: 0,
        }
    }
}

impl Calls {
    /// How many there are: as many as a word has bits, and few enough to stay in the nearest cache.
    pub const MOST: usize = 64;

    /// A bit for each of those calls, as in [`Calls::unset`].
    #[inline]
    pub fn bits(which: &Range<usize>) -> u64 {
        let below = |call: usize| if call < Self::MOST { (1 << call) - 1 } else { u64::MAX };
        below(which.end) & !below(which.start)
    }

    /// One of them.
    pub fn call(&self, which: usize) -> Call {
        Call {
            input_uncached: self.input_uncached[which],
            audio: self.audio[which],
            cache_read: self.cache_read[which],
            cache_write: self.cache_write[which],
            cache_write_1h: self.cache_write_1h[which],
            output: self.plain_output[which].saturating_add(self.reasoning[which]),
            reasoning: self.reasoning[which],
            max_output: (self.unset >> which & 1 == 0).then_some(self.max_output[which]),
            ..Call::default()
        }
    }

    /// What is reserved for output: `max_tokens`, or where it was not sent `unset`, or as much as came.
    #[inline]
    pub(crate) fn reserve(&self, which: Range<usize>, unset: Option<u64>, into: &mut Column) {
        for which in which {
            let sent = (self.unset >> which & 1).wrapping_sub(1);
            let came = self.plain_output[which].wrapping_add(self.reasoning[which]);
            into[which] = self.max_output[which] & sent | unset.unwrap_or(came) & !sent;
        }
    }
}

/// What [`Calls`] draw and cost.
#[derive(Debug, Clone)]
pub struct ChargedCalls {
    /// As [`Charged::admission`].
    pub admission: Draws,
    /// As [`Charged::settlement`].
    pub settlement: Draws,
    /// As [`Charged::list_value`], where it is known.
    pub list_value: [i128; Calls::MOST],
    /// Which calls have a known list value, as in [`Calls::unset`].
    pub priced: u64,
    /// Room for what is reserved for their output.
    pub(crate) reserved: Column,
    /// Room for sums of prices.
    pub(crate) sums: Column,
}

/// What calls draw: the columns of [`Draw`].
#[derive(Debug, Clone)]
pub struct Draws {
    /// As [`Draw::requests`].
    pub requests: Column,
    /// As [`Draw::input_tokens`].
    pub input_tokens: Column,
    /// As [`Draw::output_tokens`].
    pub output_tokens: Column,
    /// As [`Draw::tokens`].
    pub tokens: Column,
}

impl Default for ChargedCalls {
    fn default() -> Self {
        Self {
            admission: Draws::default(),
            settlement: Draws::default(),
            list_value: [0; Calls::MOST],
            priced: 0,
            reserved: [0; Calls::MOST],
            sums: [0; Calls::MOST],
        }
    }
}

impl Default for Draws {
    fn default() -> Self {
        let none = [0; Calls::MOST];
        Self { requests: none, input_tokens: none, output_tokens: none, tokens: none }
    }
}

impl ChargedCalls {
    /// One of them.
    pub fn charged(&self, which: usize) -> Charged {
        Charged {
            admission: self.admission.draw(which),
            settlement: self.settlement.draw(which),
            list_value: (self.priced >> which & 1 > 0).then_some(self.list_value[which]),
        }
    }

    pub(crate) fn price(&mut self, which: usize, list_value: Option<i128>) {
        self.list_value[which] = list_value.unwrap_or(0);
        self.priced = self.priced & !(1 << which) | u64::from(list_value.is_some()) << which;
    }

    /// Sets one of them.
    pub fn set(&mut self, which: usize, charged: &Charged) {
        self.admission.set(which, &charged.admission);
        self.settlement.set(which, &charged.settlement);
        self.price(which, charged.list_value);
    }
}

impl Draws {
    fn draw(&self, which: usize) -> Draw {
        Draw {
            requests: self.requests[which],
            input_tokens: self.input_tokens[which],
            output_tokens: self.output_tokens[which],
            tokens: self.tokens[which],
        }
    }

    fn set(&mut self, which: usize, draw: &Draw) {
        self.requests[which] = draw.requests;
        self.input_tokens[which] = draw.input_tokens;
        self.output_tokens[which] = draw.output_tokens;
        self.tokens[which] = draw.tokens;
    }
}
