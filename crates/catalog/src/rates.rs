//! What calls of one pool and tier draw and cost on one day, for millions of calls.
//!
//! [`Entry::meter`] and [`Entry::cost`] are the rules; here they are made ready once: weights in millionths
//! and prices in picodollars a token (a price of six decimals a million tokens is a whole number of them), so
//! that a call is a few sums of 64 bits. Invariant: the answers are theirs. What does not fit (a long
//! context, audio from a cache or as output, images, counts of half a billion) is asked of them, call by call.

use jiff::civil::Date;
use rust_decimal::Decimal;

use crate::{
    Call, Catalog, Combine, Draw, Entry, Metered, PoolKey, Stage, Tier, TokenPrice, UnsetMaxOutput, Weights,
};

/// Decimal places of a picodollar.
const PICO: u32 = 12;
/// Counts below this, times a weight or a price of at most [`MOST_PRICE`], may be summed eight times in 64 bits.
const MOST_TOKENS: u64 = 1 << 29;
/// Picodollars a token (and more than the millionths of any weight).
const MOST_PRICE: u64 = 1 << 31;
/// Kinds that are summed: uncached, audio, read, written, written for an hour, plain output, reasoning.
const KINDS: usize = 7;
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
/// let call = Call { input_uncached: 1_000, output: 100, ..Call::default() };
/// assert_eq!(rates.metered(&call).settlement.tokens, 1_500);
/// assert_eq!(rates.cost(&call), Some(4_500_000_000)); // 0.0045 USD in picodollars
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rates<'a> {
    entry: &'a Entry,
    tier: Tier,
    admission: Lines,
    settlement: Lines,
    combine: Combine,
    /// What an unset `max_tokens` is admitted at; none for the output that came.
    unset: Option<u64>,
    reserves_output: bool,
    /// Input above which other weights or prices may hold.
    longest: u64,
    /// Units that are held cover the calls.
    covered: bool,
    prices: Prices<'a>,
}

/// Weights of one stage, measure by measure; a measure without any is not counted.
#[derive(Debug, Clone, Copy, Default)]
struct Lines {
    requests: u64,
    input_tokens: Option<Line>,
    output_tokens: Option<Line>,
    tokens: Option<Line>,
}

/// Weights of the kinds and of `max_tokens`, in millionths.
#[derive(Debug, Clone, Copy)]
struct Line {
    used: [u64; KINDS],
    reserved: u64,
}

/// Where list prices come from.
#[derive(Debug, Clone)]
struct Prices<'a> {
    /// The row that has them, what tier its calls are, and on which day.
    of: Option<(&'a Entry, Tier, Date)>,
    /// Picodollars a token, by kind: none where a price is not known. None of them where a price is no whole
    /// number of picodollars.
    picodollars: Option<[Option<u64>; KINDS]>,
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
        let draws = entry.meter(&Call { tier, ..Call::default() }).settlement.requests > 0;
        let lines = |stage: &Stage| if draws { Lines::new(stage) } else { Lines::default() };
        let above = |price: &TokenPrice| price.long_context.as_ref().map(|long| long.above);
        let long_prices = prices.of.iter().flat_map(|(row, ..)| &row.prices).filter_map(above);
        let longest = meter.long_context.as_ref().map(|long| long.above).into_iter().chain(long_prices).min();
        Self {
            entry,
            tier,
            admission: lines(&meter.admission),
            settlement: lines(&meter.settlement),
            combine: meter.combine,
            unset: match meter.unset_max_output {
                UnsetMaxOutput::ModelMaximum => entry.max_output_tokens,
                UnsetMaxOutput::Zero => Some(0),
                UnsetMaxOutput::Unknown => None,
            },
            reserves_output: meter.admission.all().any(|weights| weights.max_output.millionths() > 0),
            longest: longest.unwrap_or(u64::MAX),
            covered,
            prices,
        }
    }

    /// The row that they were made of.
    pub fn entry(&self) -> &'a Entry {
        self.entry
    }

    /// What a call of that tier draws: [`Entry::meter`].
    pub fn metered(&self, call: &Call) -> Metered {
        let max_output = call.max_output.or(self.unset);
        let reserved = max_output.unwrap_or(call.output);
        match self.kinds(call) {
            Some(tokens) if reserved < MOST_TOKENS && self.settlement.requests > 0 => {
                let admission = self.admission.draw(&tokens, reserved, self.combine);
                let settlement = self.settlement.draw(&tokens, 0, Combine::Sum);
                Metered {
                    admission,
                    settlement,
                    released: admission.less(&settlement),
                    lower_bound: self.reserves_output && max_output.is_none(),
                    long_context: false,
                }
            }
            _ => self.entry.meter(&Call { tier: self.tier, ..*call }),
        }
    }

    /// What a call of that tier adds to the bill, in picodollars: [`Entry::cost`], or 0 where units that are
    /// held cover it. None where a price is not known.
    pub fn cost(&self, call: &Call) -> Option<i128> {
        if self.covered { Some(0) } else { self.list_value(call) }
    }

    /// What the same tokens cost on demand, in picodollars, also where units cover them; none where a price
    /// is not known.
    pub fn list_value(&self, call: &Call) -> Option<i128> {
        match (&self.prices.picodollars, self.kinds(call)) {
            (Some(prices), Some(tokens)) => {
                let mut sum = 0;
                for (tokens, price) in tokens.into_iter().zip(prices) {
                    match price {
                        Some(price) => sum += tokens * price,
                        None if tokens == 0 => {}
                        None => return None,
                    }
                }
                Some(sum.into())
            }
            _ => {
                let (row, tier, day) = self.prices.of?;
                picodollars(row.cost(&Call { tier, ..*call }, day)?)
            }
        }
    }

    /// The tokens by kind, where they may be summed here.
    fn kinds(&self, call: &Call) -> Option<[u64; KINDS]> {
        let reasoning = call.reasoning.min(call.output);
        let tokens = [
            call.input_uncached,
            call.audio,
            call.cache_read,
            call.cache_write,
            call.cache_write_1h,
            call.output - reasoning,
            reasoning,
        ];
        let elsewhere = call.audio_cache_read | call.output_audio | call.output_image;
        let small = tokens.iter().fold(0, |all, tokens| all | tokens) < MOST_TOKENS;
        let usual = elsewhere == 0 && !call.us_only && call.status.is_none_or(|status| status < 400);
        (small && usual && tokens[..5].iter().sum::<u64>() <= self.longest).then_some(tokens)
    }
}

