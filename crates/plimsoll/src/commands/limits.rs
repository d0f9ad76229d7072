//! `plimsoll limits import`: limits as the provider lists them, into the spec.

use std::{
    io::{Read as _, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use plimsoll_catalog::PoolKey;
use plimsoll_plan::{Applied, LimitRead, Origin, ProviderLimits, Spec, Unknown, apply, patch, read_limits};
use serde::Serialize;

use crate::{
    cli::Format,
    failure::{self, Failure},
    open, output,
    settings::Settings,
    whole_file::write_text,
};

/// Options of `limits`.
#[derive(Debug, clap::Args)]
pub(crate) struct Limits {
    #[command(subcommand)]
    action: Action,
}

/// What to do with limits.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Prints the change of the spec as a patch, or makes it.
    Import(Import),
}

/// Options of `limits import`.
#[derive(Debug, clap::Args)]
struct Import {
    /// What the provider listed, or - for stdin: the JSON of `aws service-quotas list-service-quotas`, of
    /// `az cognitiveservices usage list` or of `gcloud quotas info list`, or a response's headers.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The spec.
    #[arg(long, default_value = "plan.toml", value_name = "FILE")]
    spec: PathBuf,
    /// Pool that headers are of, which do not name the model.
    #[arg(long, value_name = "KEY")]
    pool: Option<PoolKey>,
    /// Account that was asked, as the spec names it.
    #[arg(long)]
    account: Option<String>,
    /// Region that was asked, where the output does not tell.
    #[arg(long)]
    region: Option<String>,
    /// Day from which the limits hold; without it, today.
    #[arg(long, value_name = "DATE")]
    from: Option<Date>,
    /// Adds the pools that the spec does not name.
    #[arg(long)]
    add_pools: bool,
    /// Writes the spec instead of printing the change.
    #[arg(long)]
    write: bool,
}

/// What was read and what came of it.
#[derive(Debug, Serialize)]
struct Imported {
    #[serde(flatten)]
    applied: Applied,
    unknown: Vec<Unknown>,
    patch: String,
}

impl Limits {
    pub(crate) fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let Action::Import(import) = &self.action;
        import.run(settings, format)
    }
}

impl Import {
    fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let told = self.text()?;
        let spec_text = std::fs::read_to_string(&self.spec).map_err(failure::file(&self.spec))?;
        let spec = Spec::parse(&spec_text).map_err(failure::in_file(&self.spec))?;
        let from = match self.from {
            Some(from) => from,
            None => {
                let zone = TimeZone::get(&spec.policy.time_zone).map_err(Failure::input)?;
                zone.to_datetime(Timestamp::now()).date()
            }
        };
        let origin = Origin {
            pool: self.pool.clone(),
            account: self.account.clone(),
            region: self.region.clone(),
            on: from,
        };
        let catalog = open::catalog(settings)?;
        let ProviderLimits { limits, unknown } = read_limits(&told, &catalog, &origin)
            .map_err(|error| Failure::input(format!("{}: {error}", self.file.display())))?;
        let applied =
            apply(&spec_text, &limits, from, self.add_pools).map_err(failure::in_file(&self.spec))?;
        let name = self.spec.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let imported = Imported { patch: patch(&name, &spec_text, &applied.text), applied, unknown };
        if self.write && !imported.patch.is_empty() {
            write_text(&self.spec, &imported.applied.text)?;
        }
        match format {
            Format::Table => self.tell(&imported)?,
            _ => output::answer(&imported, &self.lines(&imported), format)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn text(&self) -> Result<String, Failure> {
        if self.file.as_os_str() != "-" {
            return std::fs::read_to_string(&self.file).map_err(failure::file(&self.file));
        }
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map_err(failure::file(&self.file))?;
        Ok(text)
    }

    /// The patch on stdout, for `patch`, and the rest beside it.
    fn tell(&self, imported: &Imported) -> Result<(), Failure> {
        if !self.write && !imported.patch.is_empty() {
            output::line(imported.patch.trim_end())?;
        }
        let mut beside = std::io::stderr().lock();
        for (what, said) in self.lines(imported) {
            writeln!(beside, "{what:<10} {said}")?;
        }
        Ok(())
    }

    fn lines(&self, imported: &Imported) -> Vec<(String, String)> {
        let of = |what: &str, limits: &[LimitRead]| {
            let line = |limit: &LimitRead| {
                let place: Vec<&str> =
                    [limit.account.as_deref(), limit.region.as_deref()].into_iter().flatten().collect();
                let said = format!(
                    "{} {} {} = {} ({})",
                    limit.pool,
                    place.join(" "),
                    limit.dimension,
                    limit.value,
                    limit.quota
                );
                (what.to_owned(), said)
            };
            limits.iter().map(line).collect::<Vec<_>>()
        };
        let applied = &imported.applied;
        let mut lines = of(if self.write { "written" } else { "new" }, &applied.written);
        lines.extend(of("same", &applied.same));
        lines.extend(of("not named", &applied.elsewhere));
        let unknown = imported.unknown.iter();
        lines.extend(unknown.map(|each| ("unknown".to_owned(), format!("{}: {}", each.quota, each.why))));
        if !applied.elsewhere.is_empty() {
            let said = format!("{} has no [[pool]] for them: --add-pools adds them", self.spec.display());
            lines.push(("note".to_owned(), said));
        }
        lines
    }
}
