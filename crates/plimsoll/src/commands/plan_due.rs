//! `plimsoll plan --check`: what must be done by when, a line each.

use plimsoll_plan::Due;

use crate::{cli::Format, failure::Failure, output};

/// Prints what is due, earliest first.
pub(super) fn tell(due: &[Due], format: Format) -> Result<(), Failure> {
    if format != Format::Table {
        return output::list(due, format);
    }
    if due.is_empty() {
        return output::line("nothing is due");
    }
    for each in due {
        let dimension = each.dimension.as_ref().map_or_else(String::new, |name| format!(" {name}"));
        let owner = each.owner.as_ref().map_or_else(String::new, |owner| format!(" ({owner})"));
        output::line(&format!(
            "{} {:<18} {}{dimension}: {}{owner}",
            each.by, each.kind, each.pool, each.what
        ))?;
    }
    Ok(())
}
