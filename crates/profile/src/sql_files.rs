//! The SQL that comes with Plimsoll, embedded, and a user's own folder laid over it.
//!
//! Files are known by their name below `sql/`, such as `jobs/20_runs.sql`; a user's file of the same
//! name replaces ours, one of a new name joins.

use std::{collections::BTreeMap, path::Path};

use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../sql");

/// SQL texts by name below `sql/`.
#[derive(Debug, Clone)]
pub struct SqlFiles(BTreeMap<String, String>);

impl SqlFiles {
    /// The files that came with this build.
    pub fn embedded() -> Self {
        let mut files = BTreeMap::new();
        collect(&EMBEDDED, &mut files);
        Self(files)
    }

    /// Lays the `.sql` files of a folder, and of its folders, over these.
    ///
    /// # Errors
    /// A folder or file that cannot be read.
    pub fn overlaid(mut self, folder: &Path) -> std::io::Result<Self> {
        let mut folders = vec![folder.to_path_buf()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "sql") {
                    let name = path.strip_prefix(folder).unwrap_or(&path);
                    let name = name.to_string_lossy().replace('\\', "/");
                    self.0.insert(name, std::fs::read_to_string(&path)?);
                }
            }
        }
        Ok(self)
    }

    /// The files of one folder, in the order of their names.
    pub fn folder<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter_map(move |(name, text)| {
            let rest = name.strip_prefix(folder)?.strip_prefix('/')?;
            Some((rest, text.as_str()))
        })
    }

    /// Digest of the jobs and views: what the tables are made by.
    pub(crate) fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for (name, text) in ["jobs", "views"].into_iter().flat_map(|f| self.folder(f)) {
            hasher.update(name);
            hasher.update([0]);
            hasher.update(text);
            hasher.update([0]);
        }
        hex::encode(hasher.finalize())
    }
}

fn collect(dir: &Dir<'_>, files: &mut BTreeMap<String, String>) {
    for file in dir.files() {
        if let Some(text) = file.contents_utf8()
            && file.path().extension().is_some_and(|e| e == "sql")
        {
            files.insert(file.path().to_string_lossy().into_owned(), text.to_owned());
        }
    }
    for dir in dir.dirs() {
        collect(dir, files);
    }
}
