//! From one provider file to entries.
//!
//! A file names its parts once (`[limits]`, `[meter.x]`, `[tiers]`, `[grants.x]`, `[channel.x]`,
//! `[unit.x]`, `[overflow.x]`, `[serving.x]`, `[answers.x]`, `[flag.x]`, `[source.x]`), each `[[entry]]`
//! refers to them by name, and what `[common]` says holds for all of them. Here names are resolved and
//! what the types cannot check is checked. Invariants: an entry that leaves here is complete and
//! consistent; every mistake is told, each once.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use plimsoll_toml::{Document, Fault, Spanned, meant};
use serde::Deserialize;

use crate::{
    Alternative, Answers, Channel, Dimension, Entry, Flag, Grants, Meter, Overflow, PoolKey, Quota, Serving,
    Source, TierRule, TokenPrice, Unit,
};

/// A file as written.
struct ProviderFile {
    edition: Option<Spanned<String>>,
    provider: String,
    product: String,
    common: Common,
    limits: Named<Vec<Dimension>>,
    meter: Named<Meter>,
    tiers: Named<Vec<TierRule>>,
    grants: Named<Grants>,
    channel: Named<Channel>,
    unit: Named<Unit>,
    overflow: Named<Overflow>,
    serving: Named<Serving>,
    answers: Named<Answers>,
    flag: Named<Flag>,
    source: Named<Source>,
    entry: Vec<Spanned<Row>>,
}

type Named<T> = BTreeMap<String, Spanned<T>>;

/// What every entry of the file has before its own.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Common {
    companions: Vec<Quota>,
    answers: Option<Spanned<String>>,
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
    tiers: Option<Spanned<String>>,
    max_output_tokens: Option<Spanned<u64>>,
    #[serde(default)]
    quotas: BTreeMap<Spanned<String>, Quota>,
    grants: Option<Spanned<String>>,
    channel: Option<Spanned<String>>,
    #[serde(default)]
    companions: Vec<Quota>,
    unit: Option<Spanned<Names>>,
    unit_throughput: Option<Spanned<u64>>,
    overflow: Option<Spanned<String>>,
    serving: Option<Spanned<String>>,
    #[serde(default)]
    prices: Vec<Spanned<TokenPrice>>,
    retires: Option<Date>,
    answers: Option<Spanned<String>>,
    #[serde(default)]
    flags: Vec<Spanned<String>>,
    #[serde(default)]
    sources: Vec<Spanned<String>>,
}

/// Names of units: one, several, or one by scope.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name, a list of names, or a name by scope")]
enum Names {
    One(String),
    More(Vec<String>),
    ByScope(BTreeMap<String, String>),
}

impl Names {
    fn of(&self, scope: &str) -> Vec<&String> {
        match self {
            Self::One(name) => vec![name],
            Self::More(names) => names.iter().collect(),
            Self::ByScope(names) => names.get(scope).into_iter().collect(),
        }
    }
}

/// A file that was read.
pub(crate) struct Provider {
    /// `2026-11`, where the file tells.
    pub(crate) edition: Option<String>,
    /// Its rows, but those with a mistake.
    pub(crate) entries: Vec<Entry>,
    /// Every mistake.
    pub(crate) faults: Vec<Fault>,
}

/// Reads a provider file; `file` is only how messages call it.
pub(crate) fn read_provider(file: &str, text: &str) -> Provider {
    let mut document = Document::parse(file, text);
    let (provider, product) = (document.required("provider"), document.required("product"));
    let parsed = ProviderFile {
        edition: document.value("edition"),
        provider: provider.unwrap_or_default(),
        product: product.unwrap_or_default(),
        common: document.value("common").unwrap_or_default(),
        limits: document.named("limits"),
        meter: document.named("meter"),
        tiers: document.named("tiers"),
        grants: document.named("grants"),
        channel: document.named("channel"),
        unit: document.named("unit"),
        overflow: document.named("overflow"),
        serving: document.named("serving"),
        answers: document.named("answers"),
        flag: document.named("flag"),
        source: document.named("source"),
        entry: document.each("entry"),
    };
    let broken = document.broken().clone();
    let mut faults = document.finish();
    let reader = Reader { file, text, parts: &parsed, broken };
    reader.check_parts(&mut faults);
    let mut entries: Vec<Entry> = Vec::new();
    for row in &parsed.entry {
        let Row { scopes, models, .. } = row.get_ref();
        for (scope, model) in scopes.iter().flat_map(|scope| models.iter().map(move |model| (scope, model))) {
            let told = faults.len();
            let Some(entry) = reader.entry(row, scope, model, &mut faults) else {
                if faults.len() > told {
                    // The same row for its other models would say the same.
                    break;
                }
                continue;
            };
            if entries.iter().any(|other| (&other.key, other.from) == (&entry.key, entry.from)) {
                let message = format!("`{}` stands twice from the same day", entry.key);
                faults.push(reader.fault(row, "entry", message));
                break;
            }
            entries.push(entry);
        }
    }
    faults.sort_by_key(|fault| fault.line);
    Provider { edition: parsed.edition.map(Spanned::into_inner), entries, faults }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    parts: &'a ProviderFile,
    /// Parts that could not be read, as `meter.x`: their names are known all the same.
    broken: BTreeSet<String>,
}

