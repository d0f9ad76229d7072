//! One value as a column's type: tolerant of how it was sent, strict about what it is.
//!
//! A number that can't be taken at its word is an error, never a zero (facts/dialects.md par. 0, fact 10).

use std::borrow::Cow;

use jiff::fmt::rfc2822::DateTimeParser;

use crate::dialect::Unit;
use crate::quality::Quality;
use crate::text;
use crate::wire::{Value, elements};

/// Counts beyond this are taken for garbage: a trillion tokens in one span.
const MAX_COUNT: i64 = 1_000_000_000_000;
/// Times beyond this are taken for garbage: thirty years, in milliseconds.
const MAX_MILLIS: f64 = 1e12;

/// Dates of HTTP headers. Some servers err in the day of the week.
const HTTP_DATE: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);

/// A value without structure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar<'a> {
    Text(Cow<'a, str>),
    Int(i64),
    Float(f64),
    Flag(bool),
}

/// A number that is none, or is out of all reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadNumber;

impl<'a> Scalar<'a> {
    /// The value, or the first element of a list; none for what is empty or has structure.
    #[inline]
    pub(crate) fn of(value: Value<'a>, quality: &mut Quality) -> Option<Self> {
        match value {
            Value::Text([]) | Value::Empty | Value::Map(_) | Value::Bytes(_) => None,
            Value::Text(bytes) => Some(Self::Text(text::utf8(bytes, quality))),
            Value::Int(value) => Some(Self::Int(value)),
            Value::Double(value) => Some(Self::Float(value)),
            Value::Flag(value) => Some(Self::Flag(value)),
            Value::List(bytes) => items(bytes).find_map(|item| match item {
                Value::List(_) => None,
                item => Self::of(item, quality),
            }),
        }
    }

    /// The elements of a list with commas between them; any other value as [`Self::of`] has it.
    pub(crate) fn joined(value: Value<'a>, quality: &mut Quality) -> Option<Self> {
        let Value::List(bytes) = value else {
            return Self::of(value, quality);
        };
        let mut joined = String::new();
        let mut scratch = String::new();
        for item in items(bytes).take(text::MAX_TEXT) {
            if !joined.is_empty() {
                joined.push(',');
            }
            joined.push_str(&text::render(item, &mut scratch, quality));
            if joined.len() > text::MAX_TEXT {
                break;
            }
        }
        (!joined.is_empty()).then_some(Self::Text(joined.into()))
    }

    /// As text that may be stored.
    pub(crate) fn text(self, quality: &mut Quality) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text::column_text(text, quality),
            Self::Int(value) => value.to_string().into(),
            Self::Float(value) => value.to_string().into(),
            Self::Flag(value) => value.to_string().into(),
        }
    }

    /// As text that a person reads.
    pub(crate) fn shown(&self) -> String {
        self.clone().text(&mut Quality::default()).into_owned()
    }

    /// As a count: an integer, an integral double or decimal text of either.
    pub(crate) fn count(&self) -> Result<i64, BadNumber> {
        let count = match self {
            Self::Int(value) => *value,
            Self::Float(value) => integral(*value)?,
            Self::Text(text) => match text.trim().parse() {
                Ok(value) => value,
                Err(_) => integral(number(text)?)?,
            },
            Self::Flag(_) => return Err(BadNumber),
        };
        if (0..=MAX_COUNT).contains(&count) { Ok(count) } else { Err(BadNumber) }
    }

    /// Whether it is the text for "without end", which is no count and no mistake.
    pub(crate) fn is_unlimited(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim_matches('"') == "Infinity")
    }

    /// As milliseconds; `since_unix_nano` is what a date is counted from.
    pub(crate) fn millis(&self, unit: Unit, since_unix_nano: i64) -> Result<f64, BadNumber> {
        let number = match self {
            Self::Text(text) if unit == Unit::Iso => {
                let at: jiff::Timestamp = text.trim_matches('"').parse().map_err(|_| BadNumber)?;
                to_f64(at.as_nanosecond() - i128::from(since_unix_nano))
            }
            Self::Text(text) if unit == Unit::After && number(text).is_err() => {
                let at = HTTP_DATE.parse_timestamp(text.trim()).map_err(|_| BadNumber)?;
                // A date that is past means now.
                to_f64((at.as_nanosecond() - i128::from(since_unix_nano)).max(0)) / 1e9
            }
            Self::Text(text) => number(text)?,
            Self::Int(value) => to_f64(i128::from(*value)),
            Self::Float(value) => *value,
            Self::Flag(_) => return Err(BadNumber),
        };
        let millis = match unit {
            Unit::S | Unit::After => number * 1e3,
            Unit::Ms => number,
            Unit::Us => number / 1e3,
            Unit::Ns | Unit::Iso => number / 1e6,
        };
        if (0.0..=MAX_MILLIS).contains(&millis) { Ok(millis) } else { Err(BadNumber) }
    }

    /// As yes or no; none where it is neither.
    pub(crate) fn flag(&self) -> Option<bool> {
        match self {
            Self::Flag(value) => Some(*value),
            Self::Int(0) => Some(false),
            Self::Int(1) => Some(true),
            Self::Text(text) if text.eq_ignore_ascii_case("true") || text == "1" => Some(true),
            Self::Text(text) if text.eq_ignore_ascii_case("false") || text == "0" => Some(false),
            _ => None,
        }
    }
}

