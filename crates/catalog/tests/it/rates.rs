//! Rates that are made ready are the rows' own arithmetic.

use jiff::civil::{Date, date};
use plimsoll_catalog::{Call, Calls, Catalog, ChargedCalls, Entry, Rates, Tier};
use proptest::{prelude::*, sample::Index};
use rust_decimal::Decimal;

use crate::{properties::any_call, shipped::catalog, side_by_side::side_by_side};

const DAY: Date = date(2026, 11, 30);

/// A count that an attempt may tell, more often a usual one than one that no sum of 64 bits holds.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0),
        8 => 0..400_000_u64,
        1 => (1 << 29) - 2..(1 << 29) + 2_u64,
        1 => any::<u64>(),
        1 => Just(u64::MAX),
    ]
}

/// A call of the kinds that stand side by side.
fn plain_call() -> impl Strategy<Value = Call> {
    ([count(), count(), count(), count(), count()], count(), count(), proptest::option::of(count())).prop_map(
        |(
            [input_uncached, audio, cache_read, cache_write, cache_write_1h],
            output,
            reasoning,
            max_output,
        )| Call {
            input_uncached,
            audio,
            cache_read,
            cache_write,
            cache_write_1h,
            output,
            reasoning: reasoning.min(output),
            max_output,
            ..Call::default()
        },
    )
}

/// Every row in force, in every tier, with its rates.
fn all_rates() -> Vec<(&'static Entry, Tier, Rates<'static>)> {
    let of = |entry: &'static Entry| {
        Tier::ALL.map(|tier| (entry, tier, catalog().rates(&entry.key, tier, DAY).unwrap()))
    };
    catalog().in_force(DAY).flat_map(of).collect()
}

/// What rates are made ready of: the row's own meter and prices.
fn by_the_row(entry: &Entry, rates: &Rates<'_>, call: &Call) -> Result<(), TestCaseError> {
    let (charged, metered) = (rates.charged(call), entry.meter(call));
    prop_assert_eq!(charged.admission, metered.admission, "{}", entry.key);
    prop_assert_eq!(charged.settlement, metered.settlement, "{}", entry.key);
    if !rates.covered() {
        let usd = charged.list_value.map(|pico| Decimal::from_i128_with_scale(pico, 12).normalize());
        let cost = entry.cost(call, DAY).map(|usd| usd.round_dp(12).normalize());
        prop_assert_eq!(usd, cost, "{}", entry.key);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Protects what a row says of a call, refused ones and rare kinds of token too.
    #[test]
    fn rates_are_the_rows_own(call in any_call(), status in proptest::option::of(prop_oneof![Just(429), 200..600_u16])) {
        for (entry, tier, rates) in all_rates() {
            by_the_row(entry, &rates, &Call { tier, status, ..call })?;
        }
    }

    /// Protects attempts in SQL, which are charged side by side in integers: each call is charged as it is by
    /// itself, among others of any size and whatever stood in its place, and its neighbours are left alone.
    #[test]
    fn calls_side_by_side_are_charged_as_one_by_one(
        each in proptest::collection::vec(plain_call(), 1..=Calls::MOST),
        (from, to) in (any::<Index>(), any::<Index>()),
        rows in proptest::collection::vec(any::<Index>(), 8),
    ) {
        let calls = side_by_side(&each);
        let (from, to) = (from.index(each.len() + 1), to.index(each.len() + 1));
        let which = from.min(to)..from.max(to);
        let all = all_rates();
        let mut charged = ChargedCalls::default();
        for (entry, tier, rates) in rows.iter().map(|row| row.get(&all)) {
            let before = charged.clone();
            rates.charge(&calls, which.clone(), &mut charged);
            for (place, call) in each.iter().enumerate() {
                let alone = if which.contains(&place) { rates.charged(call) } else { before.charged(place) };
                prop_assert_eq!(charged.charged(place), alone, "{} {} {:?}", entry.key, tier, call);
            }
        }
    }
}

/// T10: units that are held have been paid for, so their calls add nothing to the bill; what the tokens would
/// have cost on demand is told beside it, by the price of the same model where it is sold so.
#[test]
fn units_are_paid_for_once() -> Result<(), Box<dyn std::error::Error>> {
    let provider = |product: &str, limit: &str, prices: &str| {
        format!(
            r#"
            edition = "2026-11"
            provider = "acme"
            product = "{product}"
            [source.page]
            title = "Prices"
            read_on = "2026-11-01"
            confidence = "own_page"
            [limits]
            a = [{{ name = "tokens_per_min", counts = "tokens", window_s = 60{limit} }}]
            [meter.a]
            unset_max_output = "zero"
            refused = "counted"
            admission.tokens = {{ input_uncached = 1, max_output = 1 }}
            settlement.tokens = {{ input_uncached = 1, output = 5 }}
            [grants.any]
            [[entry]]
            scopes = ["global"]
            models = ["m"]
            limit_group = "m"
            limits = "a"
            meter = "a"
            grants = "any"
            sources = ["page"]
            {prices}
            "#
        )
    };
    let files = [
        ("provisioned.toml", provider("provisioned", ", from_units = true", "")),
        ("standard.toml", provider("standard", "", r#"prices = [{ input = "3", output = "15" }]"#)),
        ("other.toml", provider("other", "", "")),
    ];
    let catalog = Catalog::load(files)?;
    let call = Call { input_uncached: 1_000_000, output: 100_000, ..Call::default() };
    let money = |product: &str| -> Result<_, Box<dyn std::error::Error>> {
        let rates = catalog.rates(&format!("acme/{product}/global/m").parse()?, Tier::Standard, DAY);
        Ok(rates.map(|rates| (rates.covered(), rates.charged(&call).list_value)))
    };
    let list = Some(4_500_000_000_000);
    assert_eq!(money("standard")?, Some((false, list)));
    assert_eq!(money("provisioned")?, Some((true, list)));
    // Not sold by the unit, and no price of its own: its bill is not known, whatever the list says.
    assert_eq!(money("other")?, Some((false, None)));
    Ok(())
}
