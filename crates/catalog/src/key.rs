//! The name of a pool: `provider/product/scope/model`.
//!
//! Invariant: four parts, none empty, no white space; it prints as it was read. The model may hold
//! further slashes (`meta-llama/Llama-3.3-70B`). In a catalog row a part may be `*`, any.

use std::{fmt, str::FromStr};

/// Names a pool. Account and region come beside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PoolKey {
    provider: String,
    product: String,
    scope: String,
    model: String,
}

/// A text that is no pool key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no pool key; write provider/product/scope/model, for example `anthropic/direct/global/claude-sonnet-4.5`"
)]
pub struct KeyError(String);

impl PoolKey {
    /// Reads a key.
    ///
    /// # Errors
    /// Where it does not have four parts, or one is empty or holds white space.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let parts: Vec<&str> = text.splitn(4, '/').collect();
        match parts.as_slice() {
            [provider, product, scope, model]
                if parts.iter().all(|part| !part.is_empty())
                    && !text.contains(|c: char| c.is_whitespace() || c.is_control()) =>
            {
                Ok(Self {
                    provider: (*provider).to_owned(),
                    product: (*product).to_owned(),
                    scope: (*scope).to_owned(),
                    model: (*model).to_owned(),
                })
            }
            _ => Err(KeyError(text.to_owned())),
        }
    }

    /// Who sells it, as OpenTelemetry names providers: `anthropic`, `aws.bedrock`.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Which of the provider's products: `direct`, `runtime`, `standard`, `provisioned`.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// How far the limit reaches: `global`, `geo`, `datazone`, `regional`.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Model that the limit is for.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The pool of the same provider, scope and model with another product.
    pub(crate) fn of_product(&self, product: &str) -> Self {
        Self { product: product.to_owned(), ..self.clone() }
    }

    /// How many parts of this key are `*`; 0 for the name of a real pool.
    pub fn wildcards(&self) -> usize {
        self.parts().iter().filter(|part| **part == "*").count()
    }

    /// Whether this key, as a pattern, covers `other`.
    pub fn covers(&self, other: &Self) -> bool {
        self.parts().iter().zip(other.parts()).all(|(mine, theirs)| *mine == "*" || *mine == theirs)
    }

    fn parts(&self) -> [&str; 4] {
        [&self.provider, &self.product, &self.scope, &self.model]
    }
}

impl fmt::Display for PoolKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}/{}/{}", self.provider, self.product, self.scope, self.model)
    }
}

impl FromStr for PoolKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for PoolKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        Self::parse(&text)
    }
}

impl From<PoolKey> for String {
    fn from(key: PoolKey) -> Self {
        key.to_string()
    }
}
