//! The forecast held against what happened: one row a past occurrence.
//!
//! A tick is what was as likely exceeded as not, the whisker ends at P95, a dot is what was measured.
//! Where a limit refused something the dot is a hollow triangle, since the truth lies at it or to its
//! right. What the plan declares instead of forecasting is a grey line through the rows of that event.

use super::{
    axis,
    scale::Linear,
    svg::{Anchor, Label, Svg, shorten, text_width},
};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 206.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 34.0;
const ROW: f64 = 27.0;

/// One occurrence.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    /// "month-end close, 30 Oct 2026".
    pub(crate) name: String,
    /// P50 and P95 of the forecast from what was known before; `None` where nothing was.
    pub(crate) forecast: Option<(f64, f64)>,
    pub(crate) actual: f64,
    /// What was measured is a lower bound.
    pub(crate) censored: bool,
    /// The rate that the spec declares for the next one.
    pub(crate) declared: Option<f64>,
    /// What became of the forecast, in words.
    pub(crate) verdict: String,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Scorecard {
    pub(crate) rows: Vec<Scored>,
    /// What the axis counts.
    pub(crate) unit: String,
}

impl Scorecard {
    pub(crate) fn svg(&self, label: &Label) -> String {
        let bottom = TOP + ROW * self.rows.len() as f64;
        let mut svg = Svg::new(WIDTH, bottom + 36.0);
        let top = self.top();
        let x = Linear::new((0.0, top), (LEFT, RIGHT));
        axis::across(&mut svg, &x, top, (TOP, bottom));
        svg.text("tick", (LEFT, bottom + 31.0), Anchor::Start, &self.unit);
        self.legend(&mut svg);
        for (i, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW * i as f64 + 10.0;
            svg.text("lab", (LEFT - 12.0, y + 4.0), Anchor::End, &shorten(&row.name, 30));
            if let Some(declared) = row.declared {
                svg.line("declared", (x.at(declared), y - 11.0), (x.at(declared), y + 11.0));
            }
            if let Some((p50, p95)) = row.forecast {
                svg.line("whisk", (x.at(p50), y), (x.at(p95), y));
                svg.line("whisk", (x.at(p95), y - 5.0), (x.at(p95), y + 5.0));
                svg.line("tick50", (x.at(p50), y - 7.0), (x.at(p50), y + 7.0));
            }
            let actual = x.at(row.actual);
            if row.censored {
                svg.triangle("cens", (actual, y + 4.5), 10.0);
            } else {
                svg.circle("dot", (actual, y), 4.2);
            }
            svg.text("tick ink", (WIDTH - 2.0, y + 4.0), Anchor::End, &row.verdict);
        }
        svg.finish(label)
    }

    /// The marks, each with its word; only those that occur.
    fn legend(&self, svg: &mut Svg) {
        let y = 9.0;
        let mut x = LEFT;
        let any = |wanted: fn(&Scored) -> bool| self.rows.iter().any(wanted);
        let mut word = |svg: &mut Svg, shown: bool, text: &str, mark: fn(&mut Svg, f64, f64)| {
            if shown {
                mark(svg, x, y);
                svg.text("tick", (x + 21.0, y + 4.0), Anchor::Start, text);
                x += 21.0 + text_width(text) + 14.0;
            }
        };
        word(svg, any(|r| !r.censored), "measured", |svg, x, y| svg.circle("dot", (x + 8.0, y), 4.2));
        word(svg, any(|r| r.censored), "at least", |svg, x, y| {
            svg.triangle("cens", (x + 8.0, y + 4.5), 10.0)
        });
        word(svg, any(|r| r.forecast.is_some()), "forecast, P50 to P95", |svg, x, y| {
            svg.line("whisk", (x, y), (x + 15.0, y));
            svg.line("whisk", (x + 15.0, y - 5.0), (x + 15.0, y + 5.0));
            svg.line("tick50", (x, y - 6.0), (x, y + 6.0));
        });
        word(svg, any(|r| r.declared.is_some()), "declared in plan.toml", |svg, x, y| {
            svg.line("declared", (x + 8.0, y - 7.0), (x + 8.0, y + 7.0));
        });
    }

    fn top(&self) -> f64 {
        let values = self.rows.iter().flat_map(|r| {
            let (p50, p95) = r.forecast.unwrap_or((0.0, 0.0));
            [p50, p95, r.actual, r.declared.unwrap_or(0.0)]
        });
        let top = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        if top > 0.0 { top * 1.05 } else { 1.0 }
    }
}
