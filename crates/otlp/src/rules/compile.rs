//! Dialect files and a table's schema, turned into indices that a span is read by.
//!
//! Invariant: whatever a dialect names exists afterwards, as a slot for an attribute or as a target for
//! a column; what doesn't fit the schema is an error that says where it stands.

use std::collections::HashMap;

use ahash::RandomState;
use arrow::datatypes::{DataType, Schema};

use super::KeySet;
use super::amend::{CorrectionRule, InputRule};
use super::kind::KindTest;
use super::log::LogTest;
use super::place::PlaceRule;
use super::scopes::ScopeTests;
use crate::dialect::{Alias, Dialects, Lookup, Origin, Pattern, Sourced, Unit, VersionRange};
use crate::explain::Rule;
use crate::{DialectError, OtlpError};

/// Columns that the decoder fills by itself.
const RESERVED: &[&str] = &[
    "trace_id",
    "span_id",
    "parent_span_id",
    "kind",
    "name",
    "start_time",
    "start_unix_nano",
    "duration_ms",
    "scope",
    "scope_version",
    "input_basis",
    "weight",
    "dialect",
    "quality",
    "signal",
    "source",
    "received_at",
    "received_day",
    "attributes",
];
/// What a dialect may fill besides the table's columns: used, and not stored.
const TOTAL: &str = "total_tokens";
/// The same, of log records alone: spans have a start and an end.
const ELAPSED: &str = "duration_ms";

/// A map for keys that senders choose; seeded at random against chosen collisions.
pub(super) type FastMap<K, V> = HashMap<K, V, RandomState>;

/// The dialects, compiled for one schema of `spans`.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Slots of span attributes.
    pub(super) attributes: FastMap<Box<[u8]>, Slot>,
    /// Slots of resource attributes.
    pub(super) resources: FastMap<Box<[u8]>, Slot>,
    /// Slots of span events.
    pub(super) events: FastMap<Box<[u8]>, EventSlots>,
    /// The aliases that read each slot.
    pub(super) readers: Vec<Vec<u16>>,
    /// Aliases that read no slot: those of span names, of links and of constants.
    pub(super) slotless: Vec<u16>,
    /// By target, then by precedence: to sort aliases is to put the one to try first first.
    pub(super) aliases: Vec<AliasRule>,
    pub(super) targets: Vec<Target>,
    pub(super) kinds: Vec<KindTest>,
    /// The tests of log records.
    pub(super) logs: Vec<LogTest>,
    /// Slots of reasoning tokens that the output count leaves out.
    pub(super) reasoning_apart: Vec<u16>,
    pub(super) places: Vec<PlaceRule>,
    pub(super) inputs: Vec<InputRule>,
    /// Columns that are zero where they are left out.
    pub(super) zeros: Vec<CorrectionRule>,
    /// Columns that are not to be trusted.
    pub(super) doubts: Vec<CorrectionRule>,
    /// Codes to add.
    pub(super) marks: Vec<CorrectionRule>,
    pub(super) scopes: ScopeTests,
    pub(crate) content: KeySet,
    pub(crate) resource_noise: KeySet,
    pub(super) known: Known,
    pub(crate) dialect_names: Vec<String>,
    /// Where the rules stand, for those who ask why.
    pub(super) sources: Vec<Rule>,
    /// The names of the targets.
    names: Vec<String>,
}

/// Where the value of an attribute goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) index: u16,
    /// Content or a secret: read, perhaps, but never stored.
    pub(super) content: bool,
}

/// Where the values of an event go.
#[derive(Debug, Default)]
pub(super) struct EventSlots {
    pub(super) time: Option<u16>,
    pub(super) attributes: Vec<(Box<[u8]>, u16)>,
}

/// One alias of one target.
#[derive(Debug)]
pub(super) struct AliasRule {
    pub(super) target: u16,
    /// Of the attribute; [`NO_SLOT`] for a span name, a link or a constant.
    pub(super) slot: u16,
    /// Slots of counts to add.
    pub(super) plus: Vec<u16>,
    pub(super) when: u16,
    /// Names of the log records that it is for; none for spans and all log records.
    pub(super) log: Vec<Pattern>,
    pub(super) alias: Alias,
    pub(super) at: u16,
}

