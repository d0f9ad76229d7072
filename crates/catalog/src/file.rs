//! From one provider file to entries.
//!
//! A file names its parts once (`[limits]`, `[meter.x]`, `[grants.x]`, `[channel.x]`, `[unit.x]`,
//! `[flag.x]`, `[source.x]`), each `[[entry]]` refers to them by name, and what `[common]` says holds
//! for all of them. Here names are resolved and what the types cannot check is checked. Invariant: an
//! entry that leaves here is complete and consistent.

use std::collections::BTreeMap;

use jiff::civil::Date;
use plimsoll_toml::{Fault, Spanned, nearest, read};
use serde::Deserialize;

use crate::{Channel, Dimension, Entry, Flag, Grants, Meter, PoolKey, Quota, Source, TokenPrice, Unit};

/// A file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderFile {
    edition: Option<String>,
    provider: String,
    product: String,
    #[serde(default)]
    common: Common,
    #[serde(default)]
    limits: Named<Vec<Dimension>>,
    #[serde(default)]
    meter: Named<Meter>,
    #[serde(default)]
    grants: Named<Grants>,
    #[serde(default)]
    channel: Named<Channel>,
    #[serde(default)]
    unit: Named<Unit>,
    #[serde(default)]
    flag: Named<Flag>,
    #[serde(default)]
    source: Named<Source>,
    #[serde(default)]
    entry: Vec<Spanned<Row>>,
}

type Named<T> = BTreeMap<String, Spanned<T>>;

/// What every entry of the file has before its own.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Common {
    companions: Vec<Quota>,
    flags: Vec<Spanned<String>>,
    sources: Vec<Spanned<String>>,
}

/// `[[entry]]`: one row for each of its scopes and models.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    scopes: Vec<String>,
    models: Vec<String>,
    from: Option<Date>,
    limit_group: Option<String>,
    limits: Spanned<String>,
    meter: Spanned<String>,
    max_output_tokens: Option<u64>,
    #[serde(default)]
    quotas: BTreeMap<Spanned<String>, Quota>,
    grants: Option<Spanned<String>>,
    channel: Option<Spanned<String>>,
    #[serde(default)]
    companions: Vec<Quota>,
    unit: Option<Spanned<String>>,
    unit_throughput: Option<Spanned<u64>>,
    #[serde(default)]
    prices: Vec<TokenPrice>,
    retires: Option<Date>,
    #[serde(default)]
    flags: Vec<Spanned<String>>,
    #[serde(default)]
    sources: Vec<Spanned<String>>,
}

/// A file that was read and found consistent.
pub(crate) struct Provider {
    /// `2026-11`, where the file tells.
    pub(crate) edition: Option<String>,
    /// Its rows.
    pub(crate) entries: Vec<Entry>,
}

/// Reads a provider file; `file` is only how messages call it.
pub(crate) fn read_provider(file: &str, text: &str) -> Result<Provider, Fault> {
    let parsed: ProviderFile = read(file, text)?;
    let reader = Reader { file, text, parts: &parsed };
    reader.check_parts()?;
    let mut entries: Vec<Entry> = Vec::new();
    for row in &parsed.entry {
        let Row { scopes, models, .. } = row.get_ref();
        for (scope, model) in scopes.iter().flat_map(|scope| models.iter().map(move |model| (scope, model))) {
            let entry = reader.entry(row, scope, model)?;
            if entries.iter().any(|other| (&other.key, other.from) == (&entry.key, entry.from)) {
                let message = format!("`{}` stands twice from the same day", entry.key);
                return Err(reader.fault(row, "entry", message));
            }
            entries.push(entry);
        }
    }
    Ok(Provider { edition: parsed.edition, entries })
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    parts: &'a ProviderFile,
}

