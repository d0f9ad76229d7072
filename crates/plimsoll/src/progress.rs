//! Progress of long work: on stderr, and only on a terminal.

use std::{io::IsTerminal as _, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

/// A line that says what is being done; silent where stderr is no terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Work of unknown length.
    pub(crate) fn spinner() -> Self {
        let bar =
            if std::io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// Work of `total` pieces.
    pub(crate) fn bar(total: u64) -> Self {
        let bar =
            if std::io::stderr().is_terminal() { ProgressBar::new(total) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent} % {eta}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Says what is being done now.
    pub(crate) fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Sets how much is done.
    pub(crate) fn done(&self, pieces: u64) {
        self.0.set_position(pieces);
    }

    /// Removes the line.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
