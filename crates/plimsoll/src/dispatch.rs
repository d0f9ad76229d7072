//! From the command line to the subcommand that it names.

use std::process::ExitCode;

use crate::{
    cli::{Cli, Command},
    failure::Failure,
    settings::Settings,
    telemetry,
};

/// Runs the subcommand that the command line names.
pub(crate) async fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let mut settings = Settings::read(&cli.shared)?;
    if let Command::Serve(serve) = &cli.command {
        // Before telemetry starts, which must know the addresses that are its own.
        serve.override_settings(&mut settings);
    }
    let own = telemetry::start(&settings)?;
    let format = cli.shared.format;
    let done = match cli.command {
        Command::Demo(demo) => demo.run(&settings).await,
        Command::Generate(generate) => generate.run().await,
        Command::Serve(serve) => serve.run(settings, &own).await,
        Command::Ingest(ingest) => ingest.run(&settings, format).await,
        Command::Profile(profile) => profile.run(&settings, format).await,
        Command::Sql(sql) => sql.run(&settings, format).await,
        Command::Size(size) => size.run(&settings, format),
        Command::Calendar(calendar) => calendar.run(&settings, format),
        Command::Meter(meter) => meter.run(&settings, format),
        Command::Catalog(catalog) => catalog.run(&settings, format),
        Command::Plan(plan) => plan.run(&settings, format).await,
        Command::Ledger(ledger) => ledger.run(format),
        Command::Limits(limits) => limits.run(&settings, format),
        Command::Replay(replay) => replay.run(&settings, format).await,
        Command::Backtest(backtest) => backtest.run(&settings, format).await,
        Command::Explain(explain) => explain.run(&settings, format).await,
        Command::Doctor(doctor) => doctor.run(&settings, format).await,
        Command::Export(export) => export.run(&settings, format).await,
        Command::Compact(compact) => compact.run(&settings, format).await,
        Command::Erase(erase) => erase.run(&settings, format).await,
        Command::Check(check) => check.run(&settings, format).await,
    };
    own.stop();
    done
}
