//! `plimsoll serve`: the roles of one process, started together and ended in order.

mod background;
mod command;
mod receiving;
mod runtime;
mod status;

pub(crate) use command::Serve;
pub(super) use receiving::{Threads, start};
