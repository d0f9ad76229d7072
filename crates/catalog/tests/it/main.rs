//! What the catalog must answer: printed examples of the providers, refusals, and properties.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod calls;
mod exactness;
mod examples;
mod files;
mod properties;
mod rates;
mod readings;
mod shipped;
mod side_by_side;
mod units;
mod worked;
