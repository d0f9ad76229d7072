//! What charts with an axis of values share: its grid with its marks, and the limit of today across bars.
//!
//! A chart says where its plot lies; what is drawn there, and at which distance, is the same in all.

use super::{
    scale::{self, Linear},
    svg::{Anchor, CHAR_WIDTH, Svg, text_width},
};
use crate::format::compact;

/// Marks on an axis, about.
const MARKS: usize = 4;

/// An axis upright, from 0 to `most`: lines from `left` to `right`, their values before them.
pub(super) fn upright(svg: &mut Svg, y: &Linear, most: f64, (left, right): (f64, f64)) {
    for (value, text) in scale::ticks(most, MARKS) {
        svg.line("grid", (left, y.at(value)), (right, y.at(value)));
        svg.text("tick", (left - 8.0, y.at(value) + 4.0), Anchor::End, &text);
    }
}

/// An axis across, from 0 to `most`: lines from a little above `top` to `bottom`, their values below them.
pub(super) fn across(svg: &mut Svg, x: &Linear, most: f64, (top, bottom): (f64, f64)) {
    for (value, text) in scale::ticks(most, MARKS) {
        svg.line("grid", (x.at(value), top - 8.0), (x.at(value), bottom));
        svg.text("tick", (x.at(value), bottom + 14.0), Anchor::Middle, &text);
    }
}

/// The limit of today, a line down through bars, named below it at `base`, within the width of the chart.
pub(super) fn limit_today(svg: &mut Svg, x: &Linear, limit: u64, (top, bottom): (f64, f64), base: f64) {
    let at = x.at(limit as f64);
    let text = format!("limit today {}", compact(limit as f64));
    let half = text_width(&text) / 2.0;
    svg.line("limit", (at, top), (at, bottom));
    svg.text("tick ink", (at.clamp(half, svg.width() - half), base), Anchor::Middle, &text);
}

/// Where a figure starts: `gap` behind the end of its bar, or behind the line of the limit if that runs
/// through it.
pub(super) fn behind(x: &Linear, end: f64, gap: f64, figure: &str, limit: Option<u64>) -> f64 {
    let start = end + gap;
    // The figures of bars are larger than other labels.
    let beyond = start + figure.chars().count() as f64 * (CHAR_WIDTH + 1.0);
    let limit = limit.map(|limit| x.at(limit as f64));
    limit.filter(|at| (start - (gap - 1.0)..beyond).contains(at)).map_or(start, |at| at + gap)
}
