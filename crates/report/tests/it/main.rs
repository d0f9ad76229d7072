//! The report as a reader gets it, made from the example company in figures written by hand.

mod filing;
mod fixture;
mod html;
mod markdown;
mod odd;
mod templates;