impl Reader<'_> {
    fn fault<T>(&self, place: &Spanned<T>, field: &str, message: impl Into<String>) -> Fault {
        Fault::new(self.file, message).at(self.text, &place.span()).field(field)
    }

    /// What each named part can be checked for by itself.
    fn check_parts(&self, faults: &mut Vec<Fault>) {
        let parts = self.parts;
        if let Some(edition) = &parts.edition
            && format!("{}-01", edition.get_ref()).parse::<Date>().is_err()
        {
            faults.push(self.fault(edition, "edition", "is no month; write it as 2026-11"));
        }
        self.check("limits", &parts.limits, faults, |limits| {
            limits.iter().find_map(Dimension::fault).map(|wrong| (String::new(), wrong))
        });
        self.check("meter", &parts.meter, faults, |meter| named(meter.fault()));
        self.check("grants", &parts.grants, faults, |grants| {
            grants.fault().map(|wrong| (String::new(), wrong))
        });
        self.check("channel", &parts.channel, faults, |channel| named(channel.fault()));
        self.check("unit", &parts.unit, faults, Unit::fault);
        self.check("serving", &parts.serving, faults, |serving| named(serving.fault()));
        self.check("flag", &parts.flag, faults, |flag| {
            let empty = flag.alternative.as_ref().is_some_and(Alternative::is_empty);
            empty.then(|| {
                ("alternative".to_owned(), "changes nothing; say what the other reading would".to_owned())
            })
        });
    }

    fn check<T>(
        &self,
        kind: &str,
        parts: &Named<T>,
        faults: &mut Vec<Fault>,
        wrong: impl Fn(&T) -> Option<(String, String)>,
    ) {
        for (name, part) in parts {
            if let Some((field, message)) = wrong(part.get_ref()) {
                let dot = if field.is_empty() { "" } else { "." };
                faults.push(self.fault(part, &format!("{kind}.{name}{dot}{field}"), message));
            }
        }
    }

    /// One row; none where it has a mistake, or refers to a part that has one.
    fn entry(
        &self,
        place: &Spanned<Row>,
        scope: &str,
        model: &str,
        faults: &mut Vec<Fault>,
    ) -> Option<Entry> {
        let (row, common, parts) = (place.get_ref(), &self.parts.common, self.parts);
        let told = faults.len();
        let key = format!("{}/{}/{scope}/{model}", parts.provider, parts.product);
        let key = PoolKey::parse(&key)
            .map_err(|error| faults.push(self.fault(place, "entry.models", error.to_string())));
        let limits = self.part("limits", &parts.limits, &row.limits, faults);
        let dimensions = limits.map(|limits| self.with_quotas(limits, row, faults));
        let meter = self.part("meter", &parts.meter, &row.meter, faults);
        let tiers = self.optional("tiers", &parts.tiers, &row.tiers, faults);
        let grants = self.optional("grants", &parts.grants, &row.grants, faults);
        let channel = self.optional("channel", &parts.channel, &row.channel, faults);
        let overflow = self.optional("overflow", &parts.overflow, &row.overflow, faults);
        let serving = self.optional("serving", &parts.serving, &row.serving, faults);
        let named = row.answers.clone().or_else(|| common.answers.clone());
        let answers = self.optional("answers", &parts.answers, &named, faults);
        let units = self.units(place, scope, faults);
        let flags = self.flags([&common.flags, &row.flags], faults);
        let sources = self.all("source", &parts.source, [&common.sources, &row.sources], faults);
        if row.sources.is_empty() && common.sources.is_empty() {
            faults.push(self.fault(place, "entry.sources", "is empty; say where the row was read"));
        }
        self.check_figures(row, faults);
        if faults.len() > told {
            return None;
        }
        Some(Entry {
            from: row.from,
            limit_group: row.limit_group.clone().unwrap_or_else(|| model.to_owned()),
            dimensions: dimensions?,
            meter: meter?.clone(),
            tiers: tiers.unwrap_or_default(),
            max_output_tokens: row.max_output_tokens.as_ref().map(|tokens| *tokens.get_ref()),
            grants: grants.unwrap_or_default(),
            channel,
            companions: [&*row.companions, &*common.companions].concat(),
            units,
            overflow,
            serving,
            prices: row.prices.iter().map(|price| price.get_ref().clone()).collect(),
            retires: row.retires,
            answers: answers.unwrap_or_default(),
            flags,
            sources: sources.into_iter().cloned().collect(),
            key: key.ok()?,
        })
    }

    /// The limits with the provider's own names for them.
    fn with_quotas(&self, limits: &[Dimension], row: &Row, faults: &mut Vec<Fault>) -> Vec<Dimension> {
        let mut dimensions = limits.to_vec();
        for (name, quota) in &row.quotas {
            match dimensions.iter_mut().find(|dimension| dimension.name == *name.get_ref()) {
                Some(dimension) => dimension.quota = Some(quota.clone()),
                None => {
                    let message = format!("limits.{} has no such dimension", row.limits.get_ref());
                    faults.push(self.fault(name, &format!("entry.quotas.{}", name.get_ref()), message));
                }
            }
        }
        dimensions
    }

    /// Figures of a row that stand in no part.
    fn check_figures(&self, row: &Row, faults: &mut Vec<Fault>) {
        for (at, price) in row.prices.iter().enumerate() {
            if let Some(wrong) = price.get_ref().fault() {
                faults.push(self.fault(price, "entry.prices", wrong));
            }
            let earlier = row.prices.iter().take(at);
            if earlier.into_iter().any(|earlier| earlier.get_ref().overlaps(price.get_ref())) {
                let message = "two prices of one tier hold on the same days; give the later its own `from`, \
                               and end the earlier by then";
                faults.push(self.fault(price, "entry.prices", message));
            }
        }
        if let Some(tokens) = &row.max_output_tokens
            && !(1..=10_000_000).contains(tokens.get_ref())
        {
            let message = format!("{} is not plausible: expected 1 to 10000000 tokens", tokens.get_ref());
            faults.push(self.fault(tokens, "entry.max_output_tokens", message));
        }
    }

    /// The units with what they serve, which stands with the unit, or in the row where it is the model's.
    fn units(&self, place: &Spanned<Row>, scope: &str, faults: &mut Vec<Fault>) -> Vec<Unit> {
        let row = place.get_ref();
        let named = row.unit.as_ref();
        let names: Vec<Spanned<String>> = named
            .map(|named| (named.span(), named.get_ref().of(scope)))
            .into_iter()
            .flat_map(|(span, names)| {
                names.into_iter().map(move |name| Spanned::new(span.clone(), name.clone()))
            })
            .collect();
        if let Some(named) = named.filter(|_| names.is_empty()) {
            faults.push(self.fault(named, "entry.unit", format!("names none for the scope `{scope}`")));
            return Vec::new();
        }
        let mut units: Vec<Unit> =
            self.all("unit", &self.parts.unit, [&names, &[]], faults).into_iter().cloned().collect();
        if let Some(throughput) = &row.unit_throughput {
            let served = *throughput.get_ref();
            let wrong = match units.as_mut_slice() {
                _ if !(1..=1_000_000_000).contains(&served) => {
                    Some(("unit_throughput", format!("{served} is not plausible: expected 1 to 1000000000")))
                }
                _ if names.is_empty() => Some(("unit", "is missing beside `unit_throughput`".to_owned())),
                [_, _, ..] => {
                    Some(("unit_throughput", "is for one unit; write it into each [unit.x]".to_owned()))
                }
                [unit] => {
                    unit.throughput = Some(served);
                    None
                }
                [] => None,
            };
            if let Some((field, message)) = wrong {
                faults.push(self.fault(throughput, &format!("entry.{field}"), message));
            }
        } else if units.iter().any(|unit| unit.throughput.is_none() && !unit.unpublished) {
            faults.push(self.fault(place, "entry.unit_throughput", "is missing beside `unit`"));
        }
        units
    }

    /// Flags know their names.
    fn flags(&self, names: [&[Spanned<String>]; 2], faults: &mut Vec<Fault>) -> Vec<Flag> {
        let flags = self.all("flag", &self.parts.flag, names, faults);
        let names = names.into_iter().flatten();
        let named =
            |(flag, name): (&Flag, &Spanned<String>)| Flag { name: name.get_ref().clone(), ..flag.clone() };
        flags.into_iter().zip(names).map(named).collect()
    }

    fn part<'p, T>(
        &self,
        kind: &str,
        parts: &'p Named<T>,
        name: &Spanned<String>,
        faults: &mut Vec<Fault>,
    ) -> Option<&'p T> {
        let found = parts.get(name.get_ref()).map(Spanned::get_ref);
        if found.is_none() && !self.broken.contains(&format!("{kind}.{}", name.get_ref())) {
            let meant = meant(name.get_ref(), parts.keys().map(String::as_str));
            let message = format!("there is no [{kind}.{}] in this file{meant}", name.get_ref());
            faults.push(self.fault(name, &format!("entry.{kind}"), message));
        }
        found
    }

    fn optional<T: Clone>(
        &self,
        kind: &str,
        parts: &Named<T>,
        name: &Option<Spanned<String>>,
        faults: &mut Vec<Fault>,
    ) -> Option<T> {
        self.part(kind, parts, name.as_ref()?, faults).cloned()
    }

    fn all<'p, T>(
        &self,
        kind: &str,
        parts: &'p Named<T>,
        names: [&[Spanned<String>]; 2],
        faults: &mut Vec<Fault>,
    ) -> Vec<&'p T> {
        names.into_iter().flatten().filter_map(|name| self.part(kind, parts, name, faults)).collect()
    }
}

/// A fault with its field as text.
fn named<M: Into<String>>(fault: Option<(&'static str, M)>) -> Option<(String, String)> {
    fault.map(|(field, message)| (field.to_owned(), message.into()))
}
