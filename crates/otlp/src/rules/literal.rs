//! One value in text that is JSON or what Python prints of a value (`{'a': 1, 'b': None}`, `Usage(a=1)`).
//!
//! Attributes are often such text, and often cut short by the sender; what stands before the cut is
//! read. The text is scanned once from the start and no further than the value. Invariant: no
//! recursion, no matter how deep the text nests, and a value that the cut goes through is none.

use std::borrow::Cow;

use super::scalar::Scalar;
use crate::quality::Quality;
use crate::text;
use crate::wire::{Attribute, Value, elements};

/// Text beyond this isn't scanned for a column: it counts as cut here.
const MAX_SCAN: usize = 64 * 1024;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found<'a> {
    Value(Scalar<'a>),
    Nothing,
    /// The text ends before the value does.
    Cut,
}

impl<'a> From<Option<Scalar<'a>>> for Found<'a> {
    fn from(value: Option<Scalar<'a>>) -> Self {
        value.map_or(Self::Nothing, Self::Value)
    }
}

/// What stands at `path` in a value that is a map or such text; of a list its first element.
pub(super) fn find<'a>(mut value: Value<'a>, path: &[String], quality: &mut Quality) -> Found<'a> {
    for (depth, key) in path.iter().enumerate() {
        value = match value {
            Value::Text(text) => return in_text(text, &path[depth..], quality),
            Value::Map(bytes) => match member(bytes, key.as_bytes()) {
                Some(member) => member,
                None => return Found::Nothing,
            },
            _ => return Found::Nothing,
        };
    }
    match value {
        Value::Text(text) if path.is_empty() => in_text(text, path, quality),
        value => Scalar::of(value, quality).into(),
    }
}

fn member<'a>(map: &'a [u8], key: &[u8]) -> Option<Value<'a>> {
    let pairs = elements(map).map_while(Result::ok).filter_map(|pair| Attribute::read(pair).ok());
    pairs.into_iter().find(|pair| pair.key == key).map(|pair| pair.value)
}

fn in_text<'a>(text: &'a [u8], path: &[String], quality: &mut Quality) -> Found<'a> {
    let whole = text.len() <= MAX_SCAN;
    let mut scanner = Scanner { text: &text[..text.len().min(MAX_SCAN)], at: 0 };
    // Containers that are open, and how many of them led here along the path.
    let (mut depth, mut home) = (0_usize, 0_usize);
    // Keys of the path that are found, and whether the value of the last is what comes next.
    let (mut keys, mut next) = (0, true);
    while let Some(token) = scanner.token() {
        match token {
            Token::Open(bracket) => {
                depth += 1;
                if next && keys == path.len() {
                    return if bracket == b'[' { scanner.first(quality) } else { Found::Nothing };
                }
                if next {
                    // A path goes on in a list's first element.
                    (home, next) = (depth, bracket == b'[');
                }
            }
            Token::Close if depth <= home => return Found::Nothing,
            Token::Close => depth -= 1,
            Token::Comma if next => return Found::Nothing,
            Token::Comma | Token::Colon => {}
            // What Python prints of an object: its class, then its members in brackets.
            Token::Word(_) if scanner.peek() == Some(b'(') => {}
            scalar if next => {
                return if keys < path.len() {
                    Found::Nothing
                } else if scanner.at_end() && (depth > 0 || !whole) && !matches!(scalar, Token::Text { .. }) {
                    Found::Cut
                } else {
                    scalar.value(quality).into()
                };
            }
            key if depth == home
                && matches!(scanner.peek(), Some(b':' | b'='))
                && path.get(keys).is_some_and(|wanted| key.is(wanted)) =>
            {
                (keys, next) = (keys + 1, true);
            }
            _ => {}
        }
    }
    if scanner.text.trim_ascii().is_empty() { Found::Nothing } else { Found::Cut }
}

/// A token of JSON or Python.
#[derive(Debug, Clone, Copy)]
enum Token<'a> {
    Open(u8),
    Close,
    Comma,
    /// A colon or an equals sign.
    Colon,
    /// What stands between quotes, and these; whether a backslash is in it.
    Text {
        quoted: &'a [u8],
        escaped: bool,
    },
    /// A number, a name or a word such as `null`.
    Word(&'a [u8]),
}

impl<'a> Token<'a> {
    fn is(self, key: &str) -> bool {
        match self {
            Self::Text { quoted, escaped: false } => inner(quoted) == key.as_bytes(),
            Self::Text { .. } => self.text(&mut Quality::default()).is_some_and(|text| text == key),
            Self::Word(word) => word == key.as_bytes(),
            _ => false,
        }
    }

