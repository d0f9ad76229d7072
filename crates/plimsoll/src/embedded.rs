//! The data that comes with Plimsoll (`schemas/`), and a user's folder laid over it.

use std::{collections::BTreeMap, path::Path};

use include_dir::{Dir, include_dir};

use crate::failure::{self, Failure};

static SCHEMAS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../schemas");

/// Name and text of every `.toml` file of a folder below `schemas/`, then those of `overlay`, which
/// therefore win wherever the reader lets later files win.
pub(crate) fn texts(folder: &str, overlay: Option<&Path>) -> Result<Vec<(String, String)>, Failure> {
    let mut texts = Vec::new();
    for file in SCHEMAS.get_dir(folder).into_iter().flat_map(Dir::files) {
        let name = file.path().to_string_lossy().into_owned();
        if let Some(text) = file.contents_utf8()
            && name.ends_with(".toml")
        {
            texts.push((name, text.to_owned()));
        }
    }
    texts.sort();
    if let Some(overlay) = overlay {
        texts.extend(read_folder(overlay, "toml")?);
    }
    Ok(texts)
}

/// Name and text of every file of a folder that ends in `.ending`, in the order of their names.
pub(crate) fn read_folder(folder: &Path, ending: &str) -> Result<BTreeMap<String, String>, Failure> {
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(failure::file(folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == ending) {
            let text = std::fs::read_to_string(&path).map_err(failure::file(&path))?;
            texts.insert(path.display().to_string(), text);
        }
    }
    Ok(texts)
}
