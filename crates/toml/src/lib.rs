//! TOML texts in, typed values or one plain sentence out.
//!
//! Every file that a person writes (provider rules, holiday sets, settings) is read through [`read`], or
//! through a [`Document`] where every mistake is wanted and not only the first, so that a mistake is always
//! answered the same way: file, line, field, what is wrong and what was probably meant. It leaves finding and opening files to its callers.

mod document;
mod fault;
mod nearest;
mod read;

pub use document::Document;
pub use fault::Fault;
pub use nearest::{meant, nearest, nearest_few};
pub use read::read;
pub use toml::Spanned;
