//! What a `serve` process does, of all that can be done.
//!
//! One process does everything by default. At scale each role has processes of its own: receivers that
//! only put requests onto a topic, writers that share its partitions, one that runs the jobs, some that
//! answer queries. Invariant: a set of roles loses nothing that it acknowledges.

use std::{collections::BTreeSet, fmt};

use serde::Deserialize;

/// One thing that a process can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// Takes OTLP, and makes it durable before it answers.
    Receive,
    /// Brings what is durable, and what it reads from Kafka, into the lake.
    Write,
    /// Runs the SQL jobs and the upkeep of the lake; one process a lake is enough.
    Jobs,
    /// Answers SQL over HTTP.
    Query,
}

impl Role {
    /// What it is called, in settings and as the name of its threads.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Write => "write",
            Self::Jobs => "jobs",
            Self::Query => "query",
        }
    }
}

/// The roles of a process.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Roles(BTreeSet<Role>);

impl Default for Roles {
    fn default() -> Self {
        Self([Role::Receive, Role::Write, Role::Jobs, Role::Query].into())
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<T: IntoIterator<Item = Role>>(roles: T) -> Self {
        Self(roles.into_iter().collect())
    }
}

impl Roles {
    /// Whether the process has a role.
    pub(crate) fn has(&self, role: Role) -> bool {
        self.0.contains(&role)
    }

    /// Whether any of them reads or writes a lake.
    pub(crate) fn need_a_lake(&self) -> bool {
        self.0.iter().any(|role| *role != Role::Receive)
    }

    /// Says what is missing for these roles; `on_topic` is whether receivers keep requests on a topic.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub(crate) fn check(&self, on_topic: bool) -> Result<(), String> {
        if self.0.is_empty() {
            return Err("serve.roles is empty: name some of receive, write, jobs, query".to_owned());
        }
        if self.has(Role::Receive) && !self.has(Role::Write) && !on_topic {
            return Err(
                "a process that receives and does not write would fill its disk: keep requests on a topic \
                        ([journal] topic), or give it the role write too"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|role| role.name()).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receiver on its own needs a place that others read from.
    #[test]
    fn receiving_without_writing_needs_a_topic() {
        let receive: Roles = [Role::Receive].into_iter().collect();
        assert!(receive.check(false).is_err_and(|why| why.contains("topic")));
        assert_eq!(receive.check(true), Ok(()));
        assert_eq!(Roles::default().check(false), Ok(()));
        assert_eq!([Role::Jobs].into_iter().collect::<Roles>().check(false), Ok(()));
        assert!(Roles(BTreeSet::new()).check(true).is_err());
        assert_eq!(Roles::default().to_string(), "receive,write,jobs,query");
    }
}
