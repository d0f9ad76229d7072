//! The load-duration curve: for what share of the time demand is at least so many units.
//!
//! Held units are a line across; the break-even utilisation is a rule down. Where the curve crosses
//! the rule is the number of units that pay for themselves. Beside the whole stands the busiest
//! hundredth on a logarithmic axis of shares, over the same units, where enough of it is known.

use super::{
    scale::{self, Linear, Log},
    svg::{Anchor, Label, Placer, Svg},
};
use crate::format::{fixed, percent};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 226.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 708.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 172.0;

/// Where the whole ends and the busiest hundredth begins, where both are drawn.
const PANELS: (f64, f64) = (388.0, 450.0);

/// Share of the minutes that is drawn apart.
const HEAD: f64 = 0.01;

/// Points of the curve within it that make it worth drawing.
const ENOUGH_POINTS: usize = 5;

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
        let highest = self.points.iter().map(|p| p.1).filter(|v| v.is_finite()).fold(0.0, f64::max);
        let top = highest.max(self.held as f64).max(self.recommended as f64).max(1.0) * 1.06;
        let y = Linear::new((0.0, top), (BOTTOM, TOP));
        let head: Vec<(f64, f64)> =
            self.points.iter().copied().filter(|p| p.0 > 0.0 && p.0 <= HEAD + 1e-9).collect();
        let zoomed = head.len() >= ENOUGH_POINTS;
        let right = if zoomed { PANELS.0 } else { RIGHT };
        let x = Linear::new((0.0, 1.0), (LEFT, right));
        for (value, text) in scale::ticks(top, 4) {
            svg.line("grid", (LEFT, y.at(value)), (right, y.at(value)));
            if zoomed {
                svg.line("grid", (PANELS.1, y.at(value)), (RIGHT, y.at(value)));
            }
            svg.text("tick", (LEFT - 7.0, y.at(value) + 4.0), Anchor::End, &text);
        }
        for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
            svg.text("tick", (x.at(share), BOTTOM + 16.0), Anchor::Middle, &percent(share));
        }
        let caption = format!("share of the time with at least so many {}", self.unit);
        svg.text("tick", (x.at(0.5), BOTTOM + 34.0), Anchor::Middle, &caption);
        let mut placer = Placer::default();
        let curve: Vec<(f64, f64)> = self.points.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
        for pair in curve.windows(2) {
            if let [a, b] = pair {
                placer.block((a.0 - 1.0, a.1 - 1.0), (b.0 + 1.0, b.1 + 1.0));
            }
        }
        self.levels(&mut svg, &y, (LEFT, right));
        if let Some(share) = self.break_even.filter(|s| (0.0..=1.0).contains(s)) {
            let at = x.at(share);
            svg.line("file", (at, TOP), (at, BOTTOM));
            placer.block((at - 1.0, TOP), (at + 1.0, BOTTOM));
            let text = format!("break-even {}", percent(share));
            self.place(&mut svg, &mut placer, &y, "tick brk", &text, at);
        }
        svg.polyline("ld", &curve);
        self.names(&mut svg, &mut placer, &y, right);
        if zoomed {
            self.busiest(&mut svg, &y, &head);
        }
        svg.finish(label)
    }

    /// The busiest hundredth of the minutes.
    fn busiest(&self, svg: &mut Svg, y: &Linear, head: &[(f64, f64)]) {
        let first = head.first().map_or(HEAD, |p| p.0);
        let from = 10f64.powf(first.log10().floor()).max(1e-6);
        let x = Log::new((from, HEAD), (PANELS.1, RIGHT));
        self.levels(svg, y, (PANELS.1, RIGHT));
        let peak = self.points.first().map(|p| (x.at(from), y.at(p.1)));
        let curve: Vec<(f64, f64)> =
            peak.into_iter().chain(head.iter().map(|p| (x.at(p.0), y.at(p.1)))).collect();
        svg.polyline("ld", &curve);
        for (share, _) in scale::decades((from, HEAD)) {
            let text = format!("{} %", fixed(share * 100.0, 4));
            svg.text("tick", (x.at(share), BOTTOM + 16.0), Anchor::Middle, &text);
        }
        svg.text(
            "tick",
            ((PANELS.1 + RIGHT) / 2.0, BOTTOM + 34.0),
            Anchor::Middle,
            "the busiest 1 % of it, logarithmic",
        );
    }

    /// The lines across: what is held, and what is recommended instead.
    fn levels(&self, svg: &mut Svg, y: &Linear, (left, right): (f64, f64)) {
        svg.line("reserve", (left, y.at(self.held as f64)), (right, y.at(self.held as f64)));
        if self.recommended != self.held {
            let at = y.at(self.recommended as f64);
            svg.line("reserve-new", (left, at), (right, at));
        }
    }

    /// Their names, at the right, above or below the line.
    fn names(&self, svg: &mut Svg, placer: &mut Placer, y: &Linear, right: f64) {
        let recommended = (self.recommended != self.held).then_some(("recommended", self.recommended));
        for (word, units) in [("held", self.held)].into_iter().chain(recommended) {
            let at = y.at(units as f64);
            let text = format!("{word} {units} {}", self.unit);
            let places = (0..12).flat_map(|i| {
                let x = right - 4.0 - 22.0 * f64::from(i);
                [((x, at - 6.0), Anchor::End), ((x, at + 14.0), Anchor::End)]
            });
            let places = places.filter(|((_, y), _)| *y < BOTTOM - 1.0);
            if let Some((point, anchor)) = placer.place(&text, WIDTH, places) {
                svg.text("tick ink", point, anchor, &text);
            }
        }
    }

    /// The name of a rule, beside it where it touches neither a curve nor a line across.
    fn place(&self, svg: &mut Svg, placer: &mut Placer, y: &Linear, class: &str, text: &str, at: f64) {
        for units in [self.held, self.recommended] {
            let level = y.at(units as f64);
            placer.block((LEFT, level - 1.0), (RIGHT, level + 1.0));
        }
        let places = (0..8).flat_map(|i| {
            let y = TOP + 6.0 + 17.0 * f64::from(i);
            [((at - 5.0, y), Anchor::End), ((at + 5.0, y), Anchor::Start)]
        });
        if let Some((point, anchor)) = placer.place(text, WIDTH, places) {
            svg.text(class, point, anchor, text);
        }
    }
}