    fn text(self, quality: &mut Quality) -> Option<Cow<'a, str>> {
        match self {
            Self::Text { quoted, escaped: false } => Some(text::utf8(inner(quoted), quality)),
            Self::Text { quoted, escaped: true } => Some(match serde_json::from_slice::<String>(quoted) {
                Ok(text) => text.into(),
                Err(_) => unescaped(&text::utf8(inner(quoted), quality)).into(),
            }),
            _ => None,
        }
    }

    /// The token as a value; none for what says nothing.
    fn value(self, quality: &mut Quality) -> Option<Scalar<'a>> {
        match self {
            Self::Text { .. } => self.text(quality).filter(|text| !text.is_empty()).map(Scalar::Text),
            Self::Word(b"true" | b"True") => Some(Scalar::Flag(true)),
            Self::Word(b"false" | b"False") => Some(Scalar::Flag(false)),
            // No numbers, which is not the same as no value.
            Self::Word(b"NaN" | b"nan" | b"inf" | b"-inf" | b"Infinity" | b"-Infinity") => {
                Some(Scalar::Float(f64::NAN))
            }
            Self::Word(word) if word.iter().any(u8::is_ascii_digit) => {
                let word = std::str::from_utf8(word).ok()?;
                word.parse().map(Scalar::Int).or_else(|_| word.parse().map(Scalar::Float)).ok()
            }
            _ => None,
        }
    }
}

/// What stands between two quotes.
fn inner(quoted: &[u8]) -> &[u8] {
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()
}

/// Python's text without its backslashes, as far as names need it.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        out.extend(if char == '\\' { chars.next() } else { Some(char) });
    }
    out
}

