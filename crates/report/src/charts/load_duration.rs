//! The load-duration curve: for what share of the minutes demand is at least so many units.
//!
//! Held units are a line across; the break-even utilisation is a rule down. Where the curve crosses
//! the rule is the number of units that pay for themselves.

use super::{
    scale::{self, Linear},
    svg::{Anchor, Label, Svg},
};
use crate::format::percent;

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 214.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 328.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 166.0;

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct LoadDuration {
    /// (share of minutes, units in demand), share ascending, units descending.
    pub(crate) points: Vec<(f64, f64)>,
    /// Name of the unit.
    pub(crate) unit: String,
    pub(crate) held: u64,
    pub(crate) recommended: u64,
    /// Utilisation above which a unit pays.
    pub(crate) break_even: Option<f64>,
}

impl LoadDuration {
    pub(crate) fn svg(&self, label: &Label) -> String {
        let mut svg = Svg::new(WIDTH, HEIGHT);
        let highest = self.points.iter().map(|p| p.1).fold(0.0, f64::max);
        let top = highest.max(self.held as f64).max(self.recommended as f64).max(1.0) * 1.06;
        let x = Linear::new((0.0, 1.0), (LEFT, RIGHT));
        let y = Linear::new((0.0, top), (BOTTOM, TOP));
        for (value, text) in scale::ticks(top, 4) {
            svg.line("grid", (LEFT, y.at(value)), (RIGHT, y.at(value)));
            svg.text("tick", (LEFT - 7.0, y.at(value) + 4.0), Anchor::End, &text);
        }
        for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
            svg.text("tick", (x.at(share), BOTTOM + 16.0), Anchor::Middle, &percent(share));
        }
        svg.text(
            "tick",
            (x.at(0.5), BOTTOM + 33.0),
            Anchor::Middle,
            "share of minutes with at least this demand",
        );
        if let Some(share) = self.break_even.filter(|s| (0.0..=1.0).contains(s)) {
            let at = x.at(share);
            let text = format!("break-even {}", percent(share));
            svg.line("file", (at, TOP), (at, BOTTOM));
            if share > 0.5 {
                svg.text("tick brk", (at - 4.0, TOP + 6.0), Anchor::End, &text);
            } else {
                svg.text("tick brk", (at + 4.0, TOP + 6.0), Anchor::Start, &text);
            }
        }
        let curve: Vec<(f64, f64)> = self.points.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
        svg.polyline("ld", &curve);
        self.level(&mut svg, &y, "reserve", "held", self.held, true);
        if self.recommended != self.held {
            self.level(&mut svg, &y, "reserve-new", "recommended", self.recommended, false);
        }
        svg.finish(label)
    }

    /// A line across, named at its right end, above it or below it.
    fn level(&self, svg: &mut Svg, y: &Linear, class: &str, word: &str, units: u64, above: bool) {
        let at = y.at(units as f64);
        let text = format!("{word} {units} {}", self.unit);
        // Clear of the rule where that stands near the right end.
        let rule = LEFT + (RIGHT - LEFT) * self.break_even.unwrap_or(0.0);
        let end = if (RIGHT - 110.0..=RIGHT).contains(&rule) { rule - 4.0 } else { RIGHT };
        // Below the line the text would run into the axis where the line is the axis.
        let offset = if above || at > BOTTOM - 16.0 { -5.0 } else { 13.0 };
        svg.line(class, (LEFT, at), (RIGHT, at));
        svg.text("tick ink", (end, at + offset), Anchor::End, &text);
    }
}
