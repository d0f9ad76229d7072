//! The templates of all documents: embedded, and each overridable by a text of the same name.
//!
//! One engine, minijinja, for documents and pages. Names that end in `.html` are escaped as HTML,
//! those in `.md` as Markdown; a template never decides that for itself. What is undefined is an
//! error with the template's line, since a misspelt name must not become an empty cell.

use std::{borrow::Cow, collections::BTreeMap};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, escape_formatter,
    syntax::SyntaxConfig, value::Value,
};

use crate::{
    escape, filters,
    format::{self, NONE},
    render::ReportError,
};

/// Name under which templates ask for Markdown escaping.
pub(crate) const MARKDOWN: AutoEscape = AutoEscape::Custom(Cow::Borrowed("markdown"));

/// Templates that come with the program, by name.
const EMBEDDED: [(&str, &str); 4] = [
    ("report.html", include_str!("../templates/report.html")),
    ("report.md", include_str!("../templates/report.md")),
    ("figure.html", include_str!("../templates/figure.html")),
    ("style.css", include_str!("../templates/style.css")),
];

/// What may not be parted at the end of a line, and the same with no-break spaces.
const TIED: [(&str, &str); 3] = [(" %", "\u{a0}%"), (" \u{d7}", "\u{a0}\u{d7}"), ("n = ", "n\u{a0}=\u{a0}")];

/// The embedded templates with a user's own in front of them.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    overrides: BTreeMap<String, String>,
}

impl Templates {
    /// Templates where each of `overrides`, by file name (`report.html`, `style.css`), stands for the
    /// embedded one of that name; other names are there to be included.
    #[must_use]
    pub fn new(overrides: BTreeMap<String, String>) -> Self {
        Self { overrides }
    }

    /// The embedded templates by name, for writing them out as a start for one's own.
    pub fn embedded() -> impl Iterator<Item = (&'static str, &'static str)> {
        EMBEDDED.into_iter()
    }

    /// An environment with all templates and the filters of documents (`group`, `compact`,
    /// `percent`, `usd`, …), to which pages may add their own.
    ///
    /// # Errors
    /// [`ReportError::Template`] where a template does not parse.
    pub fn environment(&self) -> Result<Environment<'static>, ReportError> {
        let mut env = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
        env.set_syntax(syntax);
        env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        env.set_auto_escape_callback(|name| match name.rsplit('.').next() {
            Some("html") => AutoEscape::Html,
            Some("md") => MARKDOWN,
            _ => AutoEscape::None,
        });
        env.set_formatter(format_value);
        filters::register(&mut env);
        for (name, text) in EMBEDDED {
            if !self.overrides.contains_key(name) {
                env.add_template(name, text)?;
            }
        }
        for (name, text) in &self.overrides {
            env.add_template_owned(name.clone(), text.clone())?;
        }
        Ok(env)
    }
}

/// Prints a value: a dash for what is not there, escaped for the document that it stands in.
fn format_value(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_none() {
        return write(out, NONE);
    }
    if value.is_safe() {
        return write(out, &value.to_string());
    }
    if *state.auto_escape() == MARKDOWN && !value.is_undefined() {
        return write(out, &escape::markdown(&value.to_string()));
    }
    if *state.auto_escape() == AutoEscape::Html && !value.is_undefined() {
        // A unit stays on the line of its number, and a month on that of its day.
        let mut text = format::tie_days(&escape::xml(&value.to_string()));
        for (loose, tied) in TIED {
            text = text.replace(loose, tied);
        }
        return write(out, &text);
    }
    escape_formatter(out, state, value)
}

fn write(out: &mut Output<'_>, text: &str) -> Result<(), Error> {
    out.write_str(text)
        .map_err(|e| Error::new(ErrorKind::WriteFailure, "cannot write the document").with_source(e))
}
