//! P50 to P95 of several things on one logarithmic axis, with the n behind each.
//!
//! Input tokens are filled circles, output tokens hollow squares: shape tells them apart where
//! colour does not.

use super::{
    scale::{self, Log},
    svg::{Anchor, Label, Svg, shorten, text_width},
};
use crate::format::{compact, group};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 590.0;
const TOP: f64 = 30.0;
const ROW: f64 = 46.0;
const LINE: f64 = 19.0;

/// One range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) n: u64,
}

/// What one row shows; a part that is not known is left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RangeRow {
    pub(crate) name: String,
    pub(crate) input: Option<Range>,
    pub(crate) output: Option<Range>,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Dumbbell {
    pub(crate) rows: Vec<RangeRow>,
}

impl Dumbbell {
    pub(crate) fn svg(&self, label: &Label) -> String {
        let bottom = TOP + ROW * self.rows.len() as f64;
        let mut svg = Svg::new(WIDTH, bottom + 26.0);
        let domain = self.domain();
        let x = Log::new(domain, (LEFT, RIGHT));
        for (value, text) in scale::decades(domain) {
            svg.line("grid", (x.at(value), TOP - 6.0), (x.at(value), bottom));
            svg.text("tick", (x.at(value), bottom + 16.0), Anchor::Middle, &text);
        }
        svg.circle("dot", (LEFT + 4.0, 9.0), 4.0);
        svg.text("tick", (LEFT + 13.0, 13.0), Anchor::Start, "input tokens a run, P50 to P95");
        svg.rect("dot-out", (LEFT + 210.0, 5.0), (8.0, 8.0));
        svg.text("tick", (LEFT + 224.0, 13.0), Anchor::Start, "output tokens a run");
        svg.text("tick", (WIDTH - 2.0, 13.0), Anchor::End, "runs known, n");
        for (i, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW * i as f64 + 10.0;
            svg.text("lab", (LEFT - 14.0, y + 14.0), Anchor::End, &shorten(&row.name, 26));
            for (range, output, line) in [(&row.input, false, y), (&row.output, true, y + LINE)] {
                if let Some(range) = range {
                    draw(&mut svg, &x, range, output, line);
                }
            }
        }
        svg.finish(label)
    }

    /// Whole decades around all values.
    fn domain(&self) -> (f64, f64) {
        let values = || {
            self.rows
                .iter()
                .flat_map(|r| [&r.input, &r.output])
                .flatten()
                .flat_map(|r| [r.p50, r.p95])
                .filter(|v| *v >= 1.0 && v.is_finite())
        };
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(1.0, f64::max);
        let low = if low.is_finite() { low } else { 1.0 };
        let from = 10f64.powf(low.log10().floor());
        (from, 10f64.powf(high.log10().ceil()).max(from * 10.0))
    }
}

fn draw(svg: &mut Svg, x: &Log, range: &Range, output: bool, y: f64) {
    let (from, to) = (x.at(range.p50), x.at(range.p95));
    svg.line("range", (from, y), (to, y));
    for at in [from, to] {
        if output {
            svg.rect("dot-out", (at - 4.0, y - 4.0), (8.0, 8.0));
        } else {
            svg.circle("dot", (at, y), 4.5);
        }
    }
    let p50 = compact(range.p50);
    let left = from - 9.0;
    // Where the first figure would leave the plot it joins the second.
    if left - text_width(&p50) < LEFT - 8.0 {
        let both = format!("{p50} to {}", compact(range.p95));
        svg.text("tick ink", (to + 9.0, y + 4.0), Anchor::Start, &both);
    } else {
        svg.text("tick ink", (left, y + 4.0), Anchor::End, &p50);
        svg.text("tick ink", (to + 9.0, y + 4.0), Anchor::Start, &compact(range.p95));
    }
    svg.text("tick", (WIDTH - 2.0, y + 4.0), Anchor::End, &group(range.n));
}
