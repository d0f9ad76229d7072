//! Sentences of the planner in the words of a reader.
//!
//! The planner tells its reasons with keys and exact figures, so that they can be looked up; on paper a
//! pool is its model and its place, a limit is named in words, and a figure has no more digits than
//! anybody can use. The invariant: only whole words are changed, and one that is not understood stays.

use jiff::civil::Date;
use rust_decimal::{Decimal, RoundingStrategy};

use crate::{
    format::{day_year, group, usd},
    names,
};

/// What may stand around a word.
const BEFORE: [char; 5] = ['(', '[', '`', '"', '\''];
const AFTER: [char; 10] = ['.', ',', ':', ';', ')', ']', '`', '"', '\'', '?'];

/// A sentence in plain words.
pub(crate) fn sentence(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let core = word.trim_start_matches(BEFORE).trim_end_matches(AFTER);
        let start = word.len() - word.trim_start_matches(BEFORE).len();
        let (before, rest) = word.split_at(start);
        let after = rest.get(core.len()..).unwrap_or_default();
        // "183.00 USD" is one amount.
        if core == "USD"
            && let Some(amount) =
                out.last_mut().filter(|last| last.replace(',', "").parse::<Decimal>().is_ok())
        {
            *amount = format!("{}{after}", usd(&amount.replace(',', "")));
            continue;
        }
        out.push(match plain(core) {
            Some(said) => format!("{}{said}{}", before.replace('`', ""), after.replace('`', "")),
            None => word.to_owned(),
        });
    }
    out.join(" ")
}

/// One word, where there is a plainer one.
fn plain(word: &str) -> Option<String> {
    if names::is_pool(word) {
        return Some(names::pool_in_words(word));
    }
    if let Some(said) = names::limit(word) {
        return Some(said);
    }
    if let (10, Ok(date)) = (word.len(), word.parse::<Date>()) {
        return Some(day_year(date));
    }
    match word {
        "x" => Some("\u{d7}".to_owned()),
        _ => number(word),
    }
}

/// A figure with decimals: whole from a hundred on, else two decimals, or three figures of what is
/// small.
fn number(word: &str) -> Option<String> {
    let digits = word.replace(',', "");
    let (_, decimals) = digits.split_once('.')?;
    if decimals.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let value: Decimal = digits.parse().ok()?;
    let away = RoundingStrategy::MidpointAwayFromZero;
    if value >= Decimal::ONE_HUNDRED {
        let whole: u64 = value.round_dp_with_strategy(0, away).try_into().ok()?;
        return Some(group(whole));
    }
    let short = if value >= Decimal::ONE {
        value.round_dp_with_strategy(2, away)
    } else {
        value.round_sf_with_strategy(3, away).unwrap_or(value)
    };
    Some(short.normalize().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the reader: keys, dates, money and digits as people write them, all else untouched.
    #[test]
    fn keys_and_figures_read_as_people_write_them() {
        for (told, read) in [
            (
                "its fallback anthropic/direct/global/claude-sonnet-4.5 is the pool of a",
                "its fallback claude-sonnet-4.5 (Anthropic direct, global) is the pool of a",
            ),
            (
                "aws.bedrock/runtime/geo/claude-haiku-4.5: tokens_per_min is above",
                "claude-haiku-4.5 (Amazon Bedrock runtime, geo): tokens a minute is above",
            ),
            ("limit in force on 2026-11-30: 1,000,000", "limit in force on 30 Nov 2026: 1,000,000"),
            (
                "P95 floor 1,427,478.6275 x (1 + 0.35) = 1,927,097",
                "P95 floor 1,427,479 \u{d7} (1 + 0.35) = 1,927,097",
            ),
            (
                "40 in flight / 2.997 min (n = 3556) = 13.3468 runs/min",
                "40 in flight / 3 min (n = 3556) = 13.35 runs/min",
            ),
            ("a run draws 0.0581 on average", "a run draws 0.0581 on average"),
            ("183.00 USD a month, against 4050.08 USD.", "$183 a month, against $4,050."),
            ("quota-index.csv, v0.5.1-beta; gpt-5.2 of 4.5", "quota-index.csv, v0.5.1-beta; gpt-5.2 of 4.5"),
            ("read it in sql/plan/draws.sql or a/b/c/d", "read it in sql/plan/draws.sql or a/b/c/d"),
        ] {
            assert_eq!(sentence(told), read);
        }
    }
}
