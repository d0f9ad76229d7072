//! What can go wrong, by who has to mend it: the dialect files, the table schemas, or the sender.

/// A dialect file that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct DialectError {
    /// The file's name, as it was handed in.
    pub file: String,
    /// Line of the fault, from 1.
    pub line: usize,
    /// What is wrong and what to write instead.
    pub reason: String,
}

/// A table schema or dialect that the decoder can't be built on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OtlpError {
    /// A column that the decoder fills isn't in the schema.
    #[error("the table has no column `{0}`: add it to schemas/tables")]
    MissingColumn(String),
    /// A column of a type that the decoder can't fill.
    #[error("column `{column}` is {found}: the decoder fills {wanted}")]
    WrongType {
        /// The column.
        column: String,
        /// The type it has.
        found: String,
        /// The type it should have.
        wanted: String,
    },
    /// A column that must have a value and that nothing here fills.
    #[error("column `{0}` is required but nothing fills it: make it optional in schemas/tables")]
    NeverFilled(String),
    /// A dialect file that names something the tables don't have.
    #[error(transparent)]
    Dialect(#[from] DialectError),
}

/// A body that gives no spans at all; the sender must not try it again as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not a trace export request: HTTP 400, gRPC INVALID_ARGUMENT.
    #[error("the body is not an OTLP trace request: {0}")]
    Invalid(String),
    /// The bytes are not a logs export request: HTTP 400, gRPC INVALID_ARGUMENT.
    #[error("the body is not an OTLP logs request: {0}")]
    InvalidLogs(String),
    /// More spans in one body than are made into columns at once: HTTP 413, gRPC RESOURCE_EXHAUSTED.
    #[error("the body holds more than {limit} spans: send it in smaller batches")]
    TooManySpans {
        /// The most spans that one body may hold.
        limit: usize,
    },
    /// A body beyond any limit: HTTP 413, gRPC RESOURCE_EXHAUSTED.
    #[error("the body is larger than {limit} bytes: send it in smaller batches")]
    TooLarge {
        /// The most bytes of a body.
        limit: usize,
    },
    /// The columns don't make a batch of the table: a fault of this program, not of the sender.
    #[error("the decoded columns don't fit the table: {0}")]
    Misfit(String),
}
