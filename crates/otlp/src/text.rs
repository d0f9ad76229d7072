//! Text from bytes that may be anything: valid UTF-8, of bounded length.

use std::borrow::Cow;
use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::quality::{Quality, TRUNCATED, UTF8_REPLACED};
use crate::wire::{Attribute, Value, elements};

/// The most bytes of any text that is stored.
pub(crate) const MAX_TEXT: usize = 1024;
/// Lists and maps within lists and maps beyond this are left out of rendered text.
const MAX_DEPTH: usize = 16;

/// The bytes as text, with U+FFFD for what is not UTF-8.
#[inline]
pub(crate) fn utf8<'a>(bytes: &'a [u8], quality: &mut Quality) -> Cow<'a, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            quality.flag(UTF8_REPLACED);
            // A little more than is stored, so that the cut below stays the same.
            String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MAX_TEXT)]).into_owned().into()
        }
    }
}

/// As much of the text as is stored; never part of a character.
#[inline]
pub(crate) fn cut(text: &str) -> &str {
    if text.len() <= MAX_TEXT { text } else { &text[..text.floor_char_boundary(MAX_TEXT)] }
}

/// The bytes as the text of a column: cut, and flagged where that hurts.
pub(crate) fn column<'a>(bytes: &'a [u8], quality: &mut Quality) -> Cow<'a, str> {
    column_text(utf8(bytes, quality), quality)
}

/// The text as that of a column: cut, and flagged where that hurts.
#[inline]
pub(crate) fn column_text<'a>(text: Cow<'a, str>, quality: &mut Quality) -> Cow<'a, str> {
    if text.len() <= MAX_TEXT {
        return text;
    }
    quality.flag(TRUNCATED);
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(cut(text)),
        Cow::Owned(text) => Cow::Owned(cut(&text).to_owned()),
    }
}

/// Lower-case hex digits of an id.
pub(crate) fn hex<'b>(id: &[u8], buffer: &'b mut [u8; 32]) -> &'b str {
    let digits = 2 * id.len().min(16);
    let text = hex::encode_to_slice(&id[..digits / 2], &mut buffer[..digits]);
    match text {
        Ok(()) => std::str::from_utf8(&buffer[..digits]).unwrap_or_default(),
        Err(_) => "",
    }
}

/// Any value as the text that the map of attributes holds: scalars plainly, bytes as base64, lists and
/// maps as JSON; cut to [`MAX_TEXT`].
pub(crate) fn render<'s>(value: Value<'s>, scratch: &'s mut String, quality: &mut Quality) -> Cow<'s, str> {
    scratch.clear();
    match value {
        Value::Text(bytes) => {
            return match utf8(bytes, quality) {
                Cow::Borrowed(text) => Cow::Borrowed(cut(text)),
                Cow::Owned(text) => Cow::Owned(cut(&text).to_owned()),
            };
        }
        Value::Bytes(bytes) => BASE64_STANDARD.encode_string(&bytes[..bytes.len().min(MAX_TEXT)], scratch),
        // Writing to a string can't fail.
        Value::Int(value) => write!(scratch, "{value}").unwrap_or_default(),
        Value::Double(value) => write!(scratch, "{value:?}").unwrap_or_default(),
        Value::Flag(value) => scratch.push_str(if value { "true" } else { "false" }),
        Value::Empty => {}
        Value::List(_) | Value::Map(_) => json(value, scratch, quality, 0),
    }
    Cow::Borrowed(cut(scratch))
}

/// Appends the value as JSON; stops soon after [`MAX_TEXT`] bytes.
fn json(value: Value<'_>, out: &mut String, quality: &mut Quality, depth: usize) {
    match value {
        Value::List(bytes) => {
            nested(bytes, ('[', ']'), out, depth, |element, out| {
                let mut value = Value::Empty;
                if value.read(element).is_ok() {
                    json(value, out, quality, depth + 1);
                }
            });
        }
        Value::Map(bytes) => {
            nested(bytes, ('{', '}'), out, depth, |element, out| {
                if let Ok(attribute) = Attribute::read(element) {
                    quoted(&utf8(attribute.key, quality), out);
                    out.push(':');
                    json(attribute.value, out, quality, depth + 1);
                }
            });
        }
        Value::Text(bytes) => quoted(&utf8(bytes, quality), out),
        Value::Empty => out.push_str("null"),
        Value::Double(number) if !number.is_finite() => write!(out, "\"{number:?}\"").unwrap_or_default(),
        scalar => {
            let mut scratch = String::new();
            let text = render(scalar, &mut scratch, quality);
            if matches!(scalar, Value::Bytes(_)) { quoted(&text, out) } else { out.push_str(&text) }
        }
    }
}

fn nested(
    bytes: &[u8],
    (open, close): (char, char),
    out: &mut String,
    depth: usize,
    mut each: impl FnMut(&[u8], &mut String),
) {
    out.push(open);
    if depth < MAX_DEPTH {
        for (index, element) in elements(bytes).map_while(Result::ok).enumerate() {
            if out.len() > MAX_TEXT {
                return;
            }
            if index > 0 {
                out.push(',');
            }
            each(element, out);
        }
    }
    out.push(close);
}

fn quoted(text: &str, out: &mut String) {
    // A JSON string of a str can't fail.
    out.push_str(&serde_json::to_string(cut(text)).unwrap_or_default());
}
