//! What holds for any call and any demand.

use num_rational::Ratio;
use plimsoll_catalog::Call;
use proptest::prelude::*;

use crate::shipped::{catalog, entry};

/// Any call of the standard tier that can have happened, but for its status.
pub(crate) fn any_call() -> impl Strategy<Value = Call> {
    let tokens = || 0..10_000_000_u64;
    (
        [tokens(), tokens(), tokens(), tokens(), tokens()],
        [tokens(), tokens(), tokens(), tokens(), tokens()],
        proptest::option::of(tokens()),
        any::<bool>(),
    )
        .prop_map(
            |(input, [output, reasoning, output_audio, output_image, audio_cache_read], max, us_only)| {
                let [input_uncached, audio, cache_read, cache_write, cache_write_1h] = input;
                let reasoning = reasoning.min(output);
                let output_audio = output_audio.min(output - reasoning);
                let output_image = output_image.min(output - reasoning - output_audio);
                Call {
                    input_uncached,
                    audio,
                    cache_read,
                    audio_cache_read,
                    cache_write,
                    cache_write_1h,
                    output,
                    reasoning,
                    output_audio,
                    output_image,
                    max_output: max.map(|max| max.max(output)),
                    us_only,
                    ..Call::default()
                }
            },
        )
}

fn plus(left: Call, right: Call) -> Call {
    Call {
        input_uncached: left.input_uncached + right.input_uncached,
        audio: left.audio + right.audio,
        cache_read: left.cache_read + right.cache_read,
        audio_cache_read: left.audio_cache_read + right.audio_cache_read,
        cache_write: left.cache_write + right.cache_write,
        cache_write_1h: left.cache_write_1h + right.cache_write_1h,
        output: left.output + right.output,
        reasoning: left.reasoning + right.reasoning,
        output_audio: left.output_audio + right.output_audio,
        output_image: left.output_image + right.output_image,
        max_output: left.max_output.zip(right.max_output).map(|(left, right)| left + right),
        us_only: left.us_only,
        ..Call::default()
    }
}

proptest! {
    /// Protects the sums that a plan divides: with whole weights, calls metered one by one and
    /// together settle at the same, so no order of addition shows.
    #[test]
    fn settlement_is_additive(left in any_call(), right in any_call()) {
        for key in ["aws.bedrock/runtime/geo/claude-haiku-4.5", "anthropic/direct/global/claude-sonnet-4.5"] {
            let entry = entry(key);
            let (one, two) = (entry.meter(&left).settlement, entry.meter(&right).settlement);
            let both = entry.meter(&plus(left, right)).settlement;
            prop_assert_eq!(both.tokens, one.tokens + two.tokens);
            prop_assert_eq!(both.input_tokens, one.input_tokens + two.input_tokens);
            prop_assert_eq!(both.output_tokens, one.output_tokens + two.output_tokens);
        }
    }

    /// Protects the limits: more tokens never draw less, and what is released was admitted.
    #[test]
    fn metering_is_monotone(call in any_call(), more in any_call()) {
        for entry in catalog().entries() {
            let (small, large) = (entry.meter(&call), entry.meter(&plus(call, more)));
            prop_assert!(large.settlement.tokens >= small.settlement.tokens);
            prop_assert!(large.settlement.input_tokens >= small.settlement.input_tokens);
            prop_assert!(small.released.tokens <= small.admission.tokens);
            prop_assert_eq!(small.settlement.requests, 1);
        }
    }

    /// Protects what is bought: enough, on the grid, never below the minimum, and one step less would
    /// not be enough.
    #[test]
    fn units_are_enough_and_no_more(demand in 0..10_000_000_000_u64, percent in 0..200_u128) {
        let entry = entry("azure.ai.openai/provisioned/datazone/gpt-5.2");
        let unit = entry.units.first();
        let units = unit.and_then(|unit| unit.units_for(u128::from(demand), Ratio::new(percent, 100)));
        let (Some(unit), Some(units)) = (unit, units) else {
            return Err(TestCaseError::fail("no units"));
        };
        let serves = |units: u64| u128::from(unit.capacity(units)) * 100;
        let needed = u128::from(demand) * (100 + percent);
        prop_assert!(serves(units) >= needed);
        prop_assert!(units >= unit.min && units.is_multiple_of(unit.increment));
        prop_assert!(units == unit.min || serves(units - unit.increment) < needed);
    }

    /// Protects requests: a grant is never below the need and never rounded twice.
    #[test]
    fn grants_cover_the_need(need in 0..20_000_000_u64) {
        for entry in catalog().entries() {
            for dimension in &entry.dimensions {
                let grant = entry.grants.cover(&dimension.name, need);
                prop_assert!(grant.limit >= need);
                prop_assert_eq!(entry.grants.cover(&dimension.name, grant.limit).limit, grant.limit);
            }
        }
    }
}
