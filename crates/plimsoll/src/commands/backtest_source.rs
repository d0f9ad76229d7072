//! Which traces lie under a path, and reading them.
//!
//! What their texts mean is the crate `backtest`'s business. Invariant: sources of a folder come in the
//! order of their names.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use plimsoll_backtest::{Requests, ServeGenClient, generate, read_requests};

use crate::failure::{self, Failure};

/// Endings of a ServeGen client's two files.
const SERVEGEN: (&str, &str) = ("-trace.csv", "-dataset.json");
/// The log of a lake's first table.
const LAKE: &str = "spans/_delta_log";

/// Something to plan from.
#[derive(Debug)]
pub(super) enum Source {
    /// A file with a request a row.
    Table(PathBuf),
    /// Clients of ServeGen that are one trace: the name, and each client's trace and dataset.
    ServeGen(PathBuf, Vec<(PathBuf, PathBuf)>),
    /// Folder or URL of a lake.
    Lake(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(path) | Self::ServeGen(path, _) => write!(f, "{}", path.display()),
            Self::Lake(lake) => f.write_str(lake),
        }
    }
}

impl Source {
    /// What people call it: the last part of its path, without the ending.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Table(path) | Self::ServeGen(path, _) => name(path),
            Self::Lake(lake) => lake.clone(),
        }
    }

    /// The requests of a trace, under a name, sampled where there are more than `most`.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not what it seems to be.
    pub(super) fn requests(
        &self,
        called: &str,
        (most, tier, seed): (usize, u8, u64),
    ) -> Result<Requests, Failure> {
        let text = |path: &Path| std::fs::read_to_string(path).map_err(failure::file(path));
        let requests = match self {
            Self::Table(path) => {
                let bytes = std::fs::read(path).map_err(failure::file(path))?;
                read_requests(&path.display().to_string(), called, &bytes, tier)
                    .map_err(Failure::input)?
            }
            Self::ServeGen(path, clients) => {
                let read = |(trace, dataset): &(PathBuf, PathBuf)| {
                    let (rates, tokens) = (text(trace)?, text(dataset)?);
                    let files = (trace.display().to_string(), dataset.display().to_string());
                    ServeGenClient::read(&name(trace), (&files.0, &rates), (&files.1, &tokens))
                        .map_err(Failure::input)
                };
                let clients = clients.iter().map(read).collect::<Result<Vec<_>, _>>()?;
                generate(called, &clients, most, tier, seed)
            }
            Self::Lake(lake) => return Err(Failure::internal(format!("{lake} is a lake and no trace"))),
        };
        Ok(requests.sampled(most, seed))
    }
}

/// The last part of a path, without its ending.
fn name(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What lies under a path.
///
/// # Errors
/// Where there is nothing, or nothing to plan from.
pub(super) fn find(path: &str) -> Result<Vec<Source>, Failure> {
    if path.contains("://") {
        return Ok(vec![Source::Lake(path.to_owned())]);
    }
    let mut found = Vec::new();
    let path = Path::new(path);
    if path.is_dir() {
        walk(path, &mut found)?;
    } else {
        std::fs::metadata(path).map_err(failure::file(path))?;
        found.push(match dataset(path) {
            Some(dataset) => Source::ServeGen(path.to_owned(), vec![(path.to_owned(), dataset)]),
            None => Source::Table(path.to_owned()),
        });
    }
    if found.is_empty() {
        return Err(Failure::input(format!(
            "{}: neither a lake nor a .csv or .jsonl file lies in it: name a trace",
            path.display()
        )));
    }
    Ok(found)
}

/// The dataset that belongs to a client's trace.
fn dataset(trace: &Path) -> Option<PathBuf> {
    let stem = trace.file_name()?.to_str()?.strip_suffix(SERVEGEN.0)?;
    let dataset = trace.with_file_name(format!("{stem}{}", SERVEGEN.1));
    dataset.is_file().then_some(dataset)
}

fn walk(folder: &Path, found: &mut Vec<Source>) -> Result<(), Failure> {
    if folder.join(LAKE).is_dir() {
        found.push(Source::Lake(folder.display().to_string()));
        return Ok(());
    }
    let entries = std::fs::read_dir(folder).map_err(failure::file(folder))?;
    let paths: Result<BTreeSet<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut clients = Vec::new();
    for path in paths.map_err(failure::file(folder))? {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if path.is_dir() {
            walk(&path, found)?;
        } else if let Some(dataset) = dataset(&path) {
            clients.push((path, dataset));
        } else if ["csv", "jsonl"].contains(&ending) {
            found.push(Source::Table(path));
        }
    }
    if !clients.is_empty() {
        found.push(Source::ServeGen(folder.to_owned(), clients));
    }
    Ok(())
}
