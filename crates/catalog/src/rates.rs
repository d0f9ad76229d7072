//! What calls of one pool and tier draw and cost on one day, for millions of calls.
//!
//! [`Entry::meter`] and [`Entry::cost`] are the rules; here they are made ready once: weights and prices in
//! integers (a price of six decimals a million tokens is a whole number of picodollars a token), so that
//! [`Calls`] side by side are a few sums of products. Invariant: the answers are theirs. What does not fit (a
//! long context, counts of half a billion) is asked of them, call by call.

use std::ops::Range;

use jiff::civil::Date;
use rust_decimal::Decimal;

use crate::{
    Call, Calls, Catalog, ChargedCalls, Combine, Draw, Entry, Metered, PoolKey, Tier, TokenPrice,
    calls::Column,
    lines::{Kinds, Lines, MOST_EACH, MOST_TOKENS, RESERVED, dot},
};

/// Decimal places of a picodollar.
const PICO: u32 = 12;
/// No call that is charged by integers is as long.
const NEVER: u64 = 1 << 62;
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
/// use plimsoll_catalog::{Call, Calls, ChargedCalls, Tier};
///
/// let day = jiff::civil::date(2026, 11, 30);
/// let rates = catalog.rates(&"acme/direct/global/m".parse()?, Tier::Standard, day);
/// let rates = rates.ok_or("a row")?;
/// let charged = rates.charged(&Call { input_uncached: 1_000, output: 100, ..Call::default() });
/// assert_eq!(charged.settlement.tokens, 1_500);
/// assert_eq!(charged.list_value, Some(4_500_000_000)); // 0.0045 USD in picodollars
///
/// // Many of them, side by side.
/// let mut calls = Calls::default();
/// (calls.input_uncached[0], calls.plain_output[0]) = (1_000, 100);
/// let mut all = ChargedCalls::default();
/// rates.charge(&calls, 0..1, &mut all);
/// assert_eq!(all.charged(0), charged);
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

/// Where list prices come from.
#[derive(Debug, Clone)]
struct Prices<'a> {
    /// The row that has them, what tier its calls are, and on which day.
    of: Option<(&'a Entry, Tier, Date)>,
    /// Picodollars a token, and whether a price is not known. None of it where a price is no whole number of
    /// picodollars.
    each: Option<(Kinds<u32>, Kinds<bool>)>,
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
            longest: entry.takes(tier).then_some(longest.map_or(NEVER, |longest| longest.min(NEVER))),
            covered,
            prices,
        }
    }

    /// Whether units that are held cover the calls, so that they add nothing to the bill; else it is their list
    /// value.
    pub fn covered(&self) -> bool {
        self.covered
    }

    /// What a call of that tier draws and costs, by the rows that the rates were made of.
    pub fn charged(&self, call: &Call) -> Charged {
        let Metered { admission, settlement, .. } = self.entry.meter(&Call { tier: self.tier, ..*call });
        Charged { admission, settlement, list_value: self.prices.by_the_row(call) }
    }

    /// The same for `which` of the calls, in integers where they fit; the others in `into` stay as they are.
    #[inline]
    pub fn charge(&self, calls: &Calls, which: Range<usize>, into: &mut ChargedCalls) {
        calls.reserve(which.clone(), self.unset, &mut into.reserved);
        let kinds = [
            &calls.input_uncached,
            &calls.audio,
            &calls.cache_read,
            &calls.cache_write,
            &calls.cache_write_1h,
            &calls.plain_output,
            &calls.reasoning,
            &into.reserved,
        ];
        self.admission.draw(&kinds, &which, &mut into.admission);
        self.settlement.draw(&kinds, &which, &mut into.settlement);
        let misfits = self.misfits(&kinds, &which);
        match &self.prices.each {
            Some((each, unknown)) => {
                dot(&kinds, each, &which, &mut into.sums);
                let sums = &into.sums[which.clone()];
                for (value, sum) in into.list_value[which.clone()].iter_mut().zip(sums) {
                    *value = (*sum).into();
                }
                into.priced = into.priced & !Calls::bits(&which) | priced(&kinds, unknown, &which);
            }
            None => {
                which.clone().for_each(|call| into.price(call, self.prices.by_the_row(&calls.call(call))))
            }
        }
        for call in which.filter(|call| misfits >> call & 1 > 0) {
            into.set(call, &self.charged(&calls.call(call)));
        }
    }

    /// Which of those calls may not be summed in integers.
    #[inline]
    fn misfits(&self, kinds: &Kinds<&Column>, which: &Range<usize>) -> u64 {
        let Some(longest) = self.longest else { return Calls::bits(which) };
        let beyond = |call: usize| {
            let all = kinds.iter().fold(0, |all, tokens| all | tokens[call]);
            let input = kinds[..5].iter().fold(0, |sum: u64, tokens| sum.wrapping_add(tokens[call]));
            // The highest bit is set where the input is longer.
            (all / MOST_TOKENS) | (longest.wrapping_sub(input) >> 63)
        };
        // Seldom, so asked of all at once.
        if which.clone().fold(0, |any, call| any | beyond(call)) == 0 {
            return 0;
        }
        which.clone().fold(0, |misfits, call| misfits | u64::from(beyond(call) > 0) << call)
    }
}

/// Which of those calls have no token of a kind whose price is unknown.
#[inline]
fn priced(kinds: &Kinds<&Column>, unknown: &Kinds<bool>, which: &Range<usize>) -> u64 {
    let mut priced = Calls::bits(which);
    for (tokens, _) in kinds.iter().zip(unknown).filter(|(_, unknown)| **unknown) {
        for call in which.clone() {
            priced &= !(u64::from(tokens[call] > 0) << call);
        }
    }
    priced
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
        let (mut each, mut unknown, mut fit) = (Kinds::<u32>::default(), Kinds::<bool>::default(), true);
        for (kind, call) in calls.iter().enumerate() {
            let Some(usd) = row.cost(call, day) else {
                unknown[kind] = true;
                continue;
            };
            let price = picodollars(usd).filter(|_| usd.normalize().scale() <= PICO);
            match price.and_then(|price| u64::try_from(price).ok()).filter(|price| *price <= MOST_EACH) {
                Some(price) => each[kind] = price as u32,
                None => fit = false,
            }
        }
        // Tokens that are only asked for are never priced.
        unknown[RESERVED] = false;
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
