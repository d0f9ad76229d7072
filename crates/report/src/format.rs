//! Numbers, durations, money and days as people read them.
//!
//! One rule for each kind, so that a figure looks the same in a table, a chart and a sentence. Three
//! significant figures at most where a number is shortened; a value that is not there is [`NONE`],
//! never 0, and rounding never turns "almost all" into "all" or "a little" into "nothing".

use jiff::civil::Date;
use rust_decimal::{Decimal, RoundingStrategy};

/// What stands where there is nothing.
pub(crate) const NONE: &str = "\u{2013}";

/// A whole number with thousands separators: `1,234,567`.
pub(crate) fn group(value: u64) -> String {
    group_digits(&value.to_string())
}

fn group_digits(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A count shortened to three significant figures: `8,310`, `54k`, `1.36M`.
pub(crate) fn compact(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value < 0.0 {
        return format!("\u{2212}{}", compact(-value));
    }
    if value < 10.0 && (value - value.round()).abs() >= 0.05 {
        return trimmed(value, 1);
    }
    if value < 9_999.5 {
        return group(value.round() as u64);
    }
    let (size, suffix) = match value {
        v if v < 999_500.0 => (1e3, "k"),
        v if v < 999_500_000.0 => (1e6, "M"),
        _ => (1e9, "B"),
    };
    let scaled = value / size;
    let decimals = match scaled {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{}{suffix}", trimmed(scaled, decimals))
}

/// A number with at most so many decimals, trailing zeros left off; a dash for what is no number.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() { trimmed(value, decimals) } else { NONE.to_owned() }
}

/// A number with at most two decimals that never shrinks to nothing: `13.35`, `<0.01`.
pub(crate) fn decimal(value: f64) -> String {
    if value > 0.0 && value < 0.005 { "<0.01".to_owned() } else { fixed(value, 2) }
}

/// A figure of evidence: whole from a hundred on, else with at most four decimals.
pub(crate) fn fixed_or_group(value: f64) -> String {
    if value.is_finite() && value >= 100.0 { group(value.round() as u64) } else { fixed(value, 4) }
}

/// Fixed decimals without trailing zeros.
fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A share of one in per cent: `98.1 %`; above 100 % without decimals.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        v if !v.is_finite() => NONE.to_owned(),
        v if v > 0.0 && v < 0.1 => "<0.1 %".to_owned(),
        v if (99.95..100.0).contains(&v) => ">99.9 %".to_owned(),
        v if v < 99.95 => format!("{} %", trimmed(v, 1)),
        v => format!("{} %", group(v.round() as u64)),
    }
}

/// A share of one in whole per cent, for sentences that say "about".
pub(crate) fn about(share: f64) -> String {
    percent((share * 100.0).round() / 100.0)
}

/// A factor: `1.62 ×`.
pub(crate) fn ratio(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let decimals = if value < 10.0 { 2 } else { 0 };
    format!("{} \u{d7}", trimmed(value, decimals))
}

/// A duration given in milliseconds, in the unit that a person would use: `850 ms`, `3.9 s`,
/// `2.9 min`, `7.5 h`, `3 days`.
pub(crate) fn duration_ms(ms: f64) -> String {
    if !ms.is_finite() || ms < 0.0 {
        return NONE.to_owned();
    }
    let (value, unit) = match ms {
        v if v < 999.5 => return format!("{v:.0} ms"),
        v if v < 59_500.0 => (v / 1e3, "s"),
        v if v < 3_570_000.0 => (v / 6e4, "min"),
        v if v < 172_800_000.0 => (v / 3.6e6, "h"),
        v => (v / 8.64e7, "days"),
    };
    format!("{} {unit}", trimmed(value, if value < 9.95 { 1 } else { 0 }))
}

/// The window of a limit, given in seconds: `60 s`, `a day`; nothing for what has none.
pub(crate) fn window(seconds: f64) -> String {
    match seconds {
        s if s == 0.0 => "at once".to_owned(),
        s if s == 86_400.0 => "a day".to_owned(),
        s if s == 3_600.0 => "an hour".to_owned(),
        s => format!("{} s", fixed(s, 0)),
    }
}

/// A decimal amount of USD: whole dollars from 100 on, cents from a dime on, three significant
/// figures below. Text that is no number is given back as it is, so that nothing is lost.
pub(crate) fn usd(text: &str) -> String {
    match text.parse::<Decimal>() {
        Ok(amount) => usd_decimal(amount),
        Err(_) => text.to_owned(),
    }
}

/// [`usd`] of a parsed amount.
pub(crate) fn usd_decimal(amount: Decimal) -> String {
    let size = amount.abs();
    let sign = if amount.is_sign_negative() && !amount.is_zero() { "\u{2212}" } else { "" };
    let away = RoundingStrategy::MidpointAwayFromZero;
    if size.is_zero() {
        return "$0".to_owned();
    }
    if size >= Decimal::ONE_HUNDRED {
        let whole = size.round_dp_with_strategy(0, away).normalize();
        return format!("{sign}${}", group_digits(&whole.to_string()));
    }
    if size >= Decimal::new(1, 1) {
        return format!("{sign}${:.2}", size.round_dp_with_strategy(2, away));
    }
    let short = size.round_sf_with_strategy(3, away).unwrap_or(size).normalize();
    format!("{sign}${short}")
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn month(date: Date) -> &'static str {
    // A civil date's month is 1 to 12; the fallback is never reached.
    MONTHS.get(usize::from(date.month().unsigned_abs()).wrapping_sub(1)).copied().unwrap_or(NONE)
}

