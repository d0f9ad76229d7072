//! Admission against settlement: what calls reserve when they start, and what they turn out to use.
//!
//! A day's busiest minutes stand in one another: pale and outlined what was reserved, solid what was used.
//! What is pale was held back for nothing. The limit is the black line; days without telemetry carry a dot on
//! the base line.

use jiff::civil::Date;

use super::{
    axis,
    draw_limit::{Step, days_between, limit_points},
    scale::Linear,
    svg::{Anchor, Label, Placer, Svg},
};
use crate::format::{compact, day};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 242.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 708.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 212.0;

/// A local day's busiest minutes by both counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DayPair {
    pub(crate) day: Date,
    /// Reserved and used; `None` where there is no telemetry of that day.
    pub(crate) amounts: Option<(u64, u64)>,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    /// Every day of the history, in order, without gaps.
    pub(crate) days: Vec<DayPair>,
    /// In order of their dates.
    pub(crate) limits: Vec<Step>,
}

impl Admission {
    pub(crate) fn svg(&self, label: &Label) -> String {
        let mut svg = Svg::new(WIDTH, HEIGHT);
        let count = self.days.len().max(1) as f64;
        let day_width = (RIGHT - LEFT) / count;
        let x = Linear::new((0.0, count), (LEFT, RIGHT));
        let top = self.top();
        let y = Linear::new((0.0, top), (BOTTOM, TOP));
        axis::upright(&mut svg, &y, top, (LEFT, RIGHT));
        svg.rect("reserved", (LEFT, 5.0), (9.0, 9.0));
        svg.text("tick", (LEFT + 15.0, 13.0), Anchor::Start, "reserved, when calls start");
        svg.rect("bar", (LEFT + 196.0, 5.0), (9.0, 9.0));
        svg.text("tick", (LEFT + 211.0, 13.0), Anchor::Start, "used, when they have ended");
        let width = (day_width * 0.72).clamp(0.8, 14.0);
        for (place, each) in self.days.iter().enumerate() {
            let middle = x.at(place as f64 + 0.5);
            let Some((reserved, used)) = each.amounts else {
                svg.circle("gap", (middle, BOTTOM - 3.5), 1.8);
                continue;
            };
            for (class, amount) in [("reserved", reserved), ("bar", used)] {
                let at = y.at(amount as f64);
                if amount > 0 {
                    svg.rect(class, (middle - width / 2.0, at), (width, BOTTOM - at));
                }
            }
        }
        let first = self.days.first().map(|d| d.day);
        let left = |date: Date| first.map_or(LEFT, |first| x.at(days_between(first, date)));
        let limit = limit_points(&self.limits, left, |value| y.at(value as f64), (LEFT, RIGHT));
        if let Some((points, step)) = limit {
            svg.polyline("limit", &points);
            svg.line("limit", (LEFT + 392.0, 9.0), (LEFT + 410.0, 9.0));
            let text = format!("limit {}", compact(step.value as f64));
            svg.text("tick", (LEFT + 417.0, 13.0), Anchor::Start, &text);
        }
        let mut dates = Placer::default();
        let months = self.days.iter().enumerate().filter(|(i, d)| *i == 0 || d.day.day() == 1);
        for (place, each) in months.chain(self.days.iter().enumerate().next_back()) {
            let text = day(each.day);
            let at = x.at(place as f64 + 0.5);
            let found =
                dates.place(&format!(" {text} "), WIDTH + 12.0, [((at, BOTTOM + 19.0), Anchor::Middle)]);
            if let Some((point, anchor)) = found {
                svg.line("grid", (at, BOTTOM), (at, BOTTOM + 5.0));
                svg.text("tick", point, anchor, &text);
            }
        }
        svg.finish(label)
    }

    fn top(&self) -> f64 {
        let drawn = self.days.iter().filter_map(|d| d.amounts).flat_map(|(a, b)| [a, b]);
        let limits = self.limits.iter().map(|step| step.value);
        drawn.chain(limits).max().unwrap_or(1).max(1) as f64 * 1.08
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    /// Protects the legend: it names the limit that is drawn, not one that begins after the last day.
    #[test]
    fn a_limit_to_come_is_not_named() {
        let first = date(2026, 11, 1);
        let days = [first, date(2026, 11, 2)].map(|day| DayPair { day, amounts: Some((900, 300)) });
        let limits =
            vec![Step { from: None, value: 1_000 }, Step { from: Some(date(2026, 12, 1)), value: 2_000 }];
        let label = Label { id: "a".to_owned(), title: String::new(), desc: String::new() };
        let svg = Admission { days: days.to_vec(), limits }.svg(&label);
        assert!(svg.contains("limit 1,000") && !svg.contains("limit 2,000"));
    }
}
