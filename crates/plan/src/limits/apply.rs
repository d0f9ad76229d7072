//! Limits written into the text of a spec, beside those that stand there.
//!
//! A limit is never changed in place: what was granted before stays true of its days. The invariants: the
//! new text is a spec, and what a person wrote keeps its form and its comments.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Serialize;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, RawString, Table, Value, value};

use super::LimitRead;
use crate::SpecError;
use crate::spec::{FILE, PoolSpec, Spec};

/// A spec with limits written in, and what became of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The new text.
    #[serde(skip)]
    pub text: String,
    /// Limits that were written in.
    pub written: Vec<LimitRead>,
    /// Limits that stand there already, with the same value.
    pub same: Vec<LimitRead>,
    /// Limits of pools that the spec does not name, or of which it names several that would fit.
    pub elsewhere: Vec<LimitRead>,
}

/// Key, account and region.
type PoolName<'l> = (&'l str, Option<&'l str>, Option<&'l str>);

/// Writes limits into a spec's text, in force from a day on. Pools that the spec does not name are added
/// where `add_pools` says so, else told.
///
/// # Errors
/// As [`Spec::parse`], for the text and for what would come of it.
pub fn apply(text: &str, limits: &[LimitRead], from: Date, add_pools: bool) -> Result<Applied, SpecError> {
    let spec = Spec::parse(text)?;
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| SpecError::new(FILE, error.message()))?;
    let mut applied =
        Applied { text: String::new(), written: Vec::new(), same: Vec::new(), elsewhere: Vec::new() };
    let mut lines: BTreeMap<usize, Vec<&LimitRead>> = BTreeMap::new();
    let mut added: BTreeMap<PoolName<'_>, Vec<&LimitRead>> = BTreeMap::new();
    for limit in limits {
        match place(&spec.pools, limit) {
            Place::One(_, pool) if pool.limit(&limit.dimension, from) == Some(limit.value) => {
                applied.same.push(limit.clone());
            }
            Place::One(index, _) => lines.entry(index).or_default().push(limit),
            Place::None if add_pools => {
                let key = (limit.pool.as_str(), limit.account.as_deref(), limit.region.as_deref());
                added.entry(key).or_default().push(limit);
            }
            Place::None | Place::Several => applied.elsewhere.push(limit.clone()),
        }
    }
    for (index, limits) in lines {
        let Some(table) = tables(&mut document)?.get_mut(index) else { continue };
        add_line(table, &limits, from)?;
        applied.written.extend(limits.into_iter().cloned());
    }
    for ((key, account, region), limits) in added {
        let mut table = Table::new();
        // What stands at the end of the file stays above what is added.
        let end = document.trailing().as_str().unwrap_or_default().to_owned();
        table.decor_mut().set_prefix(end + "\n");
        document.set_trailing("");
        table.insert("key", value(key));
        for (name, part) in [("account", account), ("region", region)] {
            if let Some(part) = part {
                table.insert(name, value(part));
            }
        }
        add_line(&mut table, &limits, from)?;
        tables(&mut document)?.push(table);
        applied.written.extend(limits.into_iter().cloned());
    }
    applied.text = document.to_string();
    Spec::parse(&applied.text)?;
    Ok(applied)
}

/// Where a limit belongs.
enum Place<'s> {
    One(usize, &'s PoolSpec),
    /// Account or region would have to tell them apart, and do not.
    Several,
    None,
}

/// The entry of the limit's key, account and region, as far as both tell them. Accounts have names of one's
/// own in the spec and numbers at the provider: where none agrees, the key and the region decide.
fn place<'s>(pools: &'s [PoolSpec], limit: &LimitRead) -> Place<'s> {
    let fits =
        |mine: &Option<String>, theirs: &Option<String>| mine.is_none() || theirs.is_none() || mine == theirs;
    let of_region =
        |(_, pool): &(usize, &PoolSpec)| pool.key == limit.pool && fits(&pool.region, &limit.region);
    let near: Vec<(usize, &PoolSpec)> = pools.iter().enumerate().filter(of_region).collect();
    let of_account = |(_, pool): &&(usize, &PoolSpec)| fits(&pool.account, &limit.account);
    let exact: Vec<&(usize, &PoolSpec)> = near.iter().filter(of_account).collect();
    match (exact.as_slice(), near.as_slice()) {
        ([(index, pool)], _) | ([], [(index, pool)]) => Place::One(*index, pool),
        ([], []) => Place::None,
        _ => Place::Several,
    }
}

fn tables(document: &mut DocumentMut) -> Result<&mut ArrayOfTables, SpecError> {
    let list = document.entry("pool").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    list.as_array_of_tables_mut().ok_or_else(|| {
        SpecError::new(FILE, "cannot be added to: write pools as [[pool]] tables").field("pool")
    })
}

/// Adds a line of limits to a pool, in the form that its list has.
fn add_line(table: &mut Table, limits: &[&LimitRead], from: Date) -> Result<(), SpecError> {
    let mut line = InlineTable::new();
    for limit in limits {
        line.insert(&limit.dimension, i64::try_from(limit.value).unwrap_or(i64::MAX).into());
    }
    line.insert("from", from.to_string().into());
    let list = table.entry("limits").or_insert(Item::Value(Value::Array(Array::new())));
    let list = list.as_array_mut().ok_or_else(|| {
        SpecError::new(FILE, "cannot be added to: write limits = [{ ... }]").field("pool.limits")
    })?;
    push(list, Value::InlineTable(line));
    Ok(())
}

/// Adds a value under the last one: on a line of its own where the list has lines, with the comments of the
/// last one left beside it.
fn push(list: &mut Array, mut line: Value) {
    let lines = list.to_string().contains('\n');
    let after_comma = list.trailing().as_str().unwrap_or_default().to_owned();
    let Some(last) = list.iter_mut().last() else {
        return list.push_formatted(line);
    };
    let text = |part: Option<&RawString>| part.and_then(RawString::as_str).unwrap_or_default().to_owned();
    let (before, after) = (text(last.decor().prefix()), text(last.decor().suffix()));
    last.decor_mut().set_suffix("");
    if lines {
        let indent = before.rsplit('\n').next().unwrap_or_default();
        let held = after + &after_comma;
        line.decor_mut().set_prefix(format!("{}\n{indent}", held.trim_end()));
        list.set_trailing("\n");
        list.set_trailing_comma(true);
    } else {
        line.decor_mut().set_prefix(" ");
        line.decor_mut().set_suffix(after);
    }
    list.push_formatted(line);
}
