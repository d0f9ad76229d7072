//! What is wrong with a scenario file.

use plimsoll_toml::Fault;

/// Why a scenario cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The text is no scenario: broken TOML, an unknown key, a value out of bounds.
    #[error("{0}")]
    File(#[from] Fault),
    /// The time zone is not one that the tz database knows.
    #[error("time zone `{0}` is unknown; use a name such as America/New_York")]
    TimeZone(String),
    /// A name that another table should define.
    #[error("workflow `{workflow}`: no [[pool]] is called `{pool}`{}", meant.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NoSuchPool {
        /// Workflow that names it.
        workflow: String,
        /// Name without a table.
        pool: String,
        /// Name that was probably meant.
        meant: Option<String>,
    },
    /// A table that says too little or contradicts itself.
    #[error("{table} `{name}`: {message}")]
    Table {
        /// `pool` or `workflow`.
        table: &'static str,
        /// Its name.
        name: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// A scale that multiplies nothing.
    #[error("scale {0} is not a size; give a number above zero")]
    Scale(String),
    /// The first day and the number of days do not name a period.
    #[error("{days} days from {from} is not a period; give at least one day within the years 1970 to 2262")]
    Period {
        /// First day.
        from: jiff::civil::Date,
        /// Number of days.
        days: u32,
    },
}
