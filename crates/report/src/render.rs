//! One plan in, the texts of both documents out.

use minijinja::{context, value::Serde};
use plimsoll_plan::{Measured, Plan};

use crate::{figures::Figures, filters, local::Local, page::Page, templates::Templates};

/// The finished documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// `report.md`.
    pub markdown: String,
    /// `report.html`, with its style and its charts inside: it loads nothing and runs nothing.
    pub html: String,
}

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The plan's time zone is not in the time zone database.
    #[error("time zone {0:?} is not known here: use an IANA name such as \"Europe/London\"")]
    TimeZone(String),
    /// A template does not parse or names something that is not there.
    #[error("cannot fill a template: {0}; mend it, or remove it to use the built-in one")]
    Template(#[from] minijinja::Error),
}

/// Renders a plan as Markdown and as one self-contained HTML page.
///
/// The same plan, measurements and templates give the same bytes.
///
/// # Errors
/// [`ReportError`] where the plan's time zone is unknown or a template is broken.
pub fn render(plan: &Plan, measured: &Measured, templates: &Templates) -> Result<Rendered, ReportError> {
    let local = Local::new(&plan.time_zone)?;
    let mut env = templates.environment()?;
    filters::register_local(&mut env, &local);
    let context = context! {
        plan => Serde(plan),
        page => Serde(Page::new(plan, &local)),
        figures => Serde(Figures::new(plan, measured, &local)),
    };
    Ok(Rendered {
        markdown: env.get_template("report.md")?.render(context.clone())?,
        html: env.get_template("report.html")?.render(context)?,
    })
}
