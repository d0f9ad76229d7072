//! What one call looks like, and what it draws and costs, exactly.
//!
//! The catalog meters whole tokens and rounds up. Sizing must round once, at the very end, so a mean call
//! (1,234.5 tokens, a third of them cached) is metered as many calls at once, enough that every kind of
//! token is a whole number and every weight, which is exact to a millionth, leaves nothing to round.
//! Whether a context is long is decided by the mean call before that. Invariant: no float, no rounding.

use std::collections::BTreeSet;

use jiff::civil::Date;
use plimsoll_catalog::{Call, Entry, Measure, Metered, TokenPrice};

use super::{PoolDemand, PoolSizeError};
use crate::{money::exact, quantity::Quantity};

/// Weights are exact to a millionth.
const MILLION: u64 = 1_000_000;
/// Most tokens of one kind that are metered at once: the heaviest weight is 200, and a call has several
/// kinds.
const MOST: u64 = u64::MAX / 4096;

/// Tokens of one call, mean or percentile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// Text input, cached or not.
    pub input_tokens: Quantity,
    /// Audio input, cached or not; not in `input_tokens`.
    pub audio_tokens: Quantity,
    /// Output, reasoning included.
    pub output_tokens: Quantity,
    /// Share of the input that the cache serves.
    pub cache_rate: Quantity,
    /// Cap on the output that the client sends; none where it sends none.
    pub max_tokens: Option<Quantity>,
}

/// What one call of a shape draws, in exact fractions of tokens.
struct Drawn {
    metered: Metered,
    /// The same by other readings of uncertain points, with the index of the flag.
    others: Vec<(usize, Metered)>,
    /// Calls that were metered at once.
    calls: Quantity,
}

/// What the mean call of a demand draws.
pub(super) struct MeanDraw<'a> {
    demand: &'a PoolDemand,
    /// One for each class of calls.
    drawn: Vec<Drawn>,
}

impl Shape {
    /// Refuses what no call can be.
    ///
    /// # Errors
    /// A cache rate above 1, or more output than `max_tokens`.
    pub fn check(&self) -> Result<(), PoolSizeError> {
        if self.cache_rate > Quantity::one() {
            return Err(PoolSizeError::CacheRate(self.cache_rate.clone()));
        }
        match &self.max_tokens {
            Some(max) if *max < self.output_tokens => {
                Err(PoolSizeError::AboveMax { output: self.output_tokens.to_string(), max: max.to_string() })
            }
            _ => Ok(()),
        }
    }

    /// All input, which long contexts are told by.
    pub(crate) fn input(&self) -> Quantity {
        &self.input_tokens + &self.audio_tokens
    }

    /// Share of the input that no cache serves.
    pub(crate) fn fresh(&self) -> Quantity {
        Quantity::one() - self.cache_rate.clone()
    }

    /// So many calls of this shape as one sum.
    fn times(&self, calls: &Quantity) -> Option<Call> {
        let whole = |tokens: &Quantity| (tokens * calls).whole().filter(|tokens| *tokens <= MOST);
        let fresh = self.fresh();
        Some(Call {
            input_uncached: whole(&(&self.input_tokens * &fresh))?,
            cache_read: whole(&(&self.input_tokens * &self.cache_rate))?,
            audio: whole(&(&self.audio_tokens * &fresh))?,
            audio_cache_read: whole(&(&self.audio_tokens * &self.cache_rate))?,
            output: whole(&self.output_tokens)?,
            max_output: match &self.max_tokens {
                Some(max) => Some(whole(max)?),
                None => None,
            },
            ..Call::default()
        })
    }

    /// The fewest calls whose tokens and weights are all whole.
    fn calls(&self) -> Quantity {
        let fresh = self.fresh();
        let kinds = [
            &self.input_tokens * &fresh,
            &self.input_tokens * &self.cache_rate,
            &self.audio_tokens * &fresh,
            &self.audio_tokens * &self.cache_rate,
            self.output_tokens.clone(),
            self.max_tokens.clone().unwrap_or_default(),
        ];
        kinds.iter().fold(MILLION.into(), |calls: Quantity, kind| {
            let left = (kind * &calls).denominator();
            calls * left
        })
    }

    /// What a call draws by the rules of `entry`.
    fn draws(&self, entry: &Entry) -> Result<Drawn, PoolSizeError> {
        let calls = self.calls();
        let many = self.times(&calls).ok_or(PoolSizeError::TooLarge)?;
        let entry = self.settled(entry, &calls)?;
        let others = entry.sensitivities(&many);
        let flag = |name: &str| entry.flags.iter().position(|flag| flag.name == name);
        let others =
            others.iter().filter_map(|other| Some((flag(&other.flag.name)?, other.metered))).collect();
        Ok(Drawn { metered: entry.meter(&many), others, calls })
    }

