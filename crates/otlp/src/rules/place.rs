//! Provider and region from the host that was called and the model's name.
//!
//! OpenTelemetry has no attribute for a provider's region, and clients call every compatible host
//! `openai`; host and model name settle both (facts/dialects.md par. 0, facts 5 and 6).

use crate::DialectError;
use crate::dialect::{Pattern, Place, Sourced};

/// One thing that a host or a model's name tells.
#[derive(Debug)]
pub(super) struct PlaceRule {
    on: On,
    provider: Option<Box<str>>,
    over: Vec<Box<str>>,
    at: u16,
}

#[derive(Debug)]
enum On {
    Host(Pattern),
    Model(Pattern),
}

impl PlaceRule {
    pub(super) fn new(place: &Sourced<Place>, at: u16) -> Result<Self, DialectError> {
        let Place { host, model, provider, over } = &place.rule;
        let on = match (host, model) {
            (Some(host), None) => On::Host(host.clone()),
            (None, Some(model)) => On::Model(model.clone()),
            _ => return Err(place.error("a place has either `host` or `model`".to_owned())),
        };
        Ok(Self {
            on,
            provider: provider.as_deref().map(Into::into),
            over: over.iter().map(|provider| provider.as_str().into()).collect(),
            at,
        })
    }
}

/// What the places tell.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Whereabouts<'a> {
    pub(super) provider: Option<&'a str>,
    pub(super) region: Option<String>,
    /// The rules that told them.
    pub(super) provider_at: Option<u16>,
    pub(super) region_at: Option<u16>,
}

/// Asks the places; remembers the last answer, since spans come in rows from one client.
#[derive(Debug)]
pub(super) struct Locator<'a> {
    places: &'a [PlaceRule],
    asked: [Option<String>; 3],
    told: Whereabouts<'a>,
}

impl<'a> Locator<'a> {
    pub(super) fn new(places: &'a [PlaceRule]) -> Self {
        Self { places, asked: [None, None, None], told: Whereabouts::default() }
    }

    /// What host, model and the provider that was said tell together.
    pub(super) fn locate(
        &mut self,
        host: Option<&str>,
        model: Option<&str>,
        said: Option<&str>,
    ) -> Whereabouts<'a> {
        let asked = [host, model, said];
        if !self.asked.iter().map(Option::as_deref).eq(asked) {
            self.asked = asked.map(|text| text.map(str::to_owned));
            self.told = locate(self.places, host, model, said);
        }
        self.told.clone()
    }
}

/// Goes through the places in their order: the first provider and the first region stand.
fn locate<'a>(
    places: &'a [PlaceRule],
    host: Option<&str>,
    model: Option<&str>,
    said: Option<&str>,
) -> Whereabouts<'a> {
    let mut found = Whereabouts::default();
    for place in places {
        let (pattern, text) = match &place.on {
            On::Host(pattern) => (pattern, host),
            On::Model(pattern) => (pattern, model),
        };
        let Some(hole) = text.and_then(|text| pattern.find(text)) else { continue };
        if found.region.is_none() && pattern.names_region() {
            found.region = Some(hole.to_owned());
            found.region_at = Some(place.at);
        }
        let may = said.is_none_or(|said| place.over.iter().any(|over| **over == *said));
        if found.provider.is_none() && may {
            found.provider = place.provider.as_deref();
            found.provider_at = Some(place.at);
        }
    }
    found
}
