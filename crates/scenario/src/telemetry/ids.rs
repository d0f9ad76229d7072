//! Identifiers: random, of the right length, and never all zero.

use rand::RngExt;

use crate::random::Random;

/// A trace id.
pub(crate) fn trace_id(random: &mut Random) -> [u8; 16] {
    random.random_range(1..=u128::MAX).to_be_bytes()
}

/// A span id.
pub(crate) fn span_id(random: &mut Random) -> [u8; 8] {
    random.random_range(1..=u64::MAX).to_be_bytes()
}

/// A provider's name for one answer, in its usual form.
pub(super) fn response_id(provider: &str, number: u128) -> String {
    match provider {
        "anthropic" => format!("msg_01{number:032x}"),
        "aws.bedrock" => format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            number as u32,
            (number >> 32) as u16,
            (number >> 48) & 0xfff,
            (number >> 60) & 0xfff,
            (number >> 72) & 0xffff_ffff_ffff
        ),
        _ => format!("chatcmpl-{number:032x}"),
    }
}
