//! Other engines read the tables as they are: DuckDB, and pandas through the `deltalake` package.
//!
//! Needs a Python with those packages, named by `PLIMSOLL_PYTHON`; skipped without.

use std::process::Command;

use plimsoll_lake::{Lake, Order};

use crate::fixtures::{Dice, Outcome, product_schemas, random_rows};

/// Every table, empty and filled over several commits with a rewrite and a checkpoint, has the same
/// rows, columns and types there as here.
#[tokio::test]
#[expect(clippy::print_stderr, reason = "says that it was skipped")]
async fn duckdb_and_pandas_read_every_table() -> Outcome {
    let Some(python) = std::env::var_os("PLIMSOLL_PYTHON") else {
        eprintln!("skipped: PLIMSOLL_PYTHON names no Python with deltalake, pandas and duckdb");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/foreign.py");
    let lake = Lake::open(&location, product_schemas()?).await?;
    let mut dice = Dice(1);
    for filled in [false, true] {
        let mut expected = Vec::new();
        for schema in lake.schemas().iter() {
            let table = lake.table(&schema.name).await?;
            for _ in 0..u8::from(filled) * 3 {
                let rows = random_rows(schema, 100, &mut dice)?;
                table.append(table.write(&[rows], Order::Sorted).await?, &[]).await?;
            }
            let base = table.snapshot().await?;
            if let Some(file) = base.files().first() {
                let again = table.write(&table.read(file).await?, Order::Sorted).await?;
                table.rewrite(&base, again, vec![file.clone()], &[], false).await?;
                table.checkpoint().await?;
            }
            let columns = schema.columns.len();
            expected.push(format!("{}:{}:{columns}", schema.name, base.rows()));
        }
        let run = Command::new(&python).arg(script).arg(&location).args(&expected).output()?;
        let told = String::from_utf8_lossy(&run.stdout).into_owned();
        let failed = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success(), "{told}{failed}");
    }
    Ok(())
}
