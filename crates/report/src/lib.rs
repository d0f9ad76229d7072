//! Plans as documents that people sign: `report.md` and a self-contained `report.html`.
//!
//! [`render`] takes a finished plan and what was measured, and gives the text of both files; writing
//! them is the caller's work. Layout lives in `templates/`, which a user's folder can override; the
//! charts are drawn here as SVG, so the page needs neither a network nor a script.

mod charts;
mod escape;
mod figures;
mod filters;
mod format;
mod local;
mod names;
mod page;
mod plain;
mod render;
mod templates;

pub use render::{Rendered, ReportError, render};
pub use templates::Templates;