impl Lines {
    fn new(stage: &Stage) -> Self {
        Self {
            requests: 1,
            input_tokens: stage.input_tokens.as_ref().map(Line::new),
            output_tokens: stage.output_tokens.as_ref().map(Line::new),
            tokens: stage.tokens.as_ref().map(Line::new),
        }
    }

    fn draw(&self, tokens: &[u64; KINDS], reserved: u64, combine: Combine) -> Draw {
        let sum = |line: &Option<Line>| line.as_ref().map_or(0, |line| line.sum(tokens, reserved, combine));
        Draw {
            requests: self.requests,
            input_tokens: sum(&self.input_tokens),
            output_tokens: sum(&self.output_tokens),
            tokens: sum(&self.tokens),
        }
    }
}

impl Line {
    fn new(weights: &Weights) -> Self {
        let used = [
            weights.input_uncached,
            weights.audio.unwrap_or(weights.input_uncached),
            weights.cache_read,
            weights.cache_write,
            weights.cache_write_1h.unwrap_or(weights.cache_write),
            weights.output,
            weights.reasoning.unwrap_or(weights.output),
        ];
        Self { used: used.map(|weight| weight.millionths()), reserved: weights.max_output.millionths() }
    }

    fn sum(&self, tokens: &[u64; KINDS], reserved: u64, combine: Combine) -> u64 {
        let used: u64 = tokens.iter().zip(&self.used).map(|(tokens, weight)| tokens * weight).sum();
        let reserved = reserved * self.reserved;
        let millionths = match combine {
            Combine::Sum => used + reserved,
            Combine::Max => used.max(reserved),
        };
        millionths.div_ceil(1_000_000)
    }
}

impl<'a> Prices<'a> {
    fn of(row: Option<&'a Entry>, tier: Tier, day: Date) -> Self {
        let Some(row) = row else { return Self { of: None, picodollars: None } };
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
        ];
        let costs = calls.map(|call| row.cost(&call, day));
        let price = |usd: Decimal| {
            let whole = usd.normalize().scale() <= PICO;
            let price = picodollars(usd).and_then(|price| u64::try_from(price).ok());
            price.filter(|price| whole && *price <= MOST_PRICE)
        };
        let fit = costs.iter().flatten().all(|usd| price(*usd).is_some());
        Self { of: Some((row, tier, day)), picodollars: fit.then(|| costs.map(|usd| usd.and_then(price))) }
    }
}

/// An amount in picodollars, half a one up; none where it has more digits than can be counted.
fn picodollars(usd: Decimal) -> Option<i128> {
    let usd = usd.round_dp_with_strategy(PICO, rust_decimal::RoundingStrategy::MidpointAwayFromZero);
    usd.mantissa().checked_mul(10i128.checked_pow(PICO - usd.scale())?)
}
