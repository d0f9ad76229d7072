//! `ledger.toml` as read: its entries, and which of them are open.
//!
//! Leaves what an entry may say to `check`. The invariant: a [`Ledger`] that exists contradicts itself
//! nowhere, since everything that does was refused with its line.

use jiff::civil::Date;
use plimsoll_toml::read;
use serde::Deserialize;

use super::check::check;
use crate::SpecError;
use crate::digest::sha256;
use crate::place::lines;
use crate::spec::other_version;

/// What messages call the file.
pub(super) const FILE: &str = "ledger.toml";

/// `ledger.toml`, read and checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Version of the file's form; 1, or absent.
    pub version: Option<i64>,
    /// Requests, in file order.
    #[serde(default, rename = "request")]
    pub requests: Vec<LedgerRequest>,
    /// Digest of the text that this was read from, lower-case hex; empty for [`Ledger::default`].
    #[serde(skip)]
    pub sha256: String,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerRequest {
    /// Pool key.
    pub pool: String,
    /// Account. Without it, any.
    pub account: Option<String>,
    /// Region. Without it, any.
    pub region: Option<String>,
    /// Dimension.
    pub dimension: String,
    /// Event that needs it. Without it, any: the quota is asked for once.
    pub event: Option<String>,
    /// First day on which it is needed.
    pub needed_from: Option<Date>,
    /// Limit asked for.
    pub asked: u64,
    /// Day on which `plan --record` drafted it.
    pub drafted: Option<Date>,
    /// Day on which it was filed; without it, it is a draft.
    pub filed: Option<Date>,
    /// Day on which the provider decided; without it, it is open.
    pub decided: Option<Date>,
    /// Limit granted; 0 where denied.
    pub granted: Option<u64>,
    /// The provider's case number.
    pub case: Option<String>,
    /// Plan that it came from.
    pub plan_id: Option<String>,
    /// Anything worth keeping.
    pub note: Option<String>,
    /// Line on which it starts, from 1.
    #[serde(skip)]
    pub line: usize,
}

impl Ledger {
    /// Reads and checks the text of a `ledger.toml`.
    ///
    /// # Errors
    /// [`SpecError`] with the line for text that is not a ledger, and with key and line for entries
    /// that contradict themselves or one another.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        if let Some(fault) = other_version(FILE, text) {
            return Err(fault);
        }
        let mut ledger: Self = read(FILE, text)?;
        let lines = lines("request", ledger.requests.len(), text);
        for (request, line) in ledger.requests.iter_mut().zip(lines) {
            request.line = line;
        }
        check(&ledger, text)?;
        ledger.sha256 = sha256(text.as_bytes());
        Ok(ledger)
    }

    /// Requests on a pool that are not decided yet, filed or only drafted, in file order.
    pub fn undecided<'l, 'n>(
        &'l self,
        pool: &'n str,
        account: Option<&'n str>,
        region: Option<&'n str>,
    ) -> impl Iterator<Item = &'l LedgerRequest> + use<'l, 'n> {
        let undecided = self.requests.iter().filter(|request| request.decided.is_none());
        undecided.filter(move |request| request.is_of(pool, account, region))
    }
}

impl LedgerRequest {
    /// Whether it asks for a pool of that account and region; one that names none asks for any.
    pub(crate) fn is_of(&self, pool: &str, account: Option<&str>, region: Option<&str>) -> bool {
        let fits = |mine: &Option<String>, theirs: Option<&str>| mine.is_none() || mine.as_deref() == theirs;
        self.pool == pool && fits(&self.account, account) && fits(&self.region, region)
    }
}

impl LedgerRequest {
    /// `decided`, `filed` or `drafted`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match (self.decided, self.filed) {
            (Some(_), _) => "decided",
            (None, Some(_)) => "filed",
            (None, None) => "drafted",
        }
    }
}
