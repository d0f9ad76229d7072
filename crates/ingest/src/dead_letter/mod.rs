//! Dead letters: what gave no rows, kept whole with where it came from and why.

mod options;

pub use options::{DeadLetterOptions, DeadLetterPlace};
