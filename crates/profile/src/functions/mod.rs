//! The SQL functions that Plimsoll brings: exact percentiles and profiles, what is in flight, assembly of
//! runs, names by match rules, metering and pricing by the catalog, and time in the business time zone.

mod assemble;
mod assembled;
mod catalog_row;
mod counts;
mod in_flight;
mod meter;
mod metered;
mod naming;
mod one_group;
mod percentiles;
mod profile;
mod register;
mod rule_columns;
mod run_key;
mod sample;
mod samples;
mod span_view;
mod tariff;
mod time;

pub(crate) use register::register;
pub(crate) use run_key::{COLUMNS as RUN_KEY_COLUMNS, run_keys};
pub(crate) use span_view::SpanColumns;
pub(crate) use time::{instant, local_window};
