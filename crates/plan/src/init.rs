//! A first `plan.toml`, written from what the lake measured.
//!
//! What was measured is filled in and says where from; what only people know stands as a comment to be
//! filled in. The invariant: the text is a spec that can be planned with as it is.

use std::fmt::Write as _;

use jiff::civil::Date;
use plimsoll_catalog::{Catalog, PoolKey};

use crate::{Measured, PoolMeasured, WorkflowMeasured};

/// The text of a spec for everything that was measured; limits seen in rate-limit headers hold from `today`.
#[must_use]
pub fn init(measured: &Measured, catalog: &Catalog, time_zone: &str, today: Date) -> String {
    let mut text = String::new();
    let history = &measured.history;
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "# What to plan for, begun from {} runs between {} and {}. Lines behind a # are to be filled in.\n\
         version = 1\n\n\
         [policy]\n\
         # percentile = 0.95            # of a run: the floor that people can check by hand\n\
         # headroom = 0.35              # on top of the need\n\
         # review_utilization = 0.75    # sustained use above this: file before the next peak\n\
         # file_ahead = \"91d\"           # the rule of a quarter ahead\n\
         # budget_usd_month = \"40000\"\n\
         time_zone = {}\n\
         # holidays = \"US-federal\"      # whose business days count; without it, Monday to Friday\n",
        history.runs,
        history.from.strftime("%Y-%m-%d"),
        history.to.strftime("%Y-%m-%d"),
        quoted(time_zone),
    );
    let mut pools: Vec<&PoolMeasured> =
        measured.pools.iter().filter(|pool| pool.pool.parse::<PoolKey>().is_ok()).collect();
    pools.sort_by(|one, other| {
        (&one.pool, &one.account, &one.region).cmp(&(&other.pool, &other.account, &other.region))
    });
    for pool in pools {
        self::pool(&mut text, pool, catalog, today);
    }
    for workflow in &measured.workflows {
        self::workflow(&mut text, workflow);
    }
    text += EVENT;
    text
}

const EVENT: &str = "
# When the business peaks, and which workflow that moves. One of in_flight, runs_per_min and multiplier, or
# none: then what past occurrences measured counts.
# [[event]]
# name = \"month-end close\"
# when = \"last 3 business days of month, 09:00-18:00\"
# workflows = { WORKFLOW = { in_flight = 40 } }

# Reserved units held today.
# [[reservation]]
# pool = \"PROVIDER/provisioned/SCOPE/MODEL\"
# units = 100
# term = \"1-month\"
# until = \"YYYY-MM-DD\"
# price_usd_month = \"26000\"
";

fn pool(text: &mut String, pool: &PoolMeasured, catalog: &Catalog, today: Date) {
    let _ = write!(
        text,
        "\n# {} attempts in the history, {} of them refused by a limit.\n[[pool]]\nkey = {}\n",
        pool.attempts,
        pool.throttled_attempts,
        quoted(&pool.pool),
    );
    for (key, value) in [("account", &pool.account), ("region", &pool.region)] {
        if let Some(value) = value {
            let _ = writeln!(text, "{key} = {}", quoted(value));
        }
    }
    let dimensions = dimensions(pool, catalog, today);
    let (seen, unseen): (Vec<_>, Vec<_>) = dimensions.into_iter().partition(|(_, limit)| limit.is_some());
    let line = |of: &[(String, Option<u64>)]| {
        let each = of.iter().map(|(dimension, limit)| {
            format!("{dimension} = {}", limit.map_or_else(|| "0".to_owned(), |limit| limit.to_string()))
        });
        each.collect::<Vec<_>>().join(", ")
    };
    if !seen.is_empty() {
        let _ = writeln!(
            text,
            "# As the provider's rate-limit headers told last.\nlimits = [{{ {}, from = \"{today}\" }}]",
            line(&seen)
        );
    }
    if !unseen.is_empty() {
        let _ = writeln!(
            text,
            "# Not seen in any header: fill in what the provider granted, or run plimsoll limits import.\n# {} = [{{ {} }}]",
            if seen.is_empty() { "limits" } else { "and in limits" },
            line(&unseen)
        );
    }
    *text +=
        "# lead_time = \"21d\"   # from filing to grant; without it, the ledger's P90, else the catalog's\n";
    *text += "# owner = \"who files requests\"\n";
    *text += "# fallback = { pool = \"...\", quota_confirmed = \"YYYY-MM-DD\", credentials_tested = \"YYYY-MM-DD\", evaluation = \"YYYY-MM-DD\" }\n";
}

/// The pool's dimensions with the limits that headers told: combined tokens are input tokens where the
/// provider counts them apart.
fn dimensions(pool: &PoolMeasured, catalog: &Catalog, today: Date) -> Vec<(String, Option<u64>)> {
    let entry = pool.pool.parse().ok().and_then(|key| catalog.find(&key, today));
    let described = entry.map(|entry| entry.dimensions.as_slice()).unwrap_or_default();
    let names: Vec<&str> = if described.is_empty() {
        vec!["requests_per_min", "tokens_per_min"]
    } else {
        let granted =
            described.iter().filter(|dimension| !dimension.from_units && !dimension.only_where_listed);
        granted.map(|dimension| dimension.name.as_str()).collect()
    };
    let apart = names.contains(&"input_tokens_per_min");
    let seen = |name: &str| {
        let header = match name {
            "requests_per_min" => "requests",
            "tokens_per_min" => "tokens",
            "input_tokens_per_min" if apart => "tokens",
            "output_tokens_per_min" => "output_tokens",
            _ => return None,
        };
        pool.limits_seen.get(header).copied().filter(|limit| *limit > 0)
    };
    names.iter().map(|name| ((*name).to_owned(), seen(name))).collect()
}

fn workflow(text: &mut String, workflow: &WorkflowMeasured) {
    let _ = write!(
        text,
        "\n# {} finished runs in the history.\n[[workflow]]\nname = {}\n",
        workflow.runs,
        quoted(&workflow.workflow)
    );
    match workflow.tier {
        Some(tier) => {
            let _ = writeln!(text, "tier = {tier}   # as the telemetry told most often");
        }
        None => {
            *text += "# tier = 2   # 0 customer-facing, 1 deadline-bound, 2 internal, 3 deferrable\n";
        }
    }
    *text += "# owner = \"who answers for it\"\n";
    let p99 = |name: &str| {
        let stat = workflow.metrics.get(name).filter(|stat| stat.n > 0)?;
        Some(stat.p99.ceil() as u64).filter(|cap| *cap > 0)
    };
    if let (Some(calls), Some(input), Some(output)) =
        (p99("model_calls"), p99("input_tokens"), p99("output_tokens"))
    {
        let tokens = input.saturating_add(output);
        let _ = writeln!(
            text,
            "# budget = {{ model_calls = {calls}, tokens = {tokens} }}   # P99 of what was measured"
        );
    }
}

/// A string as TOML writes it.
fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}
