//! From demand to the ask, one bar a step: each starts where the one before it ended.
//!
//! Every bar is named at its left and carries its figure, so that colour only repeats what the text
//! says. The limit of today is a line through all of them.

use super::{
    axis,
    scale::Linear,
    svg::{Anchor, Label, Svg, shorten},
};
use crate::format::compact;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 206.0;
const RIGHT: f64 = 640.0;
const ROW: f64 = 31.0;
const BAR: f64 = 21.0;
const TOP: f64 = 12.0;

/// What a bar stands for; it gives the bar its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// Measured demand.
    Demand,
    /// What the percentile adds.
    Percentile,
    /// What the policy adds on top of need.
    Headroom,
    /// What replay adds to the figure made by hand, or takes away.
    Replay,
    /// What a later instant of the horizon needs on top.
    Later,
    /// What rounding to the provider's step adds.
    Step,
}

impl PartKind {
    fn class(self) -> &'static str {
        match self {
            Self::Demand => "w-demand",
            Self::Percentile => "w-forecast",
            Self::Headroom => "w-threshold",
            Self::Replay => "w-replay",
            Self::Later => "w-later",
            Self::Step => "w-grey",
        }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// What it adds; negative where it takes away.
    pub(crate) delta: i64,
    pub(crate) kind: PartKind,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Waterfall {
    /// From the first amount on; their sum is `total`.
    pub(crate) parts: Vec<Part>,
    /// What the last bar is called.
    pub(crate) total_name: String,
    pub(crate) total: u64,
    /// Limit in force today.
    pub(crate) limit: Option<u64>,
}

impl Waterfall {
    pub(crate) fn svg(&self, label: &Label) -> String {
        let rows = self.parts.len() as f64 + 1.0;
        let floor = TOP + rows * ROW;
        let mut svg = Svg::new(WIDTH, floor + 24.0);
        let x = Linear::new((0.0, self.top()), (LEFT, RIGHT));
        let row_y = |row: usize| TOP + ROW * row as f64;
        let mut sum = 0_i64;
        for (row, part) in self.parts.iter().enumerate() {
            let before = sum;
            sum = sum.saturating_add(part.delta);
            let (low, high) = (before.min(sum) as f64, before.max(sum) as f64);
            let y = row_y(row);
            svg.text("lab", (LEFT - 10.0, y + 15.0), Anchor::End, &shorten(&part.name, 32));
            svg.rect(part.kind.class(), (x.at(low), y), (x.at(high) - x.at(low), BAR));
            // A hairline leads on to the next bar.
            svg.line("grid", (x.at(sum as f64), y + BAR), (x.at(sum as f64), y + ROW));
            let sign = if row > 0 && part.delta >= 0 { "+" } else { "" };
            let figure = format!("{sign}{}", compact(part.delta as f64));
            let at = axis::behind(&x, x.at(high), 6.0, &figure, self.limit);
            svg.text("lab halo", (at, y + 15.0), Anchor::Start, &figure);
        }
        let y = row_y(self.parts.len());
        svg.text("lab b", (LEFT - 10.0, y + 15.0), Anchor::End, &self.total_name);
        svg.rect("w-ask", (LEFT, y), (x.at(self.total as f64) - LEFT, BAR));
        let figure = compact(self.total as f64);
        let at = axis::behind(&x, x.at(self.total as f64), 6.0, &figure, self.limit);
        svg.text("lab b halo", (at, y + 15.0), Anchor::Start, &figure);
        if let Some(limit) = self.limit {
            axis::limit_today(&mut svg, &x, limit, (3.0, floor - 2.0), floor + 13.0);
        }
        svg.finish(label)
    }

    fn top(&self) -> f64 {
        let mut sum = 0_i64;
        let reached = self.parts.iter().map(|part| {
            sum = sum.saturating_add(part.delta);
            sum.unsigned_abs()
        });
        reached.chain([self.total]).chain(self.limit).max().unwrap_or(1).max(1) as f64
    }
}
