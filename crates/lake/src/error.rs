//! What can go wrong in the lake, and what to do about it.
//!
//! Every message names the table, file or column that it is about; how it is shown and which exit code
//! it leads to is left to the caller.

use deltalake_core::DeltaTableError;

/// Result of an operation on the lake.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Failure of an operation on the lake.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table description (`schemas/tables/*.toml`) is wrong.
    #[error("table description {file}: {reason}")]
    Description {
        /// File that holds it.
        file: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// No table of this name is described.
    #[error("no table is called `{name}`; the tables are {known}")]
    UnknownTable {
        /// Name asked for.
        name: String,
        /// Names that exist, comma-separated.
        known: String,
    },
    /// The lake's location cannot be used.
    #[error("cannot use {location} as a lake: {reason}")]
    Location {
        /// Location as given.
        location: String,
        /// Why not, and what to give instead.
        reason: String,
    },
    /// Rows that do not fit their table.
    #[error("rows for table {table}, column {column}: {reason}")]
    Rows {
        /// Table.
        table: String,
        /// Column that does not fit.
        column: String,
        /// Why not.
        reason: String,
    },
    /// Another writer was first: read the table again and decide anew.
    #[error("table {table} was changed by another writer meanwhile: {reason}")]
    Conflict {
        /// Table.
        table: String,
        /// What the other writer changed.
        reason: String,
    },
    /// Other writers were first, time and again.
    #[error(
        "table {table} is written by too many at once: gave up after {attempts} attempts; try again or use fewer writers"
    )]
    Contended {
        /// Table.
        table: String,
        /// Attempts made.
        attempts: u32,
    },
    /// Only some of the transactions offered together are in the table already.
    #[error(
        "table {table} already holds {app} up to {held} but not all that was offered with it; offer the rest apart"
    )]
    PartlyThere {
        /// Table.
        table: String,
        /// Transaction that is there.
        app: String,
        /// Version of it that the table holds.
        held: i64,
    },
    /// The table's log says something that Plimsoll does not read or write.
    #[error("table {table} cannot be used: {reason}")]
    Unsupported {
        /// Table.
        table: String,
        /// What it is, and what to do about it.
        reason: String,
    },
    /// A file of the lake is damaged: cut short, overwritten or gone.
    #[error("damaged file {path}: {reason}")]
    Damaged {
        /// Path of the file within the lake.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Disk or object store failed.
    #[error("storage failed while {doing}: {}", one_line(&source.to_string()))]
    Store {
        /// What was being done, to which file.
        doing: String,
        /// What the storage said.
        #[source]
        source: object_store::Error,
    },
    /// Disk or object store does not let us.
    #[error(
        "not allowed while {doing}: {reason}; check the credentials and what they may do, or the folder's permissions"
    )]
    Denied {
        /// What was being done, to which file.
        doing: String,
        /// What the storage said.
        reason: String,
    },
    /// The table's log failed.
    #[error("log of table {table}: {}", one_line(&source.to_string()))]
    Log {
        /// Table.
        table: String,
        /// What the log said.
        #[source]
        source: Box<DeltaTableError>,
    },
    /// Rows could not be turned into a Parquet file.
    #[error("cannot encode rows of table {table}: {reason}")]
    Encode {
        /// Table.
        table: String,
        /// What the encoder said.
        reason: String,
    },
}

impl Error {
    /// Whether reading the table again and retrying can help.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::Contended { .. })
    }

    /// Whether the storage refuses us: repeating it at once cannot help.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Denied { .. })
    }

    pub(crate) fn gone(table: &str) -> Self {
        let reason = "its log is gone; restore the folder or remove it whole".to_owned();
        Self::Unsupported { table: table.to_owned(), reason }
    }

    pub(crate) fn log(table: &str, source: impl Into<DeltaTableError>) -> Self {
        let doing = format!("reading or writing the log of table {table}");
        let source = match source.into() {
            DeltaTableError::ObjectStore { source } => return Self::store(doing)(source),
            source => source,
        };
        // What the library's kernel was told, or does not know, it tells in words only.
        let text = source.to_string();
        if is_refusal(&text) {
            return Self::Denied { doing, reason: one_line(&text) };
        }
        if text.contains("nsupported") {
            let line = one_line(&text);
            let reason = format!("{line}; a newer version or another engine has changed it, so use that");
            return Self::Unsupported { table: table.to_owned(), reason };
        }
        Self::Log { table: table.to_owned(), source: Box::new(source) }
    }

    pub(crate) fn store(doing: impl Into<String>) -> impl FnOnce(object_store::Error) -> Self {
        use object_store::Error::{PermissionDenied, Unauthenticated};
        let doing = doing.into();
        move |source| {
            let text = source.to_string();
            if matches!(source, PermissionDenied { .. } | Unauthenticated { .. }) || is_refusal(&text) {
                return Self::Denied { doing, reason: one_line(&text) };
            }
            Self::Store { doing, source }
        }
    }
}

/// Codes by which object stores say that they do not let us.
const REFUSALS: [&str; 6] = [
    "AccessDenied",
    "AuthenticationFailed",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "403 Forbidden",
];

/// Codes by which they say that there is no such bucket.
const NO_BUCKET: [&str; 2] = ["NoSuchBucket", "ContainerNotFound"];

fn is_refusal(text: &str) -> bool {
    REFUSALS.iter().any(|code| text.contains(code))
}

/// What a store said, in one line: its code instead of the page of XML that it may send.
fn one_line(text: &str) -> String {
    if NO_BUCKET.iter().any(|code| text.contains(code)) {
        let named = text.split("<BucketName>").nth(1).and_then(|rest| rest.split('<').next());
        let bucket = named.map_or_else(|| "the bucket".to_owned(), |name| format!("the bucket {name}"));
        return format!("{bucket} does not exist; make it, or correct the lake's URL");
    }
    let line = text.lines().next().unwrap_or_default();
    let line = line.split(": <").next().unwrap_or_default();
    match REFUSALS.iter().find(|code| text.contains(*code) && !line.contains(*code)) {
        Some(code) => format!("{line} ({code})"),
        None => line.to_owned(),
    }
}
