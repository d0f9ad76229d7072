//! The rules themselves: `[[workflow]]`, `[[account]]` and `[[deployment]]`; `[[run]]` is in `run`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};

use super::recognise::{Place, Told, recognise};
use super::run::{CompiledRun, RunRule};

/// The lists of rules, as they stand in `plimsoll.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// `[[workflow]]`.
    #[serde(default)]
    pub workflow: Vec<NameRule>,
    /// `[[account]]`.
    #[serde(default)]
    pub account: Vec<NameRule>,
    /// `[[deployment]]`.
    #[serde(default)]
    pub deployment: Vec<DeploymentRule>,
    /// `[[run]]`.
    #[serde(default)]
    pub run: Vec<RunRule>,
}

/// One glob or several, of which any may match. `*` also spans `/`; letter case counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Globs {
    /// One glob.
    One(String),
    /// Several.
    Any(Vec<String>),
}

/// Globs by key. All must match; a key is a field of [`Names`] or any attribute's name.
pub type Match = BTreeMap<String, Globs>;

/// A rule of `[[workflow]]` or `[[account]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameRule {
    /// Name that it gives.
    pub name: String,
    /// What it names.
    #[serde(rename = "match")]
    pub matches: Match,
}

/// A rule of `[[deployment]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeploymentRule {
    /// What telemetry calls the model.
    #[serde(rename = "match")]
    pub matches: Match,
    /// Pool key that it gives: `provider/product/scope/model`.
    pub pool: String,
}

/// Why a rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// A glob that cannot be read.
    #[error(
        "[[{table}]] number {number}: match.{key} = {glob:?} is no glob ({why}); put special characters in [brackets]"
    )]
    Glob {
        /// `workflow`, `account` or `deployment`.
        table: &'static str,
        /// Place in the list, from 1.
        number: usize,
        /// Key within `match`.
        key: String,
        /// Glob as written.
        glob: String,
        /// What is wrong with it.
        why: String,
    },
    /// A rule that matches everything by mistake.
    #[error(
        "[[{table}]] number {number}: match is empty; say what it matches, such as {{ service = \"*\" }} for all"
    )]
    Empty {
        /// `workflow`, `account` or `deployment`.
        table: &'static str,
        /// Place in the list, from 1.
        number: usize,
    },
    /// A rule of runs that has nothing to tell them apart by.
    #[error("[[run]] number {number}: id is empty; name the attributes that spans of one run share")]
    NoId {
        /// Place in the list, from 1.
        number: usize,
    },
    /// A pool key that is none.
    #[error("[[deployment]] number {number}: pool {pool:?} must be provider/product/scope/model")]
    Pool {
        /// Place in the list, from 1.
        number: usize,
        /// Key as written.
        pool: String,
    },
}

/// Finds an attribute of the span at hand.
pub type LookUp<'a> = &'a dyn Fn(&str) -> Option<&'a str>;

/// What the rules look at: a span's names, and its other attributes on demand.
#[derive(Clone, Copy, Default)]
pub struct Names<'a> {
    /// `service.name`.
    pub service: Option<&'a str>,
    /// Span name.
    pub name: Option<&'a str>,
    /// Workflow as measured.
    pub workflow: Option<&'a str>,
    /// Step.
    pub step: Option<&'a str>,
    /// Provider.
    pub provider: Option<&'a str>,
    /// Model asked for.
    pub model: Option<&'a str>,
    /// Model that answered.
    pub response_model: Option<&'a str>,
    /// `server.address`.
    pub endpoint: Option<&'a str>,
    /// Region.
    pub region: Option<&'a str>,
    /// Tier that the provider served it in.
    pub service_tier: Option<&'a str>,
    /// Instrumentation scope.
    pub scope: Option<&'a str>,
    /// Tenant.
    pub tenant: Option<&'a str>,
    /// Request class.
    pub request_class: Option<&'a str>,
    /// Account as measured.
    pub account: Option<&'a str>,
    /// Session or conversation.
    pub session_id: Option<&'a str>,
    /// What the dialect says that runs are told apart by.
    pub run_key: Option<&'a str>,
    /// Trace of the first span link.
    pub link: Option<&'a str>,
    /// Looks up any other attribute; asked only for what [`Naming::attributes_needed`] lists.
    pub attribute: Option<LookUp<'a>>,
}

/// Rules, ready to match. The default has none, so measured names and default pools stand.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    workflow: Vec<Compiled>,
    account: Vec<Compiled>,
    deployment: Vec<Compiled>,
    pub(super) run: Vec<CompiledRun>,
}