/// A day within about a year, where the year is plain from what stands around it: `9 Nov`.
pub(crate) fn day(date: Date) -> String {
    let name = month(date);
    format!("{} {}", date.day(), name.get(..3).unwrap_or(name))
}

/// A day with its year: `9 Nov 2026`.
pub(crate) fn day_year(date: Date) -> String {
    format!("{} {}", day(date), date.year())
}

/// A day in full: `9 November 2026`.
pub(crate) fn day_long(date: Date) -> String {
    format!("{} {} {}", date.day(), month(date), date.year())
}

/// A month, `2026-11`, as people write it: `Nov 2026`; other text as it is.
pub(crate) fn month_year(text: &str) -> String {
    let first: Result<Date, _> = format!("{text}-01").parse();
    first.map_or_else(|_| text.to_owned(), |d| day_year(d).trim_start_matches("1 ").to_owned())
}

/// Text in which no line ends between a day and its month.
pub(crate) fn tie_days(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_digit = false;
    for (at, c) in text.char_indices() {
        let rest = text.get(at + 1..).filter(|_| c == ' ' && after_digit).unwrap_or_default();
        let month =
            !rest.is_empty() && MONTHS.iter().any(|m| m.get(..3).is_some_and(|m| rest.starts_with(m)));
        out.push(if month { '\u{a0}' } else { c });
        after_digit = c.is_ascii_digit();
    }
    out
}

/// Text with a capital letter at its start.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// A clause as a sentence: a capital letter first, a full stop last.
pub(crate) fn sentence_case(text: &str) -> String {
    let said = capital(text.trim_end());
    if said.is_empty() || said.ends_with(['.', '!', '?']) { said } else { format!("{said}.") }
}

/// `1 request`, `2 requests`: the number with its noun.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", group(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    /// Protects the shape of every count in tables, charts and sentences.
    #[test]
    fn counts() {
        assert_eq!(group(0), "0");
        assert_eq!(group(1_234_567), "1,234,567");
        for (value, text) in [
            (0.0, "0"),
            (3.21, "3.2"),
            (8_310.0, "8,310"),
            (54_000.0, "54k"),
            (118_800.0, "119k"),
            (750_000.0, "750k"),
            (999_600.0, "1M"),
            (1_000_000.0, "1M"),
            (1_358_000.0, "1.36M"),
            (2_500_000.0, "2.5M"),
            (22_361_870.0, "22.4M"),
            (-487_000.0, "\u{2212}487k"),
            (f64::NAN, NONE),
        ] {
            assert_eq!(compact(value), text);
        }
    }

    /// Protects honesty at the ends: a share just under all is not all, just over nothing not 0.
    #[test]
    fn shares() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.0004, "<0.1 %"),
            (0.004, "0.4 %"),
            (0.981, "98.1 %"),
            (0.94, "94 %"),
            (0.9998, ">99.9 %"),
            (1.0, "100 %"),
            (2.112, "211 %"),
        ] {
            assert_eq!(percent(share), text);
        }
        assert_eq!(ratio(1.624), "1.62 \u{d7}");
        assert_eq!(
            (decimal(13.3468), decimal(0.0004), decimal(0.0)),
            ("13.35".to_owned(), "<0.01".to_owned(), "0".to_owned())
        );
    }

    /// Protects units of time: each figure in the unit that a person would say.
    #[test]
    fn durations() {
        for (ms, text) in [
            (850.0, "850 ms"),
            (3_900.0, "3.9 s"),
            (11_200.0, "11 s"),
            (174_000.0, "2.9 min"),
            (27_000_000.0, "7.5 h"),
            (259_200_000.0, "3 days"),
        ] {
            assert_eq!(duration_ms(ms), text);
        }
        assert_eq!([0.0, 60.0, 86_400.0].map(window), ["at once", "60 s", "a day"]);
    }

    /// Protects money: decimal all the way, cents only where they matter, text never lost.
    #[test]
    fn money() {
        for (text, shown) in [
            ("11940.4", "$11,940"),
            ("12.5", "$12.50"),
            ("0.4", "$0.40"),
            ("0.013149", "$0.0131"),
            ("-2590", "\u{2212}$2,590"),
            ("0", "$0"),
            ("on request", "on request"),
        ] {
            assert_eq!(usd(text), shown);
        }
    }

    /// Protects dates: the same day in its three lengths.
    #[test]
    fn days() {
        let d = date(2026, 11, 9);
        assert_eq!(day(d), "9 Nov");
        assert_eq!(day_year(d), "9 Nov 2026");
        assert_eq!(day_long(d), "9 November 2026");
        assert_eq!([month_year("2026-11"), month_year("x")], ["Nov 2026", "x"]);
        assert_eq!(tie_days("by 9 Nov, 3 May and 4 men"), "by 9\u{a0}Nov, 3\u{a0}May and 4 men");
    }

    proptest! {
        /// Protects digits: grouping only adds separators.
        #[test]
        fn grouping_keeps_the_number(value: u64) {
            prop_assert_eq!(group(value).replace(',', ""), value.to_string());
        }

        /// Protects three significant figures: a shortened count is within half a per cent.
        #[test]
        fn compact_is_close(value in 10_000.0_f64..1e12) {
            let text = compact(value);
            let (digits, size) = match text.chars().last() {
                Some('k') => (text.trim_end_matches('k'), 1e3),
                Some('M') => (text.trim_end_matches('M'), 1e6),
                _ => (text.trim_end_matches('B'), 1e9),
            };
            let back = digits.replace(',', "").parse::<f64>().map_err(|e| TestCaseError::fail(e.to_string()))? * size;
            prop_assert!((back / value - 1.0).abs() <= 0.006, "{} for {}", text, value);
        }
    }
}
