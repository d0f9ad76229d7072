//! What calls of one pool and tier draw and cost on one day, for millions of calls.
//!
//! [`Entry::meter`] and [`Entry::cost`] are the rules; here they are made ready once: weights in millionths
//! and prices in picodollars a token (a price of six decimals a million tokens is a whole number of them), so
//! that a call is a few sums of eight products. Invariant: the answers are theirs. What does not fit (a long
//! context, audio from a cache or as output, images, counts of half a billion) is asked of them, call by call.

use jiff::civil::Date;
use rust_decimal::Decimal;

use crate::{
    Call, Catalog, Combine, Draw, Entry, Metered, PoolKey, Stage, Tier, TokenPrice, Weights, exact::Weight,
};

/// Decimal places of a picodollar.
const PICO: u32 = 12;
/// Counts below this, times a weight or a price of at most [`MOST_EACH`], may be summed eight times in 64 bits.
const MOST_TOKENS: u64 = 1 << 29;
/// Picodollars a token; weights in millionths are less.
const MOST_EACH: u64 = 1 << 31;
/// Eight kinds, so that a processor sums them side by side: uncached, audio, read, written, written for an hour,
/// plain output, reasoning, and `max_tokens`.
type Kinds = [u32; 8];
/// Place of `max_tokens` among them.
const RESERVED: usize = 7;
/// Products that are sold on demand.
const ON_DEMAND: [&str; 3] = ["direct", "runtime", "standard"];

/// What calls of one pool and tier draw and cost on one day.
///
/// ```
/// # use plimsoll_catalog::Catalog;
/// # let catalog = Catalog::load([("p.toml", r#"
/// # edition = "2026-11"
/// # provider = "acme"
/// # product = "direct"
/// # [source.page]
/// # title = "Prices"
/// # read_on = "2026-11-01"
/// # confidence = "own_page"
/// # [limits]
/// # a = [{ name = "tokens_per_min", counts = "tokens", window_s = 60 }]
/// # [meter.a]
/// # unset_max_output = "zero"
/// # refused = "counted"
/// # admission.tokens = { input_uncached = 1, max_output = 1 }
/// # settlement.tokens = { input_uncached = 1, output = 5 }
/// # [grants.any]
/// # [[entry]]
/// # scopes = ["global"]
/// # models = ["m"]
/// # limit_group = "m"
/// # limits = "a"
/// # meter = "a"
/// # grants = "any"
/// # prices = [{ input = "3", output = "15" }]
/// # sources = ["page"]
/// # "#)])?;
/// use plimsoll_catalog::{Call, Tier};
///
/// let day = jiff::civil::date(2026, 11, 30);
/// let rates = catalog.rates(&"acme/direct/global/m".parse()?, Tier::Standard, day);
/// let rates = rates.ok_or("a row")?;
/// let charged = rates.charged(&Call { input_uncached: 1_000, output: 100, ..Call::default() });
/// assert_eq!(charged.settlement.tokens, 1_500);
/// assert_eq!(charged.list_value, Some(4_500_000_000)); // 0.0045 USD in picodollars
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rates<'a> {
    entry: &'a Entry,
    tier: Tier,
    admission: Lines,
    settlement: Lines,
    /// What an unset `max_tokens` is admitted at; none for the output that came.
    unset: Option<u64>,
    /// Input above which other weights or prices may hold; none where the calls draw on other pools' limits, which
    /// the row says call by call.
    longest: Option<u64>,
    /// Units that are held cover the calls.
    covered: bool,
    prices: Prices<'a>,
}

/// What one call draws and costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    /// Charged when it starts: as [`Entry::meter`] has it.
    pub admission: Draw,
    /// What that is corrected to at its end.
    pub settlement: Draw,
    /// What its tokens cost on demand, in picodollars, as [`Entry::cost`] has it; none where a price is not known.
    pub list_value: Option<i128>,
}

/// Weights of one stage, measure by measure; a measure without any is not counted.
#[derive(Debug, Clone, Copy)]
struct Lines {
    input_tokens: Option<Line>,
    output_tokens: Option<Line>,
    tokens: Option<Line>,
}

/// Weights of one measure, in millionths.
#[derive(Debug, Clone, Copy)]
struct Line {
    each: Kinds,
    /// Of `max_tokens` where the larger counts, and not the sum.
    larger: u64,
}