fn items(bytes: &[u8]) -> impl Iterator<Item = Value<'_>> {
    elements(bytes).map_while(Result::ok).filter_map(|element| {
        let mut value = Value::Empty;
        value.read(element).ok().map(|()| value)
    })
}

/// Decimal text as a number; words such as `inf` are none.
fn number(text: &str) -> Result<f64, BadNumber> {
    let text = text.trim();
    let decimal = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    if text.bytes().all(decimal) { text.parse().map_err(|_| BadNumber) } else { Err(BadNumber) }
}

#[expect(clippy::cast_possible_truncation, reason = "the bounds and the fraction are checked first")]
fn integral(value: f64) -> Result<i64, BadNumber> {
    if value.fract() == 0.0 && value.abs() <= to_f64(i128::from(MAX_COUNT)) {
        Ok(value as i64)
    } else {
        Err(BadNumber)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times and bounds lie far below the last exact integer of a double"
)]
fn to_f64(value: i128) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::{BadNumber, Scalar};
    use crate::dialect::Unit;

    /// Counts are taken from every form that clients send them in; what is no count is refused.
    #[test]
    fn counts() {
        let text = |text: &'static str| Scalar::Text(text.into()).count();
        assert_eq!(Scalar::Int(42).count(), Ok(42));
        assert_eq!(Scalar::Float(42.0).count(), Ok(42));
        assert_eq!(text("42"), Ok(42));
        assert_eq!(text(" 42.0 "), Ok(42));
        assert_eq!(text("0"), Ok(0));
        for bad in ["", "NaN", "inf", "-1", "4.5", "12 tokens", "99999999999999999999"] {
            assert_eq!(text(bad), Err(BadNumber), "{bad}");
        }
        for bad in [f64::NAN, f64::INFINITY, -1.0, 0.5, 1e300] {
            assert_eq!(Scalar::Float(bad).count(), Err(BadNumber), "{bad}");
        }
        assert_eq!(Scalar::Int(-1).count(), Err(BadNumber));
        assert_eq!(Scalar::Int(i64::MAX).count(), Err(BadNumber));
        assert_eq!(Scalar::Flag(true).count(), Err(BadNumber));
    }

    /// One duration in each unit is the same number of milliseconds; dates count from the start.
    #[test]
    fn times() {
        let start = 1_700_000_000_000_000_000;
        for (value, unit) in [
            (Scalar::Float(0.75), Unit::S),
            (Scalar::Int(750), Unit::Ms),
            (Scalar::Int(750_000), Unit::Us),
            (Scalar::Text("750000000".into()), Unit::Ns),
            (Scalar::Text("\"2023-11-14T22:13:20.75Z\"".into()), Unit::Iso),
        ] {
            assert_eq!(value.millis(unit, start), Ok(750.0), "{value:?}");
        }
        assert_eq!(Scalar::Float(f64::NAN).millis(Unit::S, start), Err(BadNumber));
        assert_eq!(Scalar::Text("2023-11-14T22:13:19Z".into()).millis(Unit::Iso, start), Err(BadNumber));
    }
}
