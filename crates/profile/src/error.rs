//! What can go wrong between SQL and the lake.

use datafusion::error::DataFusionError;
use plimsoll_lake::Error as LakeError;
use thiserror::Error;

/// What to do where memory does not suffice.
const MORE_MEMORY: &str = "allow more by memory_bytes in [jobs] or, over HTTP, in [query], or ask for fewer rows and groups at once";

/// An error of the profile crate.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// The query engine refused or failed.
    #[error("{context}: {source}")]
    Query {
        /// Which file or step.
        context: String,
        /// The engine's error.
        source: Box<DataFusionError>,
    },
    /// The lake refused or failed.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A SQL file has a header that the runner cannot follow.
    #[error("{file}: {problem}")]
    Header {
        /// File below `sql/`.
        file: String,
        /// What is wrong and what is expected.
        problem: String,
    },
    /// A job made a column that its table does not have, or of another type.
    #[error("job {job}: {problem}")]
    Schema {
        /// Job.
        job: String,
        /// What differs.
        problem: String,
    },
    /// A table has columns that this build does not know.
    #[error(
        "table {table} was written by a newer version of plimsoll, which added {columns}: upgrade this one; \
         until then it reads the lake but makes nothing in it"
    )]
    Newer {
        /// Table.
        table: String,
        /// Its columns that are not known here.
        columns: String,
    },
    /// Another round finished while this one ran.
    #[error("another round of jobs finished meanwhile: run it again")]
    Overtaken,
    /// A row that the runner itself wrote cannot be read.
    #[error("table {table}: {problem}")]
    Damaged {
        /// Table.
        table: &'static str,
        /// What is wrong.
        problem: String,
    },
}

impl ProfileError {
    /// Says in which file or step the engine failed.
    pub(crate) fn query(context: impl Into<String>) -> impl FnOnce(DataFusionError) -> Self {
        let context = context.into();
        move |source| Self::Query { context, source: Box::new(advised(source)) }
    }
}

impl From<DataFusionError> for ProfileError {
    fn from(source: DataFusionError) -> Self {
        Self::query("query failed")(source)
    }
}

/// The engine says what it needed and what there was; what to do is ours to say.
fn advised(error: DataFusionError) -> DataFusionError {
    let needs = match error.find_root() {
        DataFusionError::ResourcesExhausted(needs) if !needs.ends_with(MORE_MEMORY) => {
            needs.replace('\n', " ")
        }
        _ => return error,
    };
    DataFusionError::ResourcesExhausted(format!("{needs}; {MORE_MEMORY}"))
}
