//! Changes to the text of a ledger: drafts added, filings and outcomes written in.
//!
//! What a person wrote keeps its form and its comments. The invariant: every change ends in a text that
//! [`Ledger::parse`] takes, or in no change at all.

use jiff::civil::Date;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::file::FILE;
use super::{Ledger, LedgerRequest};
use crate::{Plan, QuotaRequest, SpecError};

/// First lines of a ledger that did not exist yet.
const HEADER: &str = "# Every quota increase that was drafted or asked for, and what came of it. `plimsoll plan --record` adds\n# drafts; `plimsoll ledger file` and `plimsoll ledger decide`, or you, write down what happened to them.\n";

/// The text of a `ledger.toml`, with what it says.
#[derive(Debug, Clone)]
pub struct LedgerText {
    document: DocumentMut,
    ledger: Ledger,
}

/// A request that was added as a draft.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Draft {
    /// Pool key.
    pub pool: String,
    /// Account, where one is known.
    pub account: Option<String>,
    /// Region, where one is known.
    pub region: Option<String>,
    /// Dimension.
    pub dimension: String,
    /// Limit to ask for, in the dimension's unit per its window.
    pub asked: u64,
    /// Event that needs it; none where ordinary use does.
    pub event: Option<String>,
    /// First day on which it is needed.
    pub needed_from: Option<Date>,
}

/// Names one request; what is not told fits any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which {
    /// Pool key.
    pub pool: String,
    /// Dimension.
    pub dimension: String,
    /// Account.
    pub account: Option<String>,
    /// Region.
    pub region: Option<String>,
    /// Event.
    pub event: Option<String>,
}

impl LedgerText {
    /// Reads a ledger; an empty text is a new one.
    ///
    /// # Errors
    /// As [`Ledger::parse`].
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let text = if text.trim().is_empty() { HEADER } else { text };
        let ledger = Ledger::parse(text)?;
        let document =
            text.parse().map_err(|error: toml_edit::TomlError| SpecError::new(FILE, error.message()))?;
        Ok(Self { document, ledger })
    }

    /// What it says.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Adds a draft for every request of a plan that is not drafted or open for the same limit and event;
    /// returns what was added.
    ///
    /// # Errors
    /// A ledger that is not written as `[[request]]` tables.
    pub fn record(&mut self, plan: &Plan, drafted: Date) -> Result<Vec<Draft>, SpecError> {
        let mut added = Vec::new();
        for request in &plan.quota_requests {
            if self.knows(request) {
                continue;
            }
            let draft = Draft {
                pool: request.pool.clone(),
                account: request.account.clone(),
                region: request.region.clone(),
                dimension: request.dimension.clone(),
                asked: request.to,
                event: request.event.clone(),
                needed_from: request.needed_from,
            };
            let mut table = draft.table();
            table.insert("drafted", day(drafted));
            table.insert("plan_id", value(plan.plan_id.as_str()));
            self.push(table)?;
            added.push(draft);
        }
        self.reread()?;
        Ok(added)
    }

    fn knows(&self, request: &QuotaRequest) -> bool {
        let (account, region) = (request.account.as_deref(), request.region.as_deref());
        self.ledger
            .undecided(&request.pool, account, region)
            .any(|open| open.dimension == request.dimension && open.is_for(request.event.as_deref()))
    }

    /// Writes down that a draft was filed; where there is none, adds the filing itself, for which `asked`
    /// must be told. Returns the line of the entry.
    ///
    /// # Errors
    /// No or several drafts that fit, or dates out of order.
    pub fn file(
        &mut self,
        which: &Which,
        on: Date,
        asked: Option<u64>,
        case: Option<&str>,
    ) -> Result<usize, SpecError> {
        let index = match self.find(which, "drafted")? {
            Some(index) => index,
            None => {
                let asked = asked.ok_or_else(|| {
                    which.refuse("has no draft in the ledger: say what was asked for (--asked)")
                })?;
                self.push(which.table(asked))?;
                self.ledger.requests.len()
            }
        };
        let entry = self.entry(index)?;
        entry.insert("filed", day(on));
        if let Some(asked) = asked {
            entry.insert("asked", figure(asked));
        }
        if let Some(case) = case {
            entry.insert("case", value(case));
        }
        self.line(index)
    }

    /// Writes down what the provider decided. Returns the line of the entry.
    ///
    /// # Errors
    /// No or several filed requests that fit, or dates out of order.
    pub fn decide(
        &mut self,
        which: &Which,
        on: Date,
        granted: u64,
        note: Option<&str>,
    ) -> Result<usize, SpecError> {
        let index = self.find(which, "filed")?.ok_or_else(|| {
            which.refuse("has no open request in the ledger: file it first (plimsoll ledger file)")
        })?;
        let entry = self.entry(index)?;
        entry.insert("decided", day(on));
        entry.insert("granted", figure(granted));
        if let Some(note) = note {
            entry.insert("note", value(note));
        }
        self.line(index)
    }

    /// The only request in that state that fits; none where none does.
    fn find(&self, which: &Which, state: &str) -> Result<Option<usize>, SpecError> {
        let fits = |(_, request): &(usize, &LedgerRequest)| request.state() == state && which.fits(request);
        let mut found = self.ledger.requests.iter().enumerate().filter(fits);
        let first = found.next();
        if let (Some((_, first)), Some((_, second))) = (first, found.next()) {
            return Err(which.refuse(&format!(
                "fits more than one request, on lines {} and {}: say which with --account, --region or --event",
                first.line, second.line
            )));
        }
        Ok(first.map(|(index, _)| index))
    }

    fn tables(&mut self) -> Result<&mut ArrayOfTables, SpecError> {
        let list = self.document.entry("request").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        list.as_array_of_tables_mut().ok_or_else(|| {
            SpecError::new(FILE, "cannot be added to: write requests as [[request]] tables").field("request")
        })
    }

    fn push(&mut self, mut table: Table) -> Result<(), SpecError> {
        // What stands at the end of the file stays above what is added.
        let end = self.document.trailing().as_str().unwrap_or_default().to_owned();
        table.decor_mut().set_prefix(end + "\n");
        self.tables()?.push(table);
        self.document.set_trailing("");
        Ok(())
    }

    fn entry(&mut self, index: usize) -> Result<&mut Table, SpecError> {
        let gone = || SpecError::new(FILE, "was not read as it is written: report this").field("request");
        self.tables()?.get_mut(index).ok_or_else(gone)
    }

    fn line(&mut self, index: usize) -> Result<usize, SpecError> {
        self.reread()?;
        Ok(self.ledger.requests.get(index).map_or(0, |request| request.line))
    }

    fn reread(&mut self) -> Result<(), SpecError> {
        self.ledger = Ledger::parse(&self.document.to_string())?;
        Ok(())
    }
}