/// Where list prices come from.
#[derive(Debug, Clone)]
struct Prices<'a> {
    /// The row that has them, what tier its calls are, and on which day.
    of: Option<(&'a Entry, Tier, Date)>,
    /// Picodollars a token, and all bits set where a price is not known. None of it where a price is no whole
    /// number of picodollars.
    each: Option<(Kinds, Kinds)>,
}

impl Catalog {
    /// The rates of a pool; none where no row answers for it on that day.
    pub fn rates(&self, key: &PoolKey, tier: Tier, day: Date) -> Option<Rates<'_>> {
        let entry = self.find(key, day)?;
        let covered = entry.prices.is_empty() && entry.dimensions.iter().any(|limit| limit.from_units);
        // What units cover is worth what it costs on demand, whatever tier the units are.
        let prices = match covered {
            true => Prices::of(self.on_demand(key, day), Tier::Standard, day),
            false => Prices::of(Some(entry), tier, day),
        };
        Some(Rates::new(entry, covered, prices, tier))
    }

    /// The row of the same model and scope where its provider sells it on demand.
    fn on_demand(&self, key: &PoolKey, day: Date) -> Option<&Entry> {
        let same = ON_DEMAND.into_iter().filter_map(|product| self.find(&key.of_product(product), day));
        same.into_iter().find(|row| row.price(day).is_some())
    }
}

impl<'a> Rates<'a> {
    fn new(entry: &'a Entry, covered: bool, prices: Prices<'a>, tier: Tier) -> Self {
        let meter = &entry.meter;
        let above = |price: &TokenPrice| price.long_context.as_ref().map(|long| long.above);
        let long_prices = prices.of.iter().flat_map(|(row, ..)| &row.prices).filter_map(above);
        let longest = meter.long_context.as_ref().map(|long| long.above).into_iter().chain(long_prices).min();
        Self {
            entry,
            tier,
            admission: Lines::new(&meter.admission, meter.combine),
            settlement: Lines::new(&meter.settlement, Combine::Sum),
            unset: meter.unset(entry.max_output_tokens),
            longest: entry.takes(tier).then_some(longest.unwrap_or(u64::MAX)),
            covered,
            prices,
        }
    }

    /// Whether units that are held cover the calls, so that they add nothing to the bill; else it is their list
    /// value.
    pub fn covered(&self) -> bool {
        self.covered
    }

    /// What a call of that tier draws and costs.
    #[inline]
    pub fn charged(&self, call: &Call) -> Charged {
        let max_output = call.max_output.or(self.unset).unwrap_or(call.output);
        let Some(tokens) = self.kinds(call, max_output) else {
            return self.by_the_row(call);
        };
        let list_value = match &self.prices.each {
            Some((each, unknown)) => {
                let unpriced =
                    tokens.iter().zip(unknown).fold(0, |all, (tokens, unknown)| all | tokens & unknown);
                (unpriced == 0).then(|| dot(&tokens, each).into())
            }
            None => self.prices.by_the_row(call),
        };
        Charged {
            admission: self.admission.draw(&tokens),
            settlement: self.settlement.draw(&tokens),
            list_value,
        }
    }

    /// The same by the rows that the rates were made of.
    #[cold]
    fn by_the_row(&self, call: &Call) -> Charged {
        let Metered { admission, settlement, .. } = self.entry.meter(&Call { tier: self.tier, ..*call });
        Charged { admission, settlement, list_value: self.prices.by_the_row(call) }
    }

    /// The tokens by kind, where they may be summed here.
    #[inline]
    fn kinds(&self, call: &Call, reserved: u64) -> Option<Kinds> {
        let reasoning = call.reasoning.min(call.output);
        let tokens = [
            call.input_uncached,
            call.audio,
            call.cache_read,
            call.cache_write,
            call.cache_write_1h,
            call.output - reasoning,
            reasoning,
            reserved,
        ];
        let elsewhere = call.audio_cache_read | call.output_audio | call.output_image;
        let small = tokens.iter().fold(0, |all, tokens| all | tokens) < MOST_TOKENS;
        let usual = elsewhere == 0 && !call.us_only && call.status.is_none_or(|status| status < 400);
        let input = tokens[..5].iter().fold(0, |sum: u64, tokens| sum.wrapping_add(*tokens));
        let short = self.longest.is_some_and(|longest| input <= longest);
        // Below 2^29, so nothing is cut off.
        (small && usual && short).then(|| tokens.map(|tokens| tokens as u32))
    }
}

