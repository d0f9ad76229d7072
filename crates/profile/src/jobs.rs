//! A job: the header of a file in `sql/jobs`, and its one SELECT.
//!
//! The header is comment lines: prose first, then `makes`, and either `keeps` or `key`, `partition` and
//! `replaces`. What a job may replace is what a round calls touched.

use crate::{error::ProfileError, sql_files::SqlFiles};

/// What a job's rows take the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaces {
    /// Nothing: the rows are kept for the jobs that unfold them into rows of touched runs.
    ForTheRound,
    /// Nothing: later jobs read it as a view, so that what they share is said once.
    View,
    /// The rows of the runs that new spans touched.
    TouchedRuns,
    /// The days on which those runs did anything, and the days of receipt.
    TouchedDays,
    /// The local days and months in which those runs started.
    TouchedWindows,
}

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// File name.
    pub file: String,
    /// Table or relation that it makes.
    pub makes: String,
    /// Columns that identify a row.
    pub key: Vec<String>,
    /// What its rows take the place of.
    pub replaces: Replaces,
    /// The file's text; comments are SQL.
    pub sql: String,
}

impl Job {
    /// All jobs, in the order in which they run.
    ///
    /// # Errors
    /// A header that says less or more than a job needs.
    pub fn all(files: &SqlFiles) -> Result<Vec<Self>, ProfileError> {
        files.folder("jobs").map(|(file, text)| Self::parse(file, text)).collect()
    }

    /// Whether its text names a relation, comments left aside.
    pub(crate) fn names(&self, relation: &str) -> bool {
        let code = self.sql.lines().filter_map(|line| line.split("--").next());
        code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
            .any(|word| word == relation)
    }

    fn parse(file: &str, text: &str) -> Result<Self, ProfileError> {
        let wrong = |problem: String| ProfileError::Header { file: format!("jobs/{file}"), problem };
        let header = |name: &str| {
            text.lines()
                .map_while(|line| line.strip_prefix("--"))
                .filter_map(|line| line.trim().split_once(':'))
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.trim())
        };
        let Some(makes) = header("makes") else {
            return Err(wrong("say in a comment at the top what it makes: `-- makes: TABLE`".into()));
        };
        let replaces = match (header("keeps"), header("replaces")) {
            (Some("for the round"), None) => Replaces::ForTheRound,
            (Some("as a view"), None) => Replaces::View,
            (None, Some("touched runs")) => Replaces::TouchedRuns,
            (None, Some("touched days")) => Replaces::TouchedDays,
            (None, Some("touched windows")) => Replaces::TouchedWindows,
            _ => {
                return Err(wrong(
                    "say `-- keeps: for the round` or `as a view`, or `-- replaces: touched runs`, \
                     `touched days` or `touched windows`"
                        .into(),
                ));
            }
        };
        let key = header("key").unwrap_or_default();
        Ok(Self {
            file: file.to_owned(),
            makes: makes.to_owned(),
            key: key.split(',').map(|k| k.trim().to_owned()).filter(|k| !k.is_empty()).collect(),
            replaces,
            sql: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The jobs that come with Plimsoll have headers that the runner can follow, in running order.
    #[test]
    fn embedded_headers() -> Result<(), ProfileError> {
        let jobs = Job::all(&SqlFiles::embedded())?;
        assert_eq!(jobs.first().map(|j| j.replaces), Some(Replaces::ForTheRound));
        for job in &jobs[1..] {
            assert!(job.replaces == Replaces::View || !job.key.is_empty(), "{} names no key", job.file);
        }
        Ok(())
    }

    /// A header that says nothing of what is replaced is refused with what could be said.
    #[test]
    fn missing_header() {
        let refused = Job::parse("x.sql", "-- makes: runs\nSELECT 1").map_err(|error| error.to_string());
        assert!(refused.is_err_and(|why| why.contains("touched windows")));
    }
}
