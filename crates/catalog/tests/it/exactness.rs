//! No float touches a unit, a token count or a dollar.

use jiff::civil::date;
use plimsoll_catalog::{Call, TokenPrice, Weight};
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::{properties::any_call, shipped::catalog};

/// Protects exactness at its root: the crate's sources name no floating type at all.
#[test]
fn the_sources_name_no_float() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let mut read = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        read += 1;
        for name in ["f32", "f64", "to_f", "from_f", "as_f"] {
            assert!(!text.contains(name), "{} has `{name}`", path.display());
        }
    }
    assert!(read > 20, "only {read} files were read");
}

/// The cost in whole picodollars by integers of 128 bits, a second way to the same figure.
fn picodollars(call: &Call, prices: [u64; 5]) -> u128 {
    let [input, read, write, write_1h, output] = prices;
    let parts = [
        (call.input_uncached, input),
        (call.cache_read, read),
        (call.cache_write, write),
        (call.cache_write_1h, write_1h),
        (call.output, output),
    ];
    // A price of a micro-dollar a million tokens is a picodollar a token.
    parts.into_iter().map(|(tokens, price)| u128::from(tokens) * u128::from(price)).sum()
}

proptest! {
    /// Protects dollars: decimals and integer picodollars agree to the last digit, call by call and in sum,
    /// in whatever order.
    #[test]
    fn dollars_are_exact(
        calls in prop::collection::vec(any_call(), 1..20),
        prices in prop::array::uniform5(1_000..1_000_000_000_u64),
    ) {
        let usd = |micro: u64| Some(Decimal::new(i64::try_from(micro).unwrap(), 6));
        let [input, cache_read, cache_write, cache_write_1h, output] = prices.map(usd);
        let price = TokenPrice { input, cache_read, cache_write, cache_write_1h, output, ..TokenPrice::default() };
        let plain = |call: &Call| Call {
            audio: 0, audio_cache_read: 0, output_audio: 0, output_image: 0, us_only: false, ..*call
        };
        let calls: Vec<Call> = calls.iter().map(plain).collect();
        let sum: Decimal = calls.iter().map(|call| price.cost(call).unwrap()).sum();
        let back: Decimal = calls.iter().rev().map(|call| price.cost(call).unwrap()).sum();
        let pico: u128 = calls.iter().map(|call| picodollars(call, prices)).sum();
        prop_assert_eq!(sum * Decimal::from(1_000_000_000_000_u64), Decimal::from(pico));
        prop_assert_eq!(sum, back);
    }

    /// Protects weights: what is written is what is kept and what is printed, to a millionth.
    #[test]
    fn weights_come_back_as_written(millionths in 10_000..=200_000_000_u64) {
        let text = Decimal::new(i64::try_from(millionths).unwrap(), 6).normalize().to_string();
        let json = serde_json::Value::String(text.clone());
        let weight: Weight = serde_json::from_value(json).unwrap();
        prop_assert_eq!(weight.millionths(), millionths);
        prop_assert_eq!(weight.to_string(), text);
    }

    /// Protects every shipped meter against a sum in whole millionths: rounded once, up, never below the
    /// exact figure and less than one token above it.
    #[test]
    fn draws_are_rounded_once_and_up(call in any_call()) {
        for entry in catalog().entries().filter(|entry| entry.meter.us_only.is_none()) {
            let long = entry.meter.long_context.filter(|long| call.input() > long.above);
            let stage = long.and_then(|long| long.settlement).unwrap_or(entry.meter.settlement);
            let Some(weights) = stage.input_tokens else { continue };
            let plain = call.output - call.reasoning - call.output_audio - call.output_image;
            let exact: u128 = [
                (call.input_uncached, weights.input_uncached),
                (call.audio, weights.audio.unwrap_or(weights.input_uncached)),
                (call.cache_read, weights.cache_read),
                (call.audio_cache_read, weights.audio_cache_read.unwrap_or(weights.cache_read)),
                (call.cache_write, weights.cache_write),
                (call.cache_write_1h, weights.cache_write_1h.unwrap_or(weights.cache_write)),
                (plain, weights.output),
                (call.reasoning, weights.reasoning.unwrap_or(weights.output)),
                (call.output_audio, weights.output_audio.unwrap_or(weights.output)),
                (call.output_image, weights.output_image.unwrap_or(weights.output)),
            ]
            .into_iter()
            .map(|(tokens, weight)| u128::from(tokens) * u128::from(weight.millionths()))
            .sum();
            let drawn = u128::from(entry.meter(&call).settlement.input_tokens) * 1_000_000;
            prop_assert!(drawn >= exact && drawn < exact + 1_000_000, "{}", entry.key);
        }
    }

    /// Protects money of any call on any row: never negative, 0 where refused, null instead of a guess.
    #[test]
    fn a_cost_is_never_negative(call in any_call()) {
        for entry in catalog().entries() {
            let usd = entry.cost(&call, date(2026, 11, 2));
            prop_assert!(usd.is_none_or(|usd| !usd.is_sign_negative()));
            let refused = Call { status: Some(429), ..call };
            let nothing = entry.cost(&refused, date(2026, 11, 2));
            prop_assert!(nothing.is_none_or(|usd| usd.is_zero()));
        }
    }
}