impl Lines {
    fn new(stage: &Stage, combine: Combine) -> Self {
        let line = |weights: &Option<Weights>| weights.as_ref().map(|weights| Line::new(weights, combine));
        Self {
            input_tokens: line(&stage.input_tokens),
            output_tokens: line(&stage.output_tokens),
            tokens: line(&stage.tokens),
        }
    }

    #[inline]
    fn draw(&self, tokens: &Kinds) -> Draw {
        let sum = |line: &Option<Line>| line.as_ref().map_or(0, |line| line.sum(tokens));
        Draw {
            requests: 1,
            input_tokens: sum(&self.input_tokens),
            output_tokens: sum(&self.output_tokens),
            tokens: sum(&self.tokens),
        }
    }
}

impl Line {
    fn new(weights: &Weights, combine: Combine) -> Self {
        let of_max = weights.max_output;
        let (summed, larger) = match combine {
            Combine::Sum => (of_max, 0),
            Combine::Max => (Weight::ZERO, of_max.millionths()),
        };
        let each = [
            weights.input_uncached,
            weights.audio.unwrap_or(weights.input_uncached),
            weights.cache_read,
            weights.cache_write,
            weights.cache_write_1h.unwrap_or(weights.cache_write),
            weights.output,
            weights.reasoning.unwrap_or(weights.output),
            summed,
        ];
        // At most 200, so 2 x 10^8 millionths.
        Self { each: each.map(|weight| u32::try_from(weight.millionths()).unwrap_or(u32::MAX)), larger }
    }

    #[inline]
    fn sum(&self, tokens: &Kinds) -> u64 {
        dot(tokens, &self.each).max(u64::from(tokens[RESERVED]) * self.larger).div_ceil(1_000_000)
    }
}

/// Sum of the products.
#[inline]
fn dot(tokens: &Kinds, each: &Kinds) -> u64 {
    tokens.iter().zip(each).map(|(tokens, each)| u64::from(*tokens) * u64::from(*each)).sum()
}

impl<'a> Prices<'a> {
    fn of(row: Option<&'a Entry>, tier: Tier, day: Date) -> Self {
        let Some(row) = row else { return Self { of: None, each: None } };
        // One token of each kind, as the row prices it: no context is long that has one.
        let one = Call { tier, ..Call::default() };
        let calls = [
            Call { input_uncached: 1, ..one },
            Call { audio: 1, ..one },
            Call { cache_read: 1, ..one },
            Call { cache_write: 1, ..one },
            Call { cache_write_1h: 1, ..one },
            Call { output: 1, ..one },
            Call { output: 1, reasoning: 1, ..one },
            // `max_tokens` costs nothing.
            one,
        ];
        let (mut each, mut unknown, mut fit) = (Kinds::default(), Kinds::default(), true);
        for (kind, call) in calls.iter().enumerate() {
            let Some(usd) = row.cost(call, day) else {
                unknown[kind] = u32::MAX;
                continue;
            };
            let price = picodollars(usd).filter(|_| usd.normalize().scale() <= PICO);
            match price.and_then(|price| u64::try_from(price).ok()).filter(|price| *price <= MOST_EACH) {
                Some(price) => each[kind] = price as u32,
                None => fit = false,
            }
        }
        // Tokens that are only asked for are never priced.
        unknown[RESERVED] = 0;
        Self { of: Some((row, tier, day)), each: fit.then_some((each, unknown)) }
    }

    fn by_the_row(&self, call: &Call) -> Option<i128> {
        let (row, tier, day) = self.of?;
        picodollars(row.cost(&Call { tier, ..*call }, day)?)
    }
}

/// An amount in picodollars, half a one up; none where it has more digits than can be counted.
fn picodollars(usd: Decimal) -> Option<i128> {
    let usd = usd.round_dp_with_strategy(PICO, rust_decimal::RoundingStrategy::MidpointAwayFromZero);
    usd.mantissa().checked_mul(10i128.checked_pow(PICO - usd.scale())?)
}