impl std::fmt::Display for LedgerText {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.document.fmt(out)
    }
}

impl LedgerRequest {
    /// Whether it was made for that event; one that names none was made for any.
    pub(crate) fn is_for(&self, event: Option<&str>) -> bool {
        self.event.is_none() || self.event.as_deref() == event
    }
}

impl Draft {
    fn table(&self) -> Table {
        let which = Which {
            pool: self.pool.clone(),
            dimension: self.dimension.clone(),
            account: self.account.clone(),
            region: self.region.clone(),
            event: self.event.clone(),
        };
        let mut table = which.table(self.asked);
        if let Some(needed_from) = self.needed_from {
            table.insert("needed_from", day(needed_from));
        }
        table
    }
}

impl Which {
    fn fits(&self, request: &LedgerRequest) -> bool {
        let fits = |mine: &Option<String>, theirs: &Option<String>| mine.is_none() || mine == theirs;
        self.pool == request.pool
            && self.dimension == request.dimension
            && fits(&self.account, &request.account)
            && fits(&self.region, &request.region)
            && fits(&self.event, &request.event)
    }

    fn table(&self, asked: u64) -> Table {
        let mut table = Table::new();
        table.insert("pool", value(self.pool.as_str()));
        for (key, part) in [("account", &self.account), ("region", &self.region)] {
            if let Some(part) = part {
                table.insert(key, value(part.as_str()));
            }
        }
        table.insert("dimension", value(self.dimension.as_str()));
        if let Some(event) = &self.event {
            table.insert("event", value(event.as_str()));
        }
        table.insert("asked", figure(asked));
        table
    }

    fn refuse(&self, problem: &str) -> SpecError {
        SpecError::new(FILE, problem).field(format!("{} {}", self.pool, self.dimension))
    }
}

/// A day as the files write it.
fn day(date: Date) -> Item {
    value(date.to_string())
}

/// A limit; TOML's integers end at 2^63.
fn figure(limit: u64) -> Item {
    value(i64::try_from(limit).unwrap_or(i64::MAX))
}
