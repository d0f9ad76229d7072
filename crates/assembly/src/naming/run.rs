//! `[[run]]`: what tells the runs of some spans apart, where it isn't the trace.
//!
//! Which spans then make a run is decided in [`part`](crate::part); here a span gets its key.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::rules::{Compiled, Globs, Key, Match, Names, Naming, NamingError, attributes};

/// A rule of `[[run]]`: what tells the runs of some spans apart, where it isn't the trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRule {
    /// Attributes (or fields of [`Names`]) that spans of one run share, all of them; `trace` for the trace
    /// after all, `link` for the trace that the first span link points to.
    pub id: Globs,
    /// Which spans it is for.
    #[serde(rename = "match")]
    pub matches: Match,
}

/// A rule of `[[run]]`.
#[derive(Clone, Debug)]
pub(super) struct CompiledRun {
    condition: Compiled,
    id: Vec<Key>,
}

impl CompiledRun {
    pub(super) fn new(number: usize, rule: &RunRule) -> Result<Self, NamingError> {
        let id = match &rule.id {
            Globs::One(name) => vec![Key::new(name)],
            Globs::Any(names) => names.iter().map(|name| Key::new(name)).collect(),
        };
        if id.is_empty() {
            return Err(NamingError::NoId { number });
        }
        Ok(Self { condition: Compiled::new("run", number, &rule.matches, "")?, id })
    }

    /// The key of a span that the rule is for and that has every part of it.
    fn key<'a>(&self, names: &Names<'a>) -> Option<Cow<'a, str>> {
        if !self.condition.matches(names) {
            return None;
        }
        match &self.id[..] {
            [id] => id.find(names).map(Cow::Borrowed),
            many => {
                let parts = many.iter().map(|id| id.find(names)).collect::<Option<Vec<_>>>()?;
                Some(Cow::Owned(parts.join("/")))
            }
        }
    }
}

impl Naming {
    /// Whether any rule says what a run is.
    #[must_use]
    pub fn names_runs(&self) -> bool {
        !self.run.is_empty()
    }

    /// What tells a span's run apart, by the rules, else by the dialect; `None` for the trace.
    #[must_use]
    pub fn run_key<'a>(&'a self, names: &Names<'a>) -> Option<Cow<'a, str>> {
        let by_rule = self.run.iter().find_map(|rule| rule.key(names));
        by_rule.or(names.run_key.map(Cow::Borrowed)).filter(|key| !key.is_empty())
    }

    /// Attributes that the `[[run]]` rules look at beyond the named fields.
    #[must_use]
    pub fn run_attributes_needed(&self) -> BTreeSet<String> {
        let keys = self.run.iter().flat_map(|rule| rule.condition.keys().chain(&rule.id));
        attributes(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run is told apart by all attributes that its rule names, else by what the dialect says.
    #[test]
    fn run_keys() -> Result<(), Box<dyn std::error::Error>> {
        let rules = r#"
            [[run]]
            id = ["session.id", "turn"]
            match = { service = "chat" }
            [[run]]
            id = "link"
            match = { name = "resume *" }
            [[run]]
            id = "trace"
            match = { scope = "codex*" }
        "#;
        let naming = Naming::new(&toml::from_str(rules)?)?;
        assert_eq!(naming.run_attributes_needed(), BTreeSet::from(["turn".to_owned()]));
        let turn = |name: &str| (name == "turn").then_some("7");
        let chat = Names { service: Some("chat"), session_id: Some("s"), ..Names::default() };
        assert_eq!(naming.run_key(&Names { attribute: Some(&turn), ..chat }).as_deref(), Some("s/7"));
        assert_eq!(naming.run_key(&chat), None);
        assert_eq!(naming.run_key(&Names { run_key: Some("d"), ..chat }).as_deref(), Some("d"));
        let resumed = Names { name: Some("resume order"), link: Some("t1"), ..Names::default() };
        assert_eq!(naming.run_key(&resumed).as_deref(), Some("t1"));
        let codex = Names { scope: Some("codex_core"), run_key: Some("turn-1"), ..Names::default() };
        assert_eq!(naming.run_key(&codex), None);
        Ok(())
    }
}