/// The slot of what is not in a slot.
pub(super) const NO_SLOT: u16 = u16::MAX;

/// A column, or a helper that has none.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) shape: Shape,
    /// What the column's values are folded to.
    pub(super) fold: Option<Lookup<Folded>>,
}

/// What values of a column mean.
#[derive(Debug)]
pub(super) struct Folded {
    /// The value to store; none for those that say nothing.
    pub(super) value: Option<Box<str>>,
    pub(super) at: u16,
}

/// The type of a target, as far as a dialect may fill it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Count,
    SmallCount,
    Millis,
    Flag,
    /// Filled by the decoder alone.
    Reserved,
}

/// Targets that the decoder itself reads or corrects.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) status: u16,
    pub(super) provider: u16,
    pub(super) region: u16,
    pub(super) endpoint: u16,
    pub(super) model: u16,
    pub(super) input_tokens: u16,
    pub(super) input_uncached: u16,
    pub(super) cache_read: u16,
    pub(super) cache_write: u16,
    pub(super) output_tokens: u16,
    pub(super) reasoning_tokens: u16,
    pub(super) input_basis: u16,
    /// The first target without a column.
    pub(super) total_tokens: u16,
    pub(super) elapsed: u16,
    pub(super) ttft_ms: u16,
    pub(super) streaming: u16,
}

/// The index of a column that the decoder needs.
///
/// # Errors
/// It isn't there, or is of another type.
pub(crate) fn column(schema: &Schema, name: &str, wanted: &DataType) -> Result<usize, OtlpError> {
    let (index, field) =
        schema.column_with_name(name).ok_or_else(|| OtlpError::MissingColumn(name.to_owned()))?;
    if field.data_type() == wanted {
        Ok(index)
    } else {
        Err(OtlpError::WrongType {
            column: name.to_owned(),
            found: field.data_type().to_string(),
            wanted: wanted.to_string(),
        })
    }
}

impl Rules {
    /// Fits the dialects to the schema of `spans`.
    ///
    /// # Errors
    /// A column is missing, or a dialect names one that it may not fill.
    pub(crate) fn new(dialects: &Dialects, schema: &Schema) -> Result<Self, OtlpError> {
        let mut builder = Builder::new(schema, dialects)?;
        builder.add_fields(dialects)?;
        builder.add_folds(dialects)?;
        for kind in &dialects.kinds {
            if kind.rule.log.is_empty() {
                let test = KindTest::new(kind, &mut builder)?;
                builder.rules.kinds.push(test);
            } else {
                let test = LogTest::new(kind, &mut builder)?;
                builder.rules.logs.push(test);
            }
        }
        for apart in &dialects.reasoning_apart {
            let slot = builder.attribute(&apart.rule);
            builder.rules.reasoning_apart.push(slot);
        }
        for place in &dialects.places {
            let at = builder.at(place, "place");
            builder.rules.places.push(PlaceRule::new(place, at)?);
        }
        builder.add_usage_rules(dialects)?;
        Ok(builder.rules)
    }

    /// The name of a column, or of what stands for one.
    pub(super) fn column_name(&self, target: u16) -> &str {
        self.names.get(usize::from(target)).map_or("", String::as_str)
    }
}

/// The rules as far as they are built, and what it takes to build them.
pub(super) struct Builder<'s> {
    schema: &'s Schema,
    pub(super) rules: Rules,
}

