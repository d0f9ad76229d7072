//! From text to type.
//!
//! Types say `#[serde(deny_unknown_fields)]`; what serde answers to an unknown key or value is then
//! turned into a suggestion here, so that no list of keys is kept twice.

use serde::de::DeserializeOwned;

use crate::{Fault, meant};

/// Reads `text` as a `T`; `file` is only how messages call it.
///
/// # Errors
/// A [`Fault`] with line and field where the text is no TOML, or no `T`.
pub fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Fault> {
    toml::from_str(text).map_err(|error| fault(file, text, error, ""))
}

/// What the parser says, as a fault in the part of the text that `part` names.
pub(crate) fn fault(file: &str, text: &str, mut error: toml::de::Error, part: &str) -> Fault {
    let mut fault = Fault::new(file, with_suggestion(error.message()));
    if let Some(span) = error.span() {
        fault = fault.at(text, &span);
    }
    // Without its input the error prints the path of the field as its last line.
    error.set_input(None);
    let within = error.to_string().lines().last().and_then(path_line);
    match (part, within) {
        ("", None) => fault,
        ("", Some(path)) => fault.field(path),
        (part, None) => fault.field(part),
        (part, Some(path)) => fault.field(format!("{part}.{path}")),
    }
}

/// `in `a.b`` -> `a.b`
fn path_line(line: &str) -> Option<String> {
    let path = line.strip_prefix("in `")?.strip_suffix('`')?;
    Some(path.to_owned())
}

/// serde's "unknown field `x`, expected one of `a`, `b`", with what was probably meant.
fn with_suggestion(message: &str) -> String {
    let message = message.replace('\n', ", ");
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((word, known)) if message.starts_with("unknown ") => {
            format!("{message}{}", meant(word, known.iter().copied()))
        }
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::read;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read into")]
    struct Row {
        name: String,
        window_s: u32,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read into")]
    struct File {
        row: Vec<Row>,
    }

    /// Protects the promise that an unknown key is refused with its place and a suggestion.
    #[test]
    fn an_unknown_key_is_placed_and_explained() {
        let text = "[[row]]\nname = \"a\"\nwindows_s = 60\n";
        let said = read::<File>("p.toml", text).unwrap_err().to_string();
        assert!(said.starts_with("p.toml:3: row"), "{said}");
        assert!(said.ends_with("did you mean `window_s`?"), "{said}");
    }

    /// Protects the same for a value of the wrong type and for text that is no TOML.
    #[test]
    fn a_wrong_value_and_a_broken_text_are_placed() {
        let said = read::<File>("p.toml", "[[row]]\nname = 1\nwindow_s = 1\n").unwrap_err();
        assert_eq!((said.line, said.field.as_deref()), (Some(2), Some("row.name")), "{said}");
        let said = read::<File>("p.toml", "[[row]]\nname = \n").unwrap_err();
        assert_eq!(said.line, Some(2), "{said}");
    }
}
