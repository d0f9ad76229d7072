//! Charts as SVG text, one kind a file.
//!
//! A chart is given plain figures and gives back one `<svg>` with a title and a description; it knows
//! nothing of plans. Colours, strokes and type sizes are classes of `templates/style.css`, so light,
//! dark and paper come from one set of variables. Nothing is told by colour alone, no chart has two
//! axes, and every coordinate is printed with one fixed decimal, so equal figures give equal bytes.

mod admission;
mod axis;
mod busy_minute;
mod draw_limit;
mod dumbbell;
mod heat_map;
mod load_duration;
mod scale;
mod scorecard;
mod svg;
mod waterfall;

pub(crate) use admission::{Admission, DayPair};
pub(crate) use busy_minute::{BusyMinute, Share};
pub(crate) use draw_limit::{Band, DayDraw, DrawLimit, Forecast, Step};
pub(crate) use dumbbell::{Dumbbell, Range, RangeRow};
pub(crate) use heat_map::HeatMap;
pub(crate) use load_duration::LoadDuration;
pub(crate) use scorecard::{Scorecard, Scored};
pub(crate) use svg::Label;
pub(crate) use waterfall::{Part, PartKind, Waterfall};