impl<'s> Builder<'s> {
    fn new(schema: &'s Schema, dialects: &Dialects) -> Result<Self, OtlpError> {
        let at = |name: &str, wanted: &DataType| column(schema, name, wanted).map(index);
        let (text, count, millis) = (DataType::Utf8, DataType::Int64, DataType::Float64);
        let known = Known {
            status: at("status", &text)?,
            provider: at("provider", &text)?,
            region: at("region", &text)?,
            endpoint: at("endpoint", &text)?,
            model: at("model", &text)?,
            input_tokens: at("input_tokens", &count)?,
            input_uncached: at("input_uncached", &count)?,
            cache_read: at("cache_read", &count)?,
            cache_write: at("cache_write", &count)?,
            output_tokens: at("output_tokens", &count)?,
            reasoning_tokens: at("reasoning_tokens", &count)?,
            input_basis: at("input_basis", &text)?,
            total_tokens: index(schema.fields().len()),
            elapsed: index(schema.fields().len() + 1),
            ttft_ms: at("ttft_ms", &millis)?,
            streaming: at("streaming", &DataType::Boolean)?,
        };
        let columns = schema.fields().iter().map(|field| match field.data_type() {
            _ if RESERVED.contains(&field.name().as_str()) => Shape::Reserved,
            DataType::Utf8 => Shape::Text,
            DataType::Int64 => Shape::Count,
            DataType::Int32 => Shape::SmallCount,
            DataType::Float64 => Shape::Millis,
            DataType::Boolean => Shape::Flag,
            _ => Shape::Reserved,
        });
        let all = columns.chain([Shape::Count, Shape::Millis]);
        let targets = all.map(|shape| Target { shape, fold: None }).collect();
        let patterns = |patterns: &[Sourced<Pattern>]| patterns.iter().map(|pattern| &pattern.rule).collect();
        let rules = Rules {
            attributes: FastMap::default(),
            resources: FastMap::default(),
            events: FastMap::default(),
            readers: Vec::new(),
            slotless: Vec::new(),
            aliases: Vec::new(),
            targets,
            kinds: Vec::new(),
            logs: Vec::new(),
            reasoning_apart: Vec::new(),
            places: Vec::new(),
            inputs: Vec::new(),
            zeros: Vec::new(),
            doubts: Vec::new(),
            marks: Vec::new(),
            scopes: ScopeTests::new(dialects.scopes.clone()),
            content: patterns(&dialects.content),
            resource_noise: patterns(&dialects.resource_noise),
            known,
            dialect_names: dialects.names.clone(),
            sources: Vec::new(),
            names: schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .chain([TOTAL.to_owned()])
                .collect(),
        };
        Ok(Self { schema, rules })
    }

    /// Notes where a rule stands.
    pub(super) fn at<T>(&mut self, rule: &Sourced<T>, table: &'static str) -> u16 {
        self.rules.sources.push(rule.at(table, &self.rules.dialect_names));
        index(self.rules.sources.len() - 1)
    }

    /// The target of a column that dialects may fill.
    pub(super) fn target<T>(&self, name: &str, at: &Sourced<T>) -> Result<u16, DialectError> {
        let found = match self.schema.index_of(name) {
            Ok(found) => index(found),
            Err(_) if name == TOTAL => self.rules.known.total_tokens,
            Err(_) => return Err(at.error(format!("no column `{name}` in the table spans"))),
        };
        match self.rules.targets[usize::from(found)].shape {
            Shape::Reserved => Err(at.error(format!("column `{name}` is filled by the decoder itself"))),
            _ => Ok(found),
        }
    }

    pub(super) fn targets<T>(&self, names: &[String], at: &Sourced<T>) -> Result<Vec<u16>, DialectError> {
        names.iter().map(|name| self.target(name, at)).collect()
    }

    /// The number of a test on scopes.
    pub(super) fn when(&mut self, scope: &[Pattern], version: Option<&VersionRange>) -> u16 {
        self.rules.scopes.number(scope, version)
    }

    /// The slot of a span attribute.
    pub(super) fn attribute(&mut self, key: &str) -> u16 {
        let Rules { attributes, readers, content, .. } = &mut self.rules;
        slot(attributes, readers, content, key)
    }

