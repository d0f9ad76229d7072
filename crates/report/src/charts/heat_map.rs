//! Hour by weekday: when a pool is busy.
//!
//! One hue, stronger for more. An hour of the week in which nothing was ever measured is struck
//! through instead of shaded, since it is not known to be zero.

use super::svg::{Anchor, Label, Svg};
use crate::format::compact;

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 214.0;
const LEFT: f64 = 36.0;
const TOP: f64 = 14.0;
const CELL: (f64, f64) = (12.3, 20.5);
const GAP: f64 = 1.0;

/// Strength of the palest shade, so that a small value differs from none.
const PALEST: f64 = 0.08;

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct HeatMap {
    /// By weekday from Monday, then by local hour; `None` where nothing was measured.
    pub(crate) cells: [[Option<f64>; 24]; 7],
    /// What the hours are hours of: "New York, median of 10 weeks".
    pub(crate) caption: String,
}

impl HeatMap {
    pub(crate) fn svg(&self, label: &Label) -> String {
        let mut svg = Svg::new(WIDTH, HEIGHT);
        let most = self.cells.iter().flatten().flatten().copied().fold(0.0, f64::max);
        let size = (CELL.0 - GAP, CELL.1 - GAP);
        for (weekday, hours) in self.cells.iter().enumerate() {
            let y = TOP + CELL.1 * weekday as f64;
            for (hour, value) in hours.iter().enumerate() {
                let x = LEFT + CELL.0 * hour as f64;
                match value {
                    Some(value) => svg.shade("hm", (x, y), size, strength(*value, most)),
                    None => {
                        svg.rect("hm-none", (x + 0.5, y + 0.5), (size.0 - 1.0, size.1 - 1.0));
                        svg.line("hm-strike", (x + 0.5, y + size.1 - 0.5), (x + size.0 - 0.5, y + 0.5));
                    }
                }
            }
            let name = WEEKDAYS.get(weekday).copied().unwrap_or_default();
            svg.text("tick", (LEFT - 6.0, y + 14.0), Anchor::End, name);
        }
        let below = TOP + CELL.1 * 7.0;
        for hour in [0, 3, 6, 9, 12, 15, 18, 21] {
            let x = LEFT + CELL.0 * f64::from(hour);
            svg.text("tick", (x, below + 13.0), Anchor::Start, &hour.to_string());
        }
        svg.text("tick", (LEFT, below + 30.0), Anchor::Start, &self.caption);
        legend(&mut svg, below + 37.0, most);
        svg.finish(label)
    }
}

fn strength(value: f64, most: f64) -> f64 {
    if most > 0.0 { PALEST + (1.0 - PALEST) * (value / most) } else { PALEST }
}

/// Five shades from nothing to the most, and the mark for what was not measured.
fn legend(svg: &mut Svg, y: f64, most: f64) {
    svg.text("tick", (LEFT, y + 10.0), Anchor::Start, "0");
    for i in 0..5 {
        let share = f64::from(i) / 4.0;
        let x = LEFT + 10.0 + 14.0 * f64::from(i);
        svg.shade("hm", (x, y), (13.0, 12.0), strength(share, 1.0));
    }
    svg.text("tick", (LEFT + 84.0, y + 10.0), Anchor::Start, &compact(most));
    let x = LEFT + 168.0;
    svg.rect("hm-none", (x + 0.5, y + 0.5), (12.0, 11.0));
    svg.line("hm-strike", (x + 0.5, y + 11.5), (x + 12.5, y + 0.5));
    svg.text("tick", (x + 18.0, y + 10.0), Anchor::Start, "nothing measured");
}
