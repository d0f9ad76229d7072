//! Speed of plans: `cargo bench -p plimsoll-plan`. The goals: 200 pools, 500 workflows and 400 events over
//! a year in 60 s and 2 GiB with replays, in 2 s without.
//!
//! Every event comes each month, so a year has some five thousand occurrences; twenty of the pools hold
//! reserved units. `PLIMSOLL_BENCH_TELL=1` prints what each plan came to.

mod company;

use company::Company;
use divan::Bencher;
use plimsoll_plan::{Plan, PlanInput, make};

fn main() {
    divan::main();
}

fn planned(company: &Company, quick: bool) -> Plan {
    let plan = make(&PlanInput { quick, ..company.input() }).unwrap_or_else(|error| unreachable!("{error}"));
    if std::env::var_os("PLIMSOLL_BENCH_TELL").is_some() {
        company::tell(&plan);
    }
    plan
}

/// Needs by percentile, no replay.
#[divan::bench(sample_count = 3)]
fn quick(bencher: Bencher<'_, '_>) {
    let company = Company::large();
    bencher.bench(|| planned(&company, true));
}

/// Needs, reservations and stresses by replay.
#[divan::bench(sample_count = 1)]
fn with_replays(bencher: Bencher<'_, '_>) {
    let company = Company::large();
    bencher.bench(|| planned(&company, false));
}
