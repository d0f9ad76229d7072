//! A series said back in words, as it was understood.
//!
//! Invariant: start, length, repetition, exceptions and changes are all in the sentence.

use super::{Series, event::Length, moment::Place};

impl Series {
    /// The series in words, as it was understood.
    pub fn said(&self) -> String {
        let event = &self.event;
        let start = match event.start.place {
            Place::Day => event.start.local.date().to_string(),
            Place::Floating | Place::Zone(_) => event.start.local.strftime("%Y-%m-%d %H:%M").to_string(),
        };
        let rules: Vec<String> = event.rules.iter().map(ToString::to_string).collect();
        let mut said = match rules.is_empty() {
            true => format!("on {start}"),
            false if event.start_told => format!("{} from {start}", rules.join(" and ")),
            false if self.is_all_day() => rules.join(" and "),
            false => format!("{} at {}", rules.join(" and "), event.start.local.strftime("%H:%M")),
        };
        said += &match &event.length {
            Length::Days(1) => ", the whole day".to_owned(),
            Length::Days(days) => format!(", {days} whole days"),
            Length::Wall(span) => format!(", for {span:#}"),
            Length::Exact(time) => format!(", for {time:#}"),
        };
        said += &match (self.zone_name(), self.is_floating()) {
            (Some(zone), _) => format!(", in {zone}"),
            (None, true) => ", in the calendar's own zone".to_owned(),
            (None, false) => String::new(),
        };
        for (count, what) in
            [(event.more.len(), "added"), (event.except.len(), "left out"), (self.changes.len(), "changed")]
        {
            if count > 0 {
                said += &format!(", {count} {what}");
            }
        }
        if event.cancelled {
            said += ", cancelled";
        }
        said
    }
}
