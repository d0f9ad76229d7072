//! Which rules are for which instrumentation scopes: judged once a scope, not once a span.

use super::compile::index;
use crate::dialect::{Pattern, VersionRange};

/// Tests on instrumentation scopes, each done once a scope.
#[derive(Debug, Default)]
pub(super) struct ScopeTests {
    tests: Vec<(Vec<Pattern>, Option<VersionRange>)>,
    dialects: Vec<(Pattern, usize)>,
}

/// What the tests say of one scope.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScopeFacts {
    holds: Vec<bool>,
    /// The dialect that the scope speaks, where its name tells.
    pub(crate) dialect: Option<usize>,
}

impl ScopeFacts {
    /// Whether a test holds for the scope.
    #[inline]
    pub(super) fn hold(&self, when: u16) -> bool {
        self.holds.get(usize::from(when)).copied().unwrap_or(true)
    }
}

impl ScopeTests {
    /// No tests yet, but the scopes that dialects are spoken in.
    pub(super) fn new(dialects: Vec<(Pattern, usize)>) -> Self {
        Self { tests: Vec::new(), dialects }
    }

    /// The number of a test; equal tests share one.
    pub(super) fn number(&mut self, scope: &[Pattern], version: Option<&VersionRange>) -> u16 {
        let same = |(scopes, range): &(Vec<Pattern>, Option<VersionRange>)| {
            scopes == scope && range.as_ref() == version
        };
        let number = self.tests.iter().position(same).unwrap_or_else(|| {
            self.tests.push((scope.to_vec(), version.cloned()));
            self.tests.len() - 1
        });
        index(number)
    }

    /// Does all tests on a scope.
    pub(super) fn facts(&self, name: &str, version: &str) -> ScopeFacts {
        let holds = |(scopes, range): &(Vec<Pattern>, Option<VersionRange>)| {
            (scopes.is_empty() || scopes.iter().any(|scope| scope.matches(name)))
                && range.as_ref().is_none_or(|range| range.contains(version))
        };
        ScopeFacts {
            holds: self.tests.iter().map(holds).collect(),
            dialect: self.dialects.iter().find(|(scope, _)| scope.matches(name)).map(|(_, dialect)| *dialect),
        }
    }
}