impl Reader<'_> {
    fn fault<T>(&self, place: &Spanned<T>, field: &str, message: impl Into<String>) -> Fault {
        Fault::new(self.file, message).at(self.text, &place.span()).field(field)
    }

    /// What each named part can be checked for by itself.
    fn check_parts(&self) -> Result<(), Fault> {
        let edition = self.parts.edition.as_deref();
        if edition.is_some_and(|edition| format!("{edition}-01").parse::<Date>().is_err()) {
            return Err(Fault::new(self.file, "is no month; write it as 2026-11").field("edition"));
        }
        for (name, part) in &self.parts.limits {
            if let Some(wrong) = part.get_ref().iter().find_map(Dimension::fault) {
                return Err(self.fault(part, &format!("limits.{name}"), wrong));
            }
        }
        for (name, part) in &self.parts.meter {
            if let Some((field, wrong)) = part.get_ref().fault() {
                return Err(self.fault(part, &format!("meter.{name}.{field}"), wrong));
            }
        }
        for (name, part) in &self.parts.grants {
            if let Some(wrong) = part.get_ref().fault() {
                return Err(self.fault(part, &format!("grants.{name}"), wrong));
            }
        }
        for (name, part) in &self.parts.channel {
            if let Some((field, wrong)) = part.get_ref().fault() {
                return Err(self.fault(part, &format!("channel.{name}.{field}"), wrong));
            }
        }
        for (name, part) in &self.parts.unit {
            if let Some((field, wrong)) = part.get_ref().fault() {
                return Err(self.fault(part, &format!("unit.{name}.{field}"), wrong));
            }
        }
        Ok(())
    }

    fn entry(&self, place: &Spanned<Row>, scope: &str, model: &str) -> Result<Entry, Fault> {
        let (row, common) = (place.get_ref(), &self.parts.common);
        let key = format!("{}/{}/{scope}/{model}", self.parts.provider, self.parts.product);
        let key =
            PoolKey::parse(&key).map_err(|error| self.fault(place, "entry.models", error.to_string()))?;
        let mut dimensions = self.part("limits", &self.parts.limits, &row.limits)?.clone();
        for (name, quota) in &row.quotas {
            let dimension = dimensions.iter_mut().find(|dimension| dimension.name == *name.get_ref());
            let Some(dimension) = dimension else {
                let message = format!("limits.{} has no such dimension", row.limits.get_ref());
                return Err(self.fault(name, &format!("entry.quotas.{}", name.get_ref()), message));
            };
            dimension.quota = Some(quota.clone());
        }
        if row.sources.is_empty() && common.sources.is_empty() {
            return Err(self.fault(place, "entry.sources", "is empty; say where the row was read"));
        }
        Ok(Entry {
            from: row.from,
            limit_group: row.limit_group.clone().unwrap_or_else(|| model.to_owned()),
            dimensions,
            meter: self.part("meter", &self.parts.meter, &row.meter)?.clone(),
            max_output_tokens: row.max_output_tokens,
            grants: self.optional("grants", &self.parts.grants, &row.grants)?.unwrap_or_default(),
            channel: self.optional("channel", &self.parts.channel, &row.channel)?,
            companions: [&*row.companions, &*common.companions].concat(),
            unit: self.unit(place)?,
            prices: row.prices.clone(),
            retires: row.retires,
            flags: self.all("flag", &self.parts.flag, [&common.flags, &row.flags])?,
            sources: self.all("source", &self.parts.source, [&common.sources, &row.sources])?,
            key,
        })
    }

    /// The unit with this row's throughput: the one cannot be without the other.
    fn unit(&self, place: &Spanned<Row>) -> Result<Option<Unit>, Fault> {
        let row = place.get_ref();
        let unit = self.optional("unit", &self.parts.unit, &row.unit)?;
        match (unit, &row.unit_throughput) {
            (None, None) => Ok(None),
            (Some(unit), Some(throughput)) if (1..=1_000_000_000).contains(throughput.get_ref()) => {
                Ok(Some(Unit { throughput: *throughput.get_ref(), ..unit }))
            }
            (Some(_), Some(throughput)) => {
                let message = "is not plausible: expected 1 to 1000000000 tokens";
                Err(self.fault(throughput, "entry.unit_throughput", message))
            }
            (Some(_), None) => {
                Err(self.fault(place, "entry.unit_throughput", "is missing; a unit serves so many tokens"))
            }
            (None, Some(throughput)) => {
                Err(self.fault(throughput, "entry.unit_throughput", "has no `unit` beside it"))
            }
        }
    }

    fn part<'a, T>(&self, kind: &str, named: &'a Named<T>, name: &Spanned<String>) -> Result<&'a T, Fault> {
        let word = name.get_ref();
        named.get(word).map(Spanned::get_ref).ok_or_else(|| {
            let meant = nearest(word, named.keys().map(String::as_str))
                .map(|meant| format!("; did you mean `{meant}`?"))
                .unwrap_or_default();
            let message = format!("there is no [{kind}.{word}] in this file{meant}");
            self.fault(name, &format!("entry.{kind}"), message)
        })
    }

    fn optional<T: Clone>(
        &self,
        kind: &str,
        named: &Named<T>,
        name: &Option<Spanned<String>>,
    ) -> Result<Option<T>, Fault> {
        name.as_ref().map(|name| self.part(kind, named, name).cloned()).transpose()
    }

    fn all<T: Clone>(
        &self,
        kind: &str,
        named: &Named<T>,
        names: [&Vec<Spanned<String>>; 2],
    ) -> Result<Vec<T>, Fault> {
        names.into_iter().flatten().map(|name| self.part(kind, named, name).cloned()).collect()
    }
}
