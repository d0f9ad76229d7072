//! Content lines: bytes to a tree of components and properties.
//!
//! It leaves meaning to the others. Invariants: each property knows the line on which it begins; folded
//! lines are joined before characters are decoded, since folding counts octets and may split one.

use plimsoll_toml::Fault;

/// `BEGIN:NAME` to `END:NAME`.
#[derive(Debug, Default)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) properties: Vec<Property>,
    pub(crate) children: Vec<Component>,
}

/// `NAME;PARAMETER=value:value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Property {
    pub(crate) line: usize,
    pub(crate) name: String,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) value: String,
}

impl Component {
    /// The first property of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// All properties of that name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Property> {
        self.properties.iter().filter(move |property| property.name == name)
    }
}

impl Property {
    /// Reads one unfolded line; `None` where it has no colon.
    pub(crate) fn read(line: usize, text: &str) -> Option<Self> {
        let end = text.find([';', ':'])?;
        let (name, mut rest) = text.split_at(end);
        let mut parameters = Vec::new();
        while let Some(after) = rest.strip_prefix(';') {
            let (key, after) = after.split_once('=')?;
            let (value, after) = parameter_value(after)?;
            parameters.push((key.trim().to_ascii_uppercase(), value.to_owned()));
            rest = after;
        }
        let value = rest.strip_prefix(':')?.to_owned();
        Some(Self { line, name: name.trim().to_ascii_uppercase(), parameters, value })
    }

    /// The value of a parameter.
    pub(crate) fn parameter(&self, key: &str) -> Option<&str> {
        self.parameters.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The value as text, its escapes undone.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(self.value.len());
        let mut characters = self.value.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some('n' | 'N') | None => text.push(' '),
                    Some(escaped) => text.push(escaped),
                },
                plain => text.push(plain),
            }
        }
        text
    }
}

/// A parameter's value, quoted or not, and what follows it. Outlook writes zone names with a colon and
/// without quotes: `TZID=(UTC+01:00) Amsterdam:2026...`.
fn parameter_value(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"');
    }
    let bracket = if text.starts_with('(') { text.find(')').unwrap_or(0) } else { 0 };
    let end = bracket + text.get(bracket..)?.find([';', ':'])?;
    text.split_at_checked(end)
}

/// The calendars of a file.
pub(crate) fn read(file: &str, bytes: &[u8]) -> Result<Vec<Component>, Fault> {
    let mut open: Vec<Component> = Vec::new();
    let mut done = Vec::new();
    for (line, text) in unfold(bytes) {
        let text = String::from_utf8_lossy(&text);
        let fault = |message: String| Err(at(file, line, message));
        if text.trim().is_empty() {
            continue;
        }
        let Some(property) = Property::read(line, &text) else {
            return match open.is_empty() && done.is_empty() {
                true => fault("is no iCalendar file: it must begin with BEGIN:VCALENDAR".to_owned()),
                false => fault(format!("`{}` is no content line; write NAME:VALUE", shortened(&text))),
            };
        };
        match property.name.as_str() {
            "BEGIN" => {
                let name = property.value.trim().to_ascii_uppercase();
                if open.is_empty() && name != "VCALENDAR" {
                    return fault("is no iCalendar file: it must begin with BEGIN:VCALENDAR".to_owned());
                }
                open.push(Component { name, line, ..Component::default() });
            }
            "END" => {
                let name = property.value.trim().to_ascii_uppercase();
                match open.pop() {
                    Some(component) if component.name == name => match open.last_mut() {
                        Some(parent) => parent.children.push(component),
                        None => done.push(component),
                    },
                    Some(component) => {
                        return fault(format!(
                            "END:{name} where {} of line {} is open; the file is damaged",
                            component.name, component.line
                        ));
                    }
                    None => return fault(format!("END:{name} without its BEGIN; the file is damaged")),
                }
            }
            _ => match open.last_mut() {
                Some(component) => component.properties.push(property),
                None => {
                    return fault("is no iCalendar file: it must begin with BEGIN:VCALENDAR".to_owned());
                }
            },
        }
    }
    if let Some(component) = open.last() {
        let message =
            format!("{} is not closed; the file ends in the middle, fetch it again", component.name);
        return Err(at(file, component.line, message));
    }
    match done.is_empty() {
        true => Err(Fault::new(file, "is empty: it holds no BEGIN:VCALENDAR")),
        false => Ok(done),
    }
}

/// A mistake on a line.
pub(crate) fn at(file: &str, line: usize, message: impl Into<String>) -> Fault {
    Fault { line: Some(line), ..Fault::new(file, message) }
}

/// Lines from 1, with those that begin with a space or a tab joined to the line before.
fn unfold(bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines: Vec<(usize, Vec<u8>)> = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match (line.first(), lines.last_mut()) {
            (Some(b' ' | b'\t'), Some((_, before))) => {
                before.extend_from_slice(line.get(1..).unwrap_or_default())
            }
            _ => lines.push((number, line.to_vec())),
        }
    }
    lines
}

/// As much of a text as a message can bear.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