/// Goes over the text token by token.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// The next token; none at the end, or where a text between quotes doesn't end.
    fn token(&mut self) -> Option<Token<'a>> {
        let start = self.at + self.text[self.at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        let first = self.text[start];
        self.at = start + 1;
        Some(match first {
            b'{' | b'[' | b'(' => Token::Open(first),
            b'}' | b']' | b')' => Token::Close,
            b',' => Token::Comma,
            b':' | b'=' => Token::Colon,
            b'"' | b'\'' => {
                let mut escaped = false;
                loop {
                    match *self.text.get(self.at)? {
                        b'\\' => {
                            escaped = true;
                            self.at += 1;
                        }
                        byte if byte == first => break,
                        _ => {}
                    }
                    self.at += 1;
                }
                self.at += 1;
                Token::Text { quoted: &self.text[start..self.at], escaped }
            }
            _ => {
                let rest = self.text[self.at..].iter();
                self.at += rest.take_while(|byte| is_of_word(**byte)).count();
                Token::Word(&self.text[start..self.at])
            }
        })
    }

    /// The first byte of the next token.
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at..)?.iter().copied().find(|byte| !byte.is_ascii_whitespace())
    }

    fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The first element of a list whose bracket was just passed.
    fn first(&mut self, quality: &mut Quality) -> Found<'a> {
        match self.token() {
            None => Found::Cut,
            Some(Token::Word(_)) if self.at_end() => Found::Cut,
            Some(token) => token.value(quality).into(),
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    !byte.is_ascii_whitespace()
        && !matches!(byte, b'{' | b'}' | b'[' | b']' | b'(' | b')' | b',' | b':' | b'=' | b'"' | b'\'')
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;

    use super::{Found, MAX_SCAN, find};
    use crate::quality::Quality;
    use crate::rules::Scalar;
    use crate::wire::Value;

    fn at<'a>(text: &'a str, path: &str) -> Found<'a> {
        let path: Vec<String> = path.split('/').filter(|key| !key.is_empty()).map(str::to_owned).collect();
        find(Value::Text(text.as_bytes()), &path, &mut Quality::default())
    }

    fn int(value: i64) -> Found<'static> {
        Found::Value(Scalar::Int(value))
    }

    fn text(value: &str) -> Found<'_> {
        Found::Value(Scalar::Text(value.into()))
    }

    /// JSON, a Python dict and the repr of a Python object say the same.
    #[test]
    fn three_notations() {
        for usage in [
            r#"{"prompt_tokens": 2113, "x": null, "y": true, "name": "a \"b\"", "details": {"cached_tokens": 7}}"#,
            r"{'prompt_tokens': 2113, 'x': None, 'y': True, 'name': 'a \'b\'', 'details': {'cached_tokens': 7}}",
            "Usage(prompt_tokens=2113, x=None, y=True, name='a \"b', details=Details(cached_tokens=7))",
            "Usage(other=<Why.STOP: 'stop'>, at=datetime.datetime(2024, 1, 2), prompt_tokens=2113, y=True,\n details=Details(audio=[1, 2], cached_tokens=7))",
        ] {
            assert_eq!(at(usage, "prompt_tokens"), int(2113), "{usage}");
            assert_eq!(at(usage, "details/cached_tokens"), int(7), "{usage}");
            assert_eq!(at(usage, "y"), Found::Value(Scalar::Flag(true)), "{usage}");
            for missing in ["x", "z", "cached_tokens", "details", "prompt_tokens/a", "details/x", ""] {
                assert_eq!(at(usage, missing), Found::Nothing, "{missing} in {usage}");
            }
        }
        assert_eq!(at(r#"{"n":"a \"b\" \u00e9"}"#, "n"), text("a \"b\" \u{e9}"));
        assert_eq!(at(r"{'n': 'it\'s'}", "n"), text("it's"));
    }

    /// A text that is one scalar is that scalar, and a list is its first element.
    #[test]
    fn scalars_and_lists() {
        assert_eq!(at("\"LLM\"", ""), text("LLM"));
        assert_eq!(at(" 12 ", ""), int(12));
        assert_eq!(at("[\"stop\", \"length\"]", ""), text("stop"));
        assert_eq!(at(r#"{"a": [3, 4]}"#, "a"), int(3));
        for nothing in ["", "  ", "null", "None", "{}", "[]", "[{}]", "plain text, no JSON", "it's"] {
            assert_eq!(at(nothing, ""), Found::Nothing, "{nothing}");
            assert_eq!(at(nothing, "a"), Found::Nothing, "{nothing}");
        }
        assert_eq!(at(r#"{"a": , "b": 5}"#, "a"), Found::Nothing);
        assert_eq!(at(r#"[{"a": 5}, {"a": 6, "b": 7}]"#, "a"), int(5));
        assert_eq!(at(r#"[{"a": 5}, {"a": 6, "b": 7}]"#, "b"), Found::Nothing);
        assert_eq!(at(r#"{"c": [[{"a": 5}]]}"#, "c/a"), int(5));
        assert_eq!(at(r#"[3, {"a": 5}]"#, "a"), Found::Nothing);
        assert_eq!(at(r#"{"b": {"a": 5}, "c": "a"}"#, "a"), Found::Nothing);
    }

    /// Of a text that is cut anywhere, a value is what it was or is past the cut; no digit is lost.
    #[test]
    fn cut_short() {
        let whole = r#"{"input": 2113, "who": "me", "details": {"cached": 70}, "output": 12}"#;
        for end in 0..whole.len() {
            let cut = &whole[..end];
            for (path, value) in
                [("input", int(2113)), ("who", text("me")), ("details/cached", int(70)), ("output", int(12))]
            {
                let found = at(cut, path);
                let past = if end == 0 { Found::Nothing } else { Found::Cut };
                assert!(found == value || found == past, "{path} in {cut}: {found:?}");
            }
        }
        assert_eq!(at(r#"{"input": 2113, "out"#, "input"), int(2113));
        assert_eq!(at(r#"{"input": 21"#, "input"), Found::Cut);
    }

    /// What is no count is told apart from what is not there.
    #[test]
    fn odd_numbers() {
        let count = |text: &'static str| match at(text, "a") {
            Found::Value(value) => Some(value.count().ok()),
            _ => None,
        };
        for (text, wanted) in [
            ("{'a': 7}", Some(Some(7))),
            ("{'a': 7.0}", Some(Some(7))),
            ("{'a': '7'}", Some(Some(7))),
            ("{'a': nan}", Some(None)),
            (r#"{"a": NaN}"#, Some(None)),
            ("{'a': -7}", Some(None)),
            (r#"{"a": 9223372036854775808}"#, Some(None)),
            (r#"{"a": 0.5}"#, Some(None)),
            ("{'a': None}", None),
            ("{'a': gpt}", None),
        ] {
            assert_eq!(count(text), wanted, "{text}");
        }
    }

    /// Depth costs neither stack nor time, and no more than the bound is scanned.
    #[test]
    fn deep_and_long() {
        let began = Instant::now();
        assert_eq!(at(&"[".repeat(1 << 20), "a"), Found::Cut);
        assert_eq!(at(&"{\"a\":".repeat(1 << 20), "b"), Found::Cut);
        assert_eq!(at(&"Usage(".repeat(1 << 20), "b"), Found::Cut);
        let long = format!("{{\"x\": \"{}\", \"a\": 5}}", "y".repeat(MAX_SCAN));
        assert_eq!(at(&long, "a"), Found::Cut);
        assert!(began.elapsed().as_secs() < 5);
    }

    proptest! {
        /// Whatever the text, the scan ends; of JSON it finds what a JSON parser finds.
        #[test]
        fn any_text(text in "[\\[\\](){}:=,'\"\\\\a0 ]{0,40}", value in 0_i64..1_000_000, other in ".{0,10}") {
            let _ = at(&text, "a");
            let _ = at(&text, "");
            let json = serde_json::json!({ "other": other, "b": { "a": 1 }, "a": value }).to_string();
            prop_assert_eq!(at(&json, "a"), int(value));
        }
    }
}