    /// What a call costs by `price`, USD; none where a price that it needs is not known.
    pub(super) fn cost(&self, entry: &Entry, price: Option<&TokenPrice>, as_of: Date) -> Option<Quantity> {
        let calls = self.calls();
        let many = self.times(&calls)?;
        let mut entry = entry.clone();
        if let Some(price) = price {
            entry.prices = vec![price.clone()];
        }
        for price in &mut entry.prices {
            let long = price.long_context.take().filter(|long| self.input() > Quantity::from(long.above));
            if let Some(long) = long {
                price.input = long.input.or(price.input);
                price.cache_read = long.cache_read.or(price.cache_read);
                price.output = long.output.or(price.output);
            }
        }
        exact(entry.cost(&many, as_of)?).over(&calls)
    }

    /// The row with what depends on a single call decided: long or short context, and the output that an
    /// unset `max_tokens` reserves.
    fn settled(&self, entry: &Entry, calls: &Quantity) -> Result<Entry, PoolSizeError> {
        let mut entry = entry.clone();
        let long = entry.meter.long_context.take();
        if let Some(long) = long.filter(|long| self.input() > Quantity::from(long.above)) {
            entry.meter.admission = long.admission.unwrap_or(entry.meter.admission);
            entry.meter.settlement = long.settlement.unwrap_or(entry.meter.settlement);
        }
        entry.max_output_tokens = match entry.max_output_tokens {
            Some(most) => {
                let many = (&Quantity::from(most) * calls).whole().filter(|tokens| *tokens <= MOST);
                Some(many.ok_or(PoolSizeError::TooLarge)?)
            }
            None => None,
        };
        for flag in &mut entry.flags {
            let unset = flag.alternative.as_mut().and_then(|other| other.unset_max_output.as_mut());
            if let Some(unset) = unset {
                *unset = (&Quantity::from(*unset) * calls).whole().ok_or(PoolSizeError::TooLarge)?;
            }
        }
        Ok(entry)
    }
}

impl Drawn {
    fn one(&self, amount: u64, measure: Measure) -> Quantity {
        match measure {
            // A sum of many calls counts as one request.
            Measure::Requests | Measure::Concurrent => amount.into(),
            _ => Quantity::from(amount).over(&self.calls).unwrap_or_default(),
        }
    }
}

impl<'a> MeanDraw<'a> {
    pub(super) fn of(demand: &'a PoolDemand, entry: &Entry) -> Result<Self, PoolSizeError> {
        let drawn: Result<_, _> = demand.calls.iter().map(|calls| calls.shape.draws(entry)).collect();
        Ok(Self { demand, drawn: drawn? })
    }

    /// Of one measure, at a call's start.
    pub(super) fn admission(&self, measure: Measure) -> Quantity {
        self.mean(|drawn| drawn.one(drawn.metered.admission.amount(measure), measure))
    }

    /// Of one measure, at its end.
    pub(super) fn settlement(&self, measure: Measure) -> Quantity {
        self.mean(|drawn| drawn.one(drawn.metered.settlement.amount(measure), measure))
    }

    fn mean(&self, of: impl Fn(&Drawn) -> Quantity) -> Quantity {
        self.demand.mean(self.drawn.iter().map(of))
    }

    /// Whether the admission is a lower bound.
    pub(super) fn is_lower_bound(&self) -> bool {
        self.drawn.iter().any(|drawn| drawn.metered.lower_bound)
    }

    /// The draw by the other reading of each flag that makes a difference, by its index.
    pub(super) fn others(&self) -> Vec<(usize, Self)> {
        let flags: BTreeSet<usize> =
            self.drawn.iter().flat_map(|drawn| drawn.others.iter().map(|(flag, _)| *flag)).collect();
        let by_other = |flag: usize| {
            let drawn = self.drawn.iter().map(|drawn| {
                let other = drawn.others.iter().find(|(other, _)| *other == flag);
                let metered = other.map_or(drawn.metered, |(_, metered)| *metered);
                Drawn { metered, others: Vec::new(), calls: drawn.calls.clone() }
            });
            (flag, Self { demand: self.demand, drawn: drawn.collect() })
        };
        flags.into_iter().map(by_other).collect()
    }
}