impl Naming {
    /// Compiles the rules.
    ///
    /// # Errors
    /// A rule that cannot be used, by table and place.
    pub fn new(rules: &Rules) -> Result<Self, NamingError> {
        let named = |table, rules: &[NameRule]| {
            let rules = rules.iter().enumerate();
            rules
                .map(|(i, rule)| Compiled::new(table, i + 1, &rule.matches, &rule.name))
                .collect::<Result<Vec<_>, _>>()
        };
        let deployment = rules.deployment.iter().enumerate().map(|(i, rule)| {
            let parts: Vec<&str> = rule.pool.split('/').collect();
            if parts.len() != 4 || parts.iter().any(|part| part.is_empty()) {
                return Err(NamingError::Pool { number: i + 1, pool: rule.pool.clone() });
            }
            Compiled::new("deployment", i + 1, &rule.matches, &rule.pool)
        });
        Ok(Self {
            workflow: named("workflow", &rules.workflow)?,
            account: named("account", &rules.account)?,
            deployment: deployment.collect::<Result<_, _>>()?,
            run: rules
                .run
                .iter()
                .enumerate()
                .map(|(i, rule)| CompiledRun::new(i + 1, rule))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Workflow by the rules, else as measured.
    #[must_use]
    pub fn workflow<'a>(&'a self, names: &Names<'a>) -> Option<Cow<'a, str>> {
        self.workflow_by_rule(names).or(names.workflow).map(Cow::Borrowed)
    }

    /// Workflow by the rules alone; it sets [`Span::workflow_by_rule`](crate::Span::workflow_by_rule).
    #[must_use]
    pub fn workflow_by_rule<'a>(&'a self, names: &Names<'a>) -> Option<&'a str> {
        first(&self.workflow, names)
    }

    /// Account, region and pool: what the rules say, else what is [recognised](recognise) in the call.
    #[must_use]
    pub fn place<'a>(&'a self, names: &Names<'a>) -> Place<'a> {
        let told = Told {
            provider: names.provider,
            model: names.model,
            response_model: names.response_model,
            endpoint: names.endpoint,
            region: names.region,
            account: names.account,
            service_tier: names.service_tier,
        };
        let found = recognise(&told);
        Place {
            account: first(&self.account, names).or(found.account),
            region: found.region,
            pool: first(&self.deployment, names).map(Cow::Borrowed).or(found.pool),
        }
    }

    /// Attributes that the rules look at beyond the named fields: where there are none, the caller
    /// need not read any.
    #[must_use]
    pub fn attributes_needed(&self) -> BTreeSet<String> {
        let rules = [&self.workflow, &self.account, &self.deployment].into_iter().flatten();
        attributes(rules.flat_map(|rule| &rule.conditions).map(|(key, _)| key))
    }
}

pub(super) fn attributes<'k>(keys: impl Iterator<Item = &'k Key>) -> BTreeSet<String> {
    keys.filter_map(|key| if let Key::Attribute(name) = key { Some(name.clone()) } else { None }).collect()
}

/// Where a condition finds its value.
#[derive(Clone, Debug)]
pub(super) enum Key {
    Field(for<'n, 'a> fn(&'n Names<'a>) -> Option<&'a str>),
    Attribute(String),
}

impl Key {
    pub(super) fn new(name: &str) -> Self {
        Self::Field(match name {
            "service" => |names| names.service,
            "name" => |names| names.name,
            "workflow" => |names| names.workflow,
            "step" => |names| names.step,
            "provider" => |names| names.provider,
            "model" => |names| names.model,
            "response_model" => |names| names.response_model,
            "endpoint" => |names| names.endpoint,
            "region" => |names| names.region,
            "service_tier" => |names| names.service_tier,
            "scope" => |names| names.scope,
            "tenant" => |names| names.tenant,
            "request_class" => |names| names.request_class,
            "account" => |names| names.account,
            "session_id" | "session.id" => |names| names.session_id,
            "link" => |names| names.link,
            // Empty is what a run key that is not one looks like.
            "trace" => |_| Some(""),
            attribute => return Self::Attribute(attribute.to_owned()),
        })
    }

    pub(super) fn find<'a>(&self, names: &Names<'a>) -> Option<&'a str> {
        match self {
            Self::Field(field) => field(names),
            Self::Attribute(name) => names.attribute.and_then(|look_up| look_up(name)),
        }
    }
}

/// A glob, or plain text where nothing in it is special.
#[derive(Clone, Debug)]
enum Pattern {
    Text(String),
    Glob(GlobMatcher),
}

impl Pattern {
    fn matches(&self, value: &str) -> bool {
        match self {
            Self::Text(text) => text == value,
            Self::Glob(glob) => glob.is_match(value),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Compiled {
    conditions: Vec<(Key, Vec<Pattern>)>,
    gives: String,
}

impl Compiled {
    pub(super) fn new(
        table: &'static str,
        number: usize,
        matches: &Match,
        gives: &str,
    ) -> Result<Self, NamingError> {
        if matches.is_empty() {
            return Err(NamingError::Empty { table, number });
        }
        let mut conditions = Vec::with_capacity(matches.len());
        for (key, globs) in matches {
            let globs = match globs {
                Globs::One(glob) => std::slice::from_ref(glob),
                Globs::Any(globs) => globs,
            };
            let patterns = globs.iter().map(|glob| {
                if !glob.contains(['*', '?', '[', '{', '\\']) {
                    return Ok(Pattern::Text(glob.clone()));
                }
                Glob::new(glob).map(|glob| Pattern::Glob(glob.compile_matcher())).map_err(|error| {
                    NamingError::Glob {
                        table,
                        number,
                        key: key.clone(),
                        glob: glob.clone(),
                        why: error.kind().to_string(),
                    }
                })
            });
            conditions.push((Key::new(key), patterns.collect::<Result<_, _>>()?));
        }
        Ok(Self { conditions, gives: gives.to_owned() })
    }

    /// What the conditions look at.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.conditions.iter().map(|(key, _)| key)
    }

    pub(super) fn matches(&self, names: &Names<'_>) -> bool {
        self.conditions.iter().all(|(key, patterns)| {
            key.find(names).is_some_and(|value| patterns.iter().any(|pattern| pattern.matches(value)))
        })
    }
}

/// What the first rule that matches gives.
fn first<'a>(rules: &'a [Compiled], names: &Names<'_>) -> Option<&'a str> {
    rules.iter().find(|rule| rule.matches(names)).map(|rule| rule.gives.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"
        [[workflow]]
        name = "invoice-reconciliation"
        match = { service = "finance-agents", name = "invoice-*" }
        [[workflow]]
        name = "finance"
        match = { service = ["finance-agents", "ledger-?"] }
        [[account]]
        name = "prod"
        match = { "deployment.environment.name" = "prod" }
        [[deployment]]
        match = { provider = "azure.ai.openai", model = "gpt52-finance" }
        pool = "azure.ai.openai/standard/datazone/gpt-5.2"
    "#;

    fn naming() -> Result<Naming, Box<dyn std::error::Error>> {
        Ok(Naming::new(&toml::from_str(TOML)?)?)
    }

    /// The first rule that matches wins; all its keys must match; without one the measured name stands.
    #[test]
    fn first_match_names() -> Result<(), Box<dyn std::error::Error>> {
        let naming = naming()?;
        let mut names =
            Names { service: Some("finance-agents"), name: Some("invoice-7/x"), ..Names::default() };
        assert_eq!(naming.workflow(&names).as_deref(), Some("invoice-reconciliation"));
        names.name = Some("other");
        assert_eq!(naming.workflow(&names).as_deref(), Some("finance"));
        names = Names { service: Some("ledger-22"), workflow: Some("measured"), ..Names::default() };
        assert_eq!(naming.workflow(&names).as_deref(), Some("measured"));
        assert_eq!(naming.workflow_by_rule(&names), None);
        Ok(())
    }

    /// Attributes are asked for by name, and only those that a rule uses.
    #[test]
    fn attributes_are_looked_up() -> Result<(), Box<dyn std::error::Error>> {
        let naming = naming()?;
        assert_eq!(naming.attributes_needed(), BTreeSet::from(["deployment.environment.name".to_owned()]));
        let look_up = |name: &str| (name == "deployment.environment.name").then_some("prod");
        let names = Names { attribute: Some(&look_up), account: Some("42"), ..Names::default() };
        assert_eq!(naming.place(&names).account, Some("prod"));
        assert_eq!(naming.place(&Names { attribute: None, ..names }).account, Some("42"));
        Ok(())
    }

    /// A deployment rule gives the pool, others are recognised; what is unknown has none.
    #[test]
    fn pools() -> Result<(), Box<dyn std::error::Error>> {
        let naming = naming()?;
        let names =
            |provider, model| Names { provider: Some(provider), model: Some(model), ..Names::default() };
        let pool = |provider, model| naming.place(&names(provider, model)).pool.map(Cow::into_owned);
        assert_eq!(
            pool("azure.ai.openai", "gpt52-finance").as_deref(),
            Some("azure.ai.openai/standard/datazone/gpt-5.2")
        );
        assert_eq!(
            pool("anthropic", "claude-sonnet-4-5-20250929").as_deref(),
            Some("anthropic/direct/global/claude-sonnet-4.5")
        );
        assert_eq!(naming.place(&Names { provider: Some("anthropic"), ..Names::default() }).pool, None);
        Ok(())
    }

    /// A mistake is named by table, place and key.
    #[test]
    fn mistakes_are_named() -> Result<(), Box<dyn std::error::Error>> {
        let broken = |text: &str| -> Result<String, Box<dyn std::error::Error>> {
            Ok(Naming::new(&toml::from_str(text)?).err().map(|error| error.to_string()).unwrap_or_default())
        };
        let glob = broken("[[account]]\nname = \"a\"\nmatch = { service = \"[\" }")?;
        assert!(glob.starts_with("[[account]] number 1: match.service = \"[\""), "{glob}");
        let pool = broken("[[deployment]]\npool = \"x\"\nmatch = { model = \"m\" }")?;
        assert_eq!(pool, "[[deployment]] number 1: pool \"x\" must be provider/product/scope/model");
        assert!(broken("[[workflow]]\nname = \"a\"\nmatch = {}")?.contains("match is empty"));
        assert!(toml::from_str::<Rules>("[[workflow]]\nnam = \"a\"\nmatch = {}").is_err());
        Ok(())
    }
}
