//! A failure as people meet it: one plain sentence on stderr and an exit code.

use std::{
    fmt::{self, Display},
    io::Write as _,
    process::ExitCode,
};

use plimsoll_profile::ProfileError;

/// What ended a command early.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    closed_pipe: bool,
}

/// Whose turn it is; the exit codes of `DESIGN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Internal = 1,
    Input = 2,
    NoData = 3,
    Damaged = 4,
}

impl Failure {
    /// A fault of ours or of the machine: exit code 1.
    pub(crate) fn internal(message: impl Display) -> Self {
        Self::new(Kind::Internal, message)
    }

    /// The user's input is wrong: exit code 2.
    pub(crate) fn input(message: impl Display) -> Self {
        Self::new(Kind::Input, message)
    }

    /// Not enough data for an answer: exit code 3.
    pub(crate) fn no_data(message: impl Display) -> Self {
        Self::new(Kind::NoData, message)
    }

    /// Damaged data: exit code 4.
    pub(crate) fn damaged(message: impl Display) -> Self {
        Self::new(Kind::Damaged, message)
    }

    /// Says first what the failure means for what was asked.
    pub(crate) fn context(mut self, what: impl Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    fn new(kind: Kind, message: impl Display) -> Self {
        Self { kind, message: message.to_string(), closed_pipe: false }
    }

    /// Whether whoever read our output went away.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.closed_pipe
    }

    /// Says it on stderr.
    pub(crate) fn tell(&self) -> ExitCode {
        let _written = writeln!(std::io::stderr(), "plimsoll: {self}");
        ExitCode::from(self.kind as u8)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Reading or writing a file that the user named.
pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::input(format!("{path}: {error}"))
}

/// A mistake in a file that its reader calls by its name alone, under the path that the user knows it by.
pub(crate) fn in_file(path: &std::path::Path) -> impl FnOnce(plimsoll_toml::Fault) -> Failure {
    let path = path.display().to_string();
    move |mut fault| {
        fault.file = path;
        Failure::input(fault)
    }
}

impl From<plimsoll_toml::Fault> for Failure {
    fn from(fault: plimsoll_toml::Fault) -> Self {
        Self::input(fault)
    }
}

impl From<plimsoll_lake::Error> for Failure {
    fn from(error: plimsoll_lake::Error) -> Self {
        use plimsoll_lake::Error as Lake;
        match &error {
            Lake::Damaged { .. } => Self::damaged(error),
            Lake::Location { .. } | Lake::Description { .. } | Lake::UnknownTable { .. } => {
                Self::input(error)
            }
            _ => Self::internal(error),
        }
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::Lake(error) => error.into(),
            ProfileError::Damaged { .. } => Self::damaged(error),
            ProfileError::Header { .. } | ProfileError::Schema { .. } | ProfileError::Newer { .. } => {
                Self::input(error)
            }
            ProfileError::Query { .. } | ProfileError::Overtaken => Self::internal(error),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self { closed_pipe: error.kind() == std::io::ErrorKind::BrokenPipe, ..Self::internal(error) }
    }
}

impl From<arrow::error::ArrowError> for Failure {
    fn from(error: arrow::error::ArrowError) -> Self {
        match error {
            arrow::error::ArrowError::IoError(_, error) => error.into(),
            other => Self::internal(other),
        }
    }
}
