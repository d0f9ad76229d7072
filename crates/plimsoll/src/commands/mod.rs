//! The subcommands, one file each.

pub(crate) mod calendar;
mod calendar_page;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod erase;
mod erase_receipt;
pub(crate) mod explain;
mod explain_page;
pub(crate) mod export;
mod export_rows;
pub(crate) mod generate;
pub(crate) mod ingest;
pub(crate) mod ledger;
pub(crate) mod limits;
pub(crate) mod plan;
mod plan_diff;
mod plan_due;
mod plan_explain;
mod plan_init;
mod plan_record;
pub(crate) mod profile;
pub(crate) mod serve;
pub(crate) mod size;
pub(crate) mod sql;
mod sql_prompt;
