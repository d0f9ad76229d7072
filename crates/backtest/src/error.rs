//! Why nothing was held against anything.

use plimsoll_replay::ReplayError;
use thiserror::Error;

/// A trace that cannot be read: the file, the line, what is wrong and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}{}: {problem}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ReadError {
    /// The file, as the user knows it.
    pub file: String,
    /// Line, from 1, where one is at fault.
    pub line: Option<u64>,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl ReadError {
    pub(crate) fn new(file: &str, line: Option<u64>, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, problem: problem.into() }
    }
}

/// Why a trace has no score.
#[derive(Debug, Error)]
pub enum BacktestError {
    /// Too little history.
    #[error("{trace}: {windows} whole minutes of history, and ten plans need {fewest}: give a longer trace")]
    Short {
        /// Its name.
        trace: String,
        /// Whole windows that it has.
        windows: usize,
        /// Fewest that are enough.
        fewest: usize,
    },
    /// Nothing ever draws on the limit.
    #[error("{trace}: nothing in it draws {dimension}: name another dimension")]
    NoDemand {
        /// Its name.
        trace: String,
        /// What the limit counts.
        dimension: String,
    },
    /// The replay itself.
    #[error("{trace}: {source}")]
    Replay {
        /// Its name.
        trace: String,
        /// What went wrong.
        source: ReplayError,
    },
}
