//! `plimsoll catalog show`: one row, field by field.

use std::process::ExitCode;

use plimsoll_catalog::{Entry, PoolKey, Source};
use serde::Serialize;

use super::day;
use crate::{cli::Format, failure::Failure, open, output, settings::Settings};

/// Options of `catalog show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// Pool: provider/product/scope/model.
    #[arg(value_name = "KEY")]
    pool: String,
    /// Day whose row is shown; without it, the last of the catalog's month.
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
}

/// A row with what follows from it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    entry: &'a Entry,
    questions: Vec<Question>,
    retired: bool,
    stale_sources: Vec<&'a Source>,
}

/// One of the seven questions to ask a provider.
#[derive(Serialize)]
struct Question {
    name: &'static str,
    question: &'static str,
    answer: Option<String>,
}

impl Show {
    pub(super) fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let pool: PoolKey = self.pool.parse().map_err(Failure::input)?;
        let catalog = open::catalog(settings)?;
        let as_of = day(self.as_of.as_deref(), &catalog)?;
        let entry = catalog.row(&pool, as_of).map_err(Failure::input)?;
        let questions = entry.answers.questions().into_iter();
        let questions = questions
            .map(|(name, question, answer)| Question { name, question, answer: answer.map(str::to_owned) })
            .collect();
        let stale_sources = entry.stale_sources(as_of).collect();
        let shown = Shown { entry, questions, retired: entry.is_retired(as_of), stale_sources };
        output::answer(&shown, &lines(&shown), format)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn lines(shown: &Shown<'_>) -> Vec<(String, String)> {
    let mut lines = shown.entry.fields();
    for question in shown.questions.iter().filter(|question| question.answer.is_none()) {
        lines.push((format!("ask.{}", question.name), question.question.to_owned()));
    }
    if let Some(serving) = &shown.entry.serving {
        let each = serving.concurrent(1).map_or_else(|| "not measured".to_owned(), |each| each.to_string());
        lines.push(("serving.concurrent_a_replica".to_owned(), each));
    }
    if shown.retired {
        lines.push(("retired".to_owned(), "yes: the row still answers, for old plans".to_owned()));
    }
    for source in &shown.stale_sources {
        lines.push(("stale".to_owned(), format!("{} was read on {}", source.title, source.read_on)));
    }
    lines
}
