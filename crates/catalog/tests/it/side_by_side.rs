//! Calls as columns, for the tests of rates and for their bench.

use plimsoll_catalog::{Call, Calls};

/// The same calls, column by column.
pub(crate) fn side_by_side(each: &[Call]) -> Calls {
    let mut calls = Calls::default();
    for (which, call) in each.iter().enumerate() {
        calls.input_uncached[which] = call.input_uncached;
        calls.audio[which] = call.audio;
        calls.cache_read[which] = call.cache_read;
        calls.cache_write[which] = call.cache_write;
        calls.cache_write_1h[which] = call.cache_write_1h;
        calls.plain_output[which] = call.output - call.reasoning;
        calls.reasoning[which] = call.reasoning;
        calls.max_output[which] = call.max_output.unwrap_or(0);
        calls.unset |= u64::from(call.max_output.is_none()) << which;
    }
    calls
}
