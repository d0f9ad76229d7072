//! How many spans a sampled one stands for, from its W3C trace state.
//!
//! OpenTelemetry's member `ot` has the rejection threshold `th`: up to 14 hex digits, of which trailing
//! zeros are left out, of 56 bits (OpenTelemetry specification, "TraceState: Probability Sampling").

/// 2^56, the number of thresholds.
const THRESHOLDS: f64 = 72_057_594_037_927_936.0;
const DIGITS: usize = 14;

/// The inverse of the sampling probability; 1 where the trace state says nothing of it.
#[expect(
    clippy::cast_precision_loss,
    reason = "a double has 53 of the 56 bits, far more than a weight needs"
)]
pub(crate) fn weight(trace_state: &[u8]) -> f64 {
    let Some(threshold) = threshold(trace_state) else { return 1.0 };
    THRESHOLDS / (THRESHOLDS - threshold as f64)
}

fn threshold(trace_state: &[u8]) -> Option<u64> {
    let members = std::str::from_utf8(trace_state).ok()?;
    let ot = members.split(',').find_map(|member| member.trim().strip_prefix("ot="))?;
    let digits = ot.split(';').find_map(|field| field.strip_prefix("th:"))?;
    if digits.is_empty() || digits.len() > DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    Some(u64::from_str_radix(digits, 16).ok()? << (4 * (DIGITS - digits.len())))
}

#[cfg(test)]
mod tests {
    use super::weight;

    /// T18: a threshold of c keeps a quarter; what is no threshold counts once.
    #[test]
    fn weights() {
        for (state, wanted) in [
            ("ot=th:c", 4.0),
            ("ot=th:0", 1.0),
            ("rojo=00f0,ot=rv:6e6d1a75832a2f;th:8", 2.0),
            ("", 1.0),
            ("ot=th:", 1.0),
            ("ot=th:xyz", 1.0),
            ("ot=p:2", 1.0),
            ("other=th:c", 1.0),
            ("ot=th:fffffffffffffff", 1.0),
        ] {
            assert_eq!(weight(state.as_bytes()), wanted, "{state}");
        }
    }
}
