//! What is noted while a span is read, where somebody asked for it, and what the notes say.
//!
//! `reading` takes the notes; they are indices into [`Rules`], and become text here, after the span.

use std::borrow::Cow;

use super::compile::{AliasRule, NO_SLOT, Rules, Slot};
use crate::dialect::Origin;
use crate::explain::{Effect, Fate, Ignored, Outcome, Place, Reasons, Rule};
use crate::text;
use crate::wire::{Event, Span};

/// One thing that was seen.
#[derive(Debug, Clone)]
pub(crate) enum Note {
    /// A rule told the kind, by an attribute if there is a slot.
    Kind { at: u16, slot: u16 },
    /// A place was tried.
    Place { alias: u16, slot: u16, outcome: Outcome, value: Option<String> },
    /// A rule did something, or the decoder by itself.
    Effect { at: Option<u16>, says: String },
}

/// The notes on one span; none are taken unless somebody asked.
#[derive(Debug, Default)]
pub(crate) struct Notes(Option<Vec<Note>>);

impl Notes {
    /// Begins to take notes.
    pub(super) fn start(&mut self) {
        self.0 = Some(Vec::new());
    }

    pub(super) fn clear(&mut self) {
        if let Some(notes) = &mut self.0 {
            notes.clear();
        }
    }

    #[inline]
    pub(super) fn are_taken(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a place won that stands in this slot, or what stands there told the kind.
    fn gave(&self, wanted: u16) -> bool {
        let gave = |note: &Note| match note {
            Note::Place { slot, outcome: Outcome::Won, .. } | Note::Kind { slot, .. } => *slot == wanted,
            _ => false,
        };
        wanted != NO_SLOT && self.0.iter().flatten().any(gave)
    }

    /// Adds a note, which is made only where notes are taken.
    #[inline]
    pub(super) fn add(&mut self, note: impl FnOnce() -> Note) {
        if let Some(notes) = &mut self.0 {
            notes.push(note());
        }
    }

    /// Adds what a rule did.
    #[inline]
    pub(super) fn effect(&mut self, at: impl Into<Option<u16>>, says: impl FnOnce() -> String) {
        self.add(|| Note::Effect { at: at.into(), says: says() });
    }

    /// What the notes say, by the rules they point to.
    pub(super) fn told(&self, rules: &Rules) -> Reasons {
        let mut reasons = Reasons::default();
        for note in self.0.iter().flatten() {
            match note {
                Note::Kind { at, slot } => {
                    let says = rules.attribute_name(*slot).unwrap_or("its name, kind or columns").to_owned();
                    reasons.kind = Some(Effect { says, rule: rules.source(*at) });
                }
                Note::Place { alias, outcome, value, .. } => {
                    reasons.places.extend(place(rules, *alias, *outcome, value.clone()));
                }
                Note::Effect { at, says } => {
                    let rule = (*at).and_then(|at| rules.source(at));
                    reasons.effects.push(Effect { says: says.clone(), rule });
                }
            }
        }
        reasons
    }
}

fn place(rules: &Rules, alias: u16, outcome: Outcome, value: Option<String>) -> Option<Place> {
    let rule = rules.aliases.get(usize::from(alias))?;
    // A name, a link or a path that says nothing was not sent: there is nothing to tell.
    let unsent = rule.slot == NO_SLOT || (rule.alias.json.is_some() && outcome == Outcome::Empty);
    if unsent && outcome != Outcome::Won {
        return None;
    }
    let column = rules.column_name(rule.target).to_owned();
    Some(Place { column, origin: origin(rule), outcome, value, rule: rules.source(rule.at)? })
}

/// The place in words.
fn origin(rule: &AliasRule) -> String {
    let mut words: Cow<'_, str> = match &rule.alias.origin {
        Origin::Attribute(key) => key.into(),
        Origin::Resource(key) => format!("resource {key}").into(),
        Origin::Event { event, attribute } => format!("event {event}, {attribute}").into(),
        Origin::EventTime(event) => format!("event {event}, its time").into(),
        Origin::Name(_) => "span name".into(),
        Origin::LinkTrace => "first link".into(),
        Origin::Constant(_) => "the rule itself".into(),
    };
    if let Some(path) = rule.alias.json.as_deref().filter(|path| !path.is_empty()) {
        words = format!("{words} / {}", path.join(" / ")).into();
    }
    words.into_owned()
}

/// What the span carries that gave nothing to any column: `slots` are those of its attributes.
pub(super) fn ignored(rules: &Rules, span: &Span<'_>, slots: &[Slot], notes: &Notes) -> Vec<Ignored> {
    let name = |name: &[u8]| text::cut(&String::from_utf8_lossy(name)).to_owned();
    let attributes = span.attributes.iter().zip(slots).filter(|(_, slot)| !notes.gave(slot.index));
    let attributes = attributes.map(|(attribute, slot)| {
        let name = name(attribute.key);
        let fate = if slot.content { Fate::Content } else { Fate::Kept };
        Ignored { like_usage: speaks_of_usage(&name), name, fate }
    });
    let mut events: Vec<Ignored> = Vec::new();
    for event in span.events.iter().filter_map(|event| Event::read(event).ok()) {
        let called = format!("event {}", name(event.name));
        if !rules.events.contains_key(event.name) && events.iter().all(|known| known.name != called) {
            events.push(Ignored { name: called, fate: Fate::Unread, like_usage: false });
        }
    }
    attributes.chain(events).collect()
}

/// Names that speak of used tokens, and not of the most that may be used.
fn speaks_of_usage(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let speaks = name.contains("usage") || (name.contains("token") && !name.contains("max"));
    speaks && !name.contains("cost")
}

impl Rules {
    /// The span attribute that a slot is for.
    fn attribute_name(&self, slot: u16) -> Option<&str> {
        let (key, _) = self.attributes.iter().find(|(_, known)| known.index == slot)?;
        std::str::from_utf8(key).ok()
    }

    /// Where a rule stands.
    fn source(&self, at: u16) -> Option<Rule> {
        self.sources.get(usize::from(at)).cloned()
    }
}
