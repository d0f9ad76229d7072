//! Which charts a plan deserves, and what each says: from the plan and what was measured to plain
//! figures for `charts`.
//!
//! Every figure has a finding as its title, a line that names measure, window, period and place, a
//! table with the same numbers for those who cannot see the drawing, and the place where the numbers
//! can be looked up.

mod admission;
mod all;
mod busy_minute;
mod draw;
mod hours;
mod need;
mod reservation;
mod runs;
mod scorecard;
mod series;

pub(crate) use all::{
    Figure, Figures, Need, Table, needs_action, of_minutes, sample, sql_text, urgency, whereabouts,
};
pub(crate) use scorecard::score;
