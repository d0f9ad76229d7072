//! Queries that want more memory than there is.

use plimsoll_profile::{Limits, Reader};

use crate::support::{Outcome, World};

/// T37: percentiles of far more groups than fit spill to disk and are exact, or end in a sentence that says
/// what was needed, what there is and what to do; they never bring the process down.
#[tokio::test]
async fn groups_beyond_memory() -> Outcome {
    const GROUPS: usize = 250_000;
    let world = World::within(Limits { memory_bytes: 32 << 20, threads: 2 }).await?;
    let reader = Reader::pinned(&world.lake, &world.factory).await?;
    for (function, least) in [("percentiles(x, [0.5])[1]", 1.0), ("median(x)", 1.0)] {
        let sql = format!(
            "SELECT count(*) AS groups, min(p) AS least FROM (
               SELECT g, {function} AS p
               FROM (SELECT value % {GROUPS} AS g, CAST(value / {GROUPS} AS DOUBLE) AS x
                     FROM generate_series(0, {} ))
               GROUP BY g)",
            3 * GROUPS - 1
        );
        match reader.query(&sql).await {
            Ok(rows) => {
                let rows = arrow::util::pretty::pretty_format_batches(&rows)?.to_string();
                assert!(rows.contains(&GROUPS.to_string()) && rows.contains(&least.to_string()), "{rows}");
            }
            Err(error) => {
                let told = error.to_string();
                assert!(
                    told.contains("memory") && told.contains("MB") && told.contains("memory_bytes"),
                    "{told}"
                );
            }
        }
    }
    Ok(())
}
