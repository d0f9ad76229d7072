//! `plimsoll.toml`: how this lake is read and served.
//!
//! Every key has its default here; an unknown one is an error that names the line and what was
//! probably meant. What to plan for stands in `plan.toml`, not here.

mod file;
mod kafka;
mod roles;
mod sections;

pub(crate) use file::Settings;
pub(crate) use kafka::Kafka;
pub(crate) use roles::{Role, Roles};
pub(crate) use sections::{Folders, Jobs, Journal, Otlp, Query, Serve, Upkeep, Web};