    fn event(&mut self, event: &str, attribute: Option<&str>) -> u16 {
        let Rules { events, readers, .. } = &mut self.rules;
        let slots = events.entry(event.as_bytes().into()).or_default();
        let known = match attribute {
            None => slots.time,
            Some(key) => {
                slots.attributes.iter().find(|(known, _)| **known == *key.as_bytes()).map(|(_, slot)| *slot)
            }
        };
        known.unwrap_or_else(|| {
            let new = index(readers.len());
            readers.push(Vec::new());
            match attribute {
                None => slots.time = Some(new),
                Some(key) => slots.attributes.push((key.as_bytes().into(), new)),
            }
            new
        })
    }

    fn add_fields(&mut self, dialects: &Dialects) -> Result<(), DialectError> {
        let mut aliases = Vec::new();
        for field in &dialects.fields {
            let rule = &field.rule;
            let target = match rule.column.as_str() {
                ELAPSED if !rule.log.is_empty() => self.rules.known.elapsed,
                column => self.target(column, field)?,
            };
            let at = self.at(field, "field");
            let is_time = self.rules.targets[usize::from(target)].shape == Shape::Millis;
            let plus: Vec<_> = rule.plus.iter().map(|key| self.attribute(key)).collect();
            let constant = rule.value.iter().map(|value| Alias::at(Origin::Constant(value.clone())));
            for mut alias in rule.from.iter().cloned().chain(constant) {
                if let Origin::EventTime(_) = alias.origin {
                    alias.unit = Some(Unit::Ns);
                }
                match alias.unit {
                    None if is_time => return Err(field.error("a time needs its `unit`".to_owned())),
                    Some(_) if !is_time => return Err(field.error("only a time has a `unit`".to_owned())),
                    _ => aliases.push((target, alias, plus.clone(), rule.log.clone(), at)),
                }
            }
        }
        // Stable: within a target the order of precedence stays.
        aliases.sort_by_key(|(target, ..)| *target);
        for (target, alias, plus, log, at) in aliases {
            let number = index(self.rules.aliases.len());
            let slot = match &alias.origin {
                Origin::Attribute(key) => self.attribute(key),
                Origin::Resource(key) => {
                    let Rules { resources, readers, content, .. } = &mut self.rules;
                    slot(resources, readers, content, key)
                }
                Origin::Event { event, attribute } => self.event(event, Some(attribute)),
                Origin::EventTime(event) => self.event(event, None),
                Origin::Name(_) | Origin::LinkTrace | Origin::Constant(_) => NO_SLOT,
            };
            match self.rules.readers.get_mut(usize::from(slot)) {
                Some(readers) => readers.push(number),
                None => self.rules.slotless.push(number),
            }
            let when = self.when(&alias.scope, alias.version.as_ref());
            self.rules.aliases.push(AliasRule { target, slot, plus, when, log, alias, at });
        }
        Ok(())
    }

    fn add_folds(&mut self, dialects: &Dialects) -> Result<(), DialectError> {
        for fold in &dialects.folds {
            let target = self.target(&fold.rule.column, fold)?;
            let at = self.at(fold, "fold");
            let table = self.rules.targets[usize::from(target)].fold.get_or_insert_default();
            for (name, values) in &fold.rule.values {
                for value in values {
                    table.insert(value, Folded { value: Some(name.as_str().into()), at });
                }
            }
            for value in &fold.rule.drop {
                table.insert(value, Folded { value: None, at });
            }
        }
        Ok(())
    }
}

/// The slot of a key, made where there is none yet.
fn slot(
    slots: &mut FastMap<Box<[u8]>, Slot>,
    readers: &mut Vec<Vec<u16>>,
    content: &KeySet,
    key: &str,
) -> u16 {
    let slot = slots.entry(key.as_bytes().into()).or_insert_with(|| {
        readers.push(Vec::new());
        Slot { index: index(readers.len() - 1), content: content.contains(key.as_bytes()) }
    });
    slot.index
}

/// Dialect files are a few hundred lines: indices into them fit with much room.
pub(super) fn index(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(NO_SLOT)
}
