//! Running the command.

use std::path::Path;
use std::process::Command;

/// Standard output of the command, which must succeed.
pub(crate) fn plimsoll(arguments: &[&str], folder: &Path) -> String {
    let command =
        Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(arguments).current_dir(folder).output().unwrap();
    assert!(command.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&command.stderr));
    String::from_utf8(command.stdout).unwrap()
}

/// What `explain` prints of a file, without the lines where rules stand: those move with every edit.
pub(crate) fn explained(file: &Path) -> String {
    let page = plimsoll(&["explain", &file.display().to_string()], &std::env::temp_dir());
    let mut parts = page.split(".toml:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |page, part| {
        page + ".toml" + part.trim_start_matches(|char: char| char.is_ascii_digit())
    })
}
