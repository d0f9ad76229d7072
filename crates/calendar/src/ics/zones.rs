//! The zone that a `TZID` means.
//!
//! IANA names, the Windows names of Outlook (by the Unicode CLDR's table, `windows-zones.csv`), names
//! with a vendor's path before them, and the file's own `VTIMEZONE` rules. Invariant: a name that none
//! of these explains is refused.

use std::{cell::RefCell, collections::BTreeMap};

use jiff::{
    civil::date,
    tz::{TimeZone, TimeZoneDatabase},
};

use super::{content::Component, zone_rules::own_rules};

/// Windows name, IANA name: the territory `001` rows of CLDR's windowsZones.xml.
const WINDOWS: &str = include_str!("windows-zones.csv");

/// The zones of one file.
#[derive(Debug, Default)]
pub(crate) struct Zones {
    /// The file's own rules, where they could be read, by `TZID`.
    own: BTreeMap<String, Option<TimeZone>>,
    /// Another name that the file gives for the same zone.
    location: BTreeMap<String, String>,
    found: RefCell<BTreeMap<String, TimeZone>>,
    notes: RefCell<Vec<String>>,
}

impl Zones {
    /// From the `VTIMEZONE`s of a calendar.
    pub(crate) fn read(calendar: &Component) -> Self {
        let mut zones = Self::default();
        for component in calendar.children.iter().filter(|child| child.name == "VTIMEZONE") {
            let Some(id) = component.get("TZID") else { continue };
            zones.own.insert(id.value.clone(), own_rules(component));
            if let Some(location) = component.get("X-LIC-LOCATION") {
                zones.location.insert(id.value.clone(), location.value.clone());
            }
        }
        zones
    }

    /// The zone of a name, or why there is none.
    pub(crate) fn find(&self, id: &str) -> Result<TimeZone, String> {
        if let Some(zone) = self.found.borrow().get(id) {
            return Ok(zone.clone());
        }
        let known = known(id).or_else(|| known(self.location.get(id)?));
        let own = self.own.get(id).cloned().flatten();
        let zone = match (own, known) {
            // The built-in rules know the past too, which a file's own mostly don't.
            (Some(own), Some(known)) if agree(&own, &known) => known,
            (Some(own), known) => {
                if known.is_some() {
                    self.notes.borrow_mut().push(format!(
                        "the file's own rules for the zone `{id}` differ from the IANA database, and are used"
                    ));
                }
                own
            }
            (None, Some(known)) => known,
            (None, None) => {
                return Err(format!(
                    "the zone `{id}` is unknown, and the file has no usable VTIMEZONE for it; write an IANA name such as Europe/Berlin"
                ));
            }
        };
        self.found.borrow_mut().insert(id.to_owned(), zone.clone());
        Ok(zone)
    }

    /// What a reader should know of the zones that were used.
    pub(crate) fn into_notes(self) -> Vec<String> {
        self.notes.into_inner()
    }
}

/// A zone by its IANA name, its Windows name, or either behind a vendor's path
/// (`/freeassociation.sourceforge.net/Europe/Berlin`, `tzone://Microsoft/Utc`).
fn known(id: &str) -> Option<TimeZone> {
    let database = TimeZoneDatabase::bundled();
    let id = id.trim();
    let plain = |name: &str| {
        let windows = WINDOWS.lines().filter_map(|row| row.split_once(','));
        let iana = windows.into_iter().find(|(windows, _)| windows.eq_ignore_ascii_case(name));
        database.get(iana.map_or(name, |(_, iana)| iana)).ok()
    };
    plain(id).or_else(|| {
        let parts: Vec<&str> = id.split('/').collect();
        (1..parts.len()).find_map(|at| plain(&parts.get(at..)?.join("/")))
    })
}

/// Whether two zones have the same offsets in every week of the years that a plan may look at.
fn agree(one: &TimeZone, other: &TimeZone) -> bool {
    let first = date(2024, 1, 1).at(12, 0, 0, 0);
    (0..52 * 8).all(|week| {
        let Ok(local) = first.checked_add(jiff::Span::new().weeks(week)) else { return true };
        one.to_timestamp(local).ok() == other.to_timestamp(local).ok()
    })
}
