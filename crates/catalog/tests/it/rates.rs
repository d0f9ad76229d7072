//! Rates that are made ready are the rows' own arithmetic.

use jiff::civil::{Date, date};
use plimsoll_catalog::{Call, Catalog, Tier};
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::{properties::any_call, shipped::catalog};

const DAY: Date = date(2026, 11, 30);

/// Calls as they mostly are: small enough for sums of 64 bits, some refused, some long, without the rare
/// kinds that are summed elsewhere.
fn usual_call() -> impl Strategy<Value = Call> {
    let tokens = || prop_oneof![Just(0), 0..400_000_u64];
    let status = prop_oneof![Just(None), Just(Some(200)), Just(Some(429)), Just(Some(500))];
    ([tokens(), tokens(), tokens(), tokens(), tokens(), tokens()], proptest::option::of(tokens()), status)
        .prop_map(
            |(
                [input_uncached, audio, cache_read, cache_write, cache_write_1h, output],
                max_output,
                status,
            )| Call {
                input_uncached,
                audio,
                cache_read,
                cache_write,
                cache_write_1h,
                output,
                reasoning: output / 3,
                max_output,
                status,
                ..Call::default()
            },
        )
}

/// Asks every row, in every tier, for one call in both ways.
fn agree(catalog: &Catalog, call: Call) -> Result<(), TestCaseError> {
    for entry in catalog.in_force(DAY) {
        for tier in Tier::ALL {
            let call = Call { tier, ..call };
            let rates = catalog.rates(&entry.key, tier, DAY);
            let rates = rates.ok_or_else(|| TestCaseError::fail(format!("{} has no rates", entry.key)))?;
            let charged = rates.charged(&call);
            let metered = entry.meter(&call);
            prop_assert_eq!(charged.admission, metered.admission, "{}", entry.key);
            prop_assert_eq!(charged.settlement, metered.settlement, "{}", entry.key);
            if !rates.covered() {
                let usd = charged.list_value.map(|pico| Decimal::from_i128_with_scale(pico, 12).normalize());
                prop_assert_eq!(
                    usd,
                    entry.cost(&call, DAY).map(|usd| usd.round_dp(12).normalize()),
                    "{}",
                    entry.key
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For usual calls, which are summed in 64 bits, and for any others, which are not.
    #[test]
    fn rates_are_the_rows_own(usual in usual_call(), any in any_call()) {
        let catalog = catalog();
        agree(catalog, usual)?;
        agree(catalog, any)?;
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
