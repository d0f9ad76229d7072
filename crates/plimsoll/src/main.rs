//! The command `plimsoll`.
//!
//! One file a subcommand below `commands/`; what is here is what they share: the settings, opening a
//! lake, printing results, and turning a failure into one sentence and an exit code.

mod calendars;
mod cli;
mod commands;
mod damage;
mod dispatch;
mod embedded;
mod failure;
mod open;
mod output;
mod progress;
mod row_writer;
mod settings;
mod telemetry;
mod whole_file;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    // deltalake-core brings a second provider of TLS; one has to be named before the first use.
    let _already = rustls::crypto::ring::default_provider().install_default();
    let done = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(dispatch::dispatch(cli)),
        Err(error) => Err(failure::Failure::internal(format!("cannot start the runtime: {error}"))),
    };
    match done {
        Ok(code) => code,
        Err(failure) => failure.tell(),
    }
}
