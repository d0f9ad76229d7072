//! Where a value stands in a TOML text: told to people by name, found in the text by position.
//!
//! A check knows that `headroom` is wrong, not where it was written; this finds the line. The invariant:
//! a place that the text does not hold is found at the nearest table around it, never elsewhere.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

use crate::SpecError;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    told: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Place {
    /// A key at the top of the file.
    pub(crate) fn top(key: &str) -> Self {
        Self { told: key.to_owned(), steps: vec![Step::Key(key.to_owned())] }
    }

    /// An entry of an array of tables, told by its name.
    pub(crate) fn entry(list: &str, index: usize, name: &str) -> Self {
        Self { told: format!("{list} `{name}`"), steps: vec![Step::Key(list.to_owned()), Step::Index(index)] }
    }

    /// A key below.
    pub(crate) fn key(&self, key: &str) -> Self {
        let mut below = self.clone();
        below.told += &format!(".{key}");
        below.steps.push(Step::Key(key.to_owned()));
        below
    }

    /// An item of the list here.
    pub(crate) fn item(&self, index: usize) -> Self {
        let mut below = self.clone();
        below.steps.push(Step::Index(index));
        below
    }

    /// The refusal of what stands here in `text`, with its line.
    pub(crate) fn refuse(&self, file: &str, text: &str, problem: impl Into<String>) -> SpecError {
        let fault = SpecError::new(file, problem).field(&self.told);
        match self.span(text) {
            Some(span) => fault.at(text, &span),
            None => fault,
        }
    }

    fn span(&self, text: &str) -> Option<Range<usize>> {
        let document = Document::parse(text).ok()?;
        in_table(document.as_table(), &self.steps)
    }
}

/// The lines of the first `count` entries of an array of tables, from 1; 0 where the text does not hold one.
pub(crate) fn lines(list: &str, count: usize, text: &str) -> Vec<usize> {
    let document = Document::parse(text).ok();
    let line = |index| {
        let steps = [Step::Key(list.to_owned()), Step::Index(index)];
        let span = in_table(document.as_ref()?.as_table(), &steps)?;
        SpecError::new("", "").at(text, &span).line
    };
    (0..count).map(|index| line(index).unwrap_or(0)).collect()
}

fn in_table(table: &dyn TableLike, steps: &[Step]) -> Option<Range<usize>> {
    let (Step::Key(name), rest) = steps.split_first()? else { return None };
    let (key, item) = table.get_key_value(name)?;
    let here = || key.span().or_else(|| item.span());
    if rest.is_empty() { here() } else { in_item(item, rest).or_else(here) }
}

fn in_item(item: &Item, steps: &[Step]) -> Option<Range<usize>> {
    let Some((Step::Index(index), rest)) = steps.split_first() else {
        return in_table(item.as_table_like()?, steps).or_else(|| item.span());
    };
    match item {
        Item::ArrayOfTables(list) => {
            let table = list.get(*index)?;
            in_table(table, rest).or_else(|| table.span())
        }
        Item::Value(Value::Array(list)) => {
            let value = list.get(*index)?;
            value.as_inline_table().and_then(|table| in_table(table, rest)).or_else(|| value.span())
        }
        _ => None,
    }
}
