//! The busiest minute, by workflow: who is in it, beside what each of them draws in its own.
//!
//! The first bar is the minute itself, cut into its parts; below it each part stands alone, filled, in
//! the outline of that workflow's own busiest minute. Parts have the strength of their rows, and every
//! row its name and figures, so that nothing is told by shade alone.

use super::{
    axis,
    scale::Linear,
    svg::{Anchor, Label, Svg, shorten},
};
use crate::format::compact;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 22.0;
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;

/// Strength of the first part and of each next, down to the palest.
const STRENGTHS: [f64; 6] = [1.0, 0.72, 0.52, 0.38, 0.27, 0.18];

/// One workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) name: String,
    /// In the busiest minute of all together.
    pub(crate) amount: u64,
    /// In its own busiest minute; `None` for what several are summed to.
    pub(crate) own_peak: Option<u64>,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct BusyMinute {
    /// The largest part first.
    pub(crate) parts: Vec<Share>,
    /// Limit in force today.
    pub(crate) limit: Option<u64>,
}

impl BusyMinute {
    /// The whole minute.
    pub(crate) fn total(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.amount))
    }

    pub(crate) fn svg(&self, label: &Label) -> String {
        let bottom = TOP + ROW * (self.parts.len() as f64 + 1.0);
        let mut svg = Svg::new(WIDTH, bottom + 40.0);
        let top = self.top();
        let x = Linear::new((0.0, top), (LEFT, RIGHT));
        axis::across(&mut svg, &x, top, (TOP, bottom));
        svg.text("lab b", (LEFT - 12.0, TOP + 13.0), Anchor::End, "all together");
        let mut sum = 0_u64;
        for (i, part) in self.parts.iter().enumerate() {
            let from = x.at(sum as f64);
            sum = sum.saturating_add(part.amount);
            let width = (x.at(sum as f64) - from - 1.0).max(if part.amount > 0 { 0.6 } else { 0.0 });
            svg.shade("bar", (from, TOP), (width, BAR), strength(i));
            self.row(&mut svg, &x, i, part);
        }
        self.figure(&mut svg, &x, "lab b halo", TOP, sum as f64, &compact(sum as f64));
        if let Some(limit) = self.limit {
            axis::limit_today(&mut svg, &x, limit, (TOP - 10.0, bottom), bottom + 31.0);
        }
        svg.finish(label)
    }

    /// A workflow alone: its part, in the outline of its own busiest minute.
    fn row(&self, svg: &mut Svg, x: &Linear, i: usize, part: &Share) {
        let y = TOP + ROW * (i as f64 + 1.0);
        svg.text("lab", (LEFT - 12.0, y + 13.0), Anchor::End, &shorten(&part.name, 26));
        let width = x.at(part.amount as f64) - LEFT;
        svg.shade("bar", (LEFT, y), (width.max(0.0), BAR), strength(i));
        let own = part.own_peak.filter(|own| *own > part.amount);
        if let Some(own) = own {
            svg.rect("bar-own", (LEFT, y), (x.at(own as f64) - LEFT, BAR));
        }
        let figure = match own {
            Some(own) => format!("{} of {}", compact(part.amount as f64), compact(own as f64)),
            None => compact(part.amount as f64),
        };
        self.figure(svg, x, "lab halo", y, own.unwrap_or(part.amount) as f64, &figure);
    }

    /// A figure behind its bar, clear of the line of the limit.
    fn figure(&self, svg: &mut Svg, x: &Linear, class: &str, y: f64, value: f64, text: &str) {
        let at = axis::behind(x, x.at(value), 7.0, text, self.limit);
        svg.text(class, (at, y + 13.0), Anchor::Start, text);
    }

    fn top(&self) -> f64 {
        let own = self.parts.iter().filter_map(|part| part.own_peak);
        own.chain([self.total()]).chain(self.limit).max().unwrap_or(1).max(1) as f64
    }
}

fn strength(place: usize) -> f64 {
    STRENGTHS.get(place).or(STRENGTHS.last()).copied().unwrap_or(1.0)
}
