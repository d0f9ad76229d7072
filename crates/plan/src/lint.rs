//! What a reviewer at the provider would ask about a request, found before it is filed.
//!
//! A lint changes no figure and holds nothing back. The invariant: each tells the figures that disagree.
//! The rules are those of the demand sheet (requests' facts, section 1.8).

use crate::context::Context;
use crate::need::Needed;
use crate::pools::PoolWork;
use crate::quantity::Quantity;
use crate::{Lint, QuotaRequest};

/// Tokens asked for and requests times tokens a request may differ by this much, in percent.
const TOLERANCE_PERCENT: u64 = 20;
/// An ask above this many times the proven use wants evidence of a launch.
const PROVEN_FACTOR: u64 = 10;
/// Shapes of keys and tokens that have no place in a form: their first letters, and the least length.
const SECRETS: [(&str, usize); 7] =
    [("sk-", 20), ("AKIA", 16), ("ASIA", 16), ("AIza", 30), ("ghp_", 30), ("xoxb-", 20), ("eyJhbGciOi", 30)];

/// Everything that a reviewer would ask about.
pub(crate) fn lint(
    context: &Context<'_>,
    pool: &PoolWork,
    needed: &Needed,
    request: &QuotaRequest,
) -> Vec<Lint> {
    [
        tokens_against_requests(context, pool, needed, request),
        peak_below_steady(context, pool, needed),
        above_channel(context, pool, request),
        above_proven_use(context, pool, needed, request),
        needed_too_soon(context, pool, request),
        no_traffic(context, pool),
        current_unknown(request),
    ]
    .into_iter()
    .flatten()
    .chain(missing_fields(request))
    .chain(secrets(request))
    .collect()
}

fn found(code: &str, detail: String) -> Lint {
    Lint { code: code.to_owned(), detail }
}

/// Share by which `asked` differs from what that many requests of that many tokens draw, in percent of
/// `asked`; none within the tolerance.
fn mismatch(requests: u64, tokens_a_request: &Quantity, asked: u64) -> Option<(Quantity, f64)> {
    let drawn = &Quantity::from(requests) * tokens_a_request;
    let ratio = drawn.over(&asked.into())?;
    let bound = |percent| Quantity::ratio(percent, 100).unwrap_or_default();
    let within = ratio >= bound(100 - TOLERANCE_PERCENT) && ratio <= bound(100 + TOLERANCE_PERCENT);
    (!within).then(|| (drawn, ratio.to_f64()))
}

/// Tokens a minute must be what the requests a minute of the same sheet draw, as the provider counts them.
/// Where the provider grants in steps only a step that is too small is told.
fn tokens_against_requests(
    context: &Context<'_>,
    pool: &PoolWork,
    needed: &Needed,
    request: &QuotaRequest,
) -> Option<Lint> {
    let measure = request.dimension.strip_suffix("_per_min").filter(|measure| *measure != "requests")?;
    let requests = pool.needed.iter().find(|other| other.plan.dimension == "requests_per_min");
    let requests = requests.filter(|other| other.plan.event == needed.plan.event)?.plan.p95_need;
    // A need by replay is of one minute, and these are percentiles of runs: they are held against the tokens of the
    // same percentile where those are more.
    let asked = request.to.max(needed.plan.p95_need);
    let minutes = &context.pool_measured(&pool.id)?.per_minute;
    let stage = &needed.plan.basis;
    let sum = |measure: &str| minutes.get(&format!("{stage}.{measure}")).map(|stat| stat.sum);
    let mean = Quantity::ratio(sum(measure)?, sum("requests")?)?;
    let (drawn, ratio) = mismatch(requests, &mean, asked)?;
    if needed.plan.grant_step.is_some() && ratio < 1.0 {
        return None;
    }
    Some(found(
        "tokens_against_requests",
        format!(
            "{} requests a minute at P95 of the planned peak, with headroom, of {} {} each on average draw {}, {ratio:.2} times the {} that {}",
            Quantity::from(requests),
            Quantity::from(mean.ceil()),
            measure.replace('_', " "),
            Quantity::from(drawn.ceil()),
            Quantity::from(asked),
            if asked == request.to { "is asked for" } else { "tokens need at P95" },
        ),
    ))
}

fn peak_below_steady(context: &Context<'_>, pool: &PoolWork, needed: &Needed) -> Option<Lint> {
    let plan = &needed.plan;
    let steady = context.busy_minutes(&pool.id, plan)?;
    let steady = Quantity::of_percentile(steady.p50)?;
    (Quantity::from(plan.p95_floor) < steady).then(|| {
        found(
            "peak_below_steady",
            format!(
                "the planned peak of {} is below the steady {} of the busy minutes (P50)",
                Quantity::from(plan.p95_floor),
                Quantity::from(steady.ceil()),
            ),
        )
    })
}

fn above_channel(context: &Context<'_>, pool: &PoolWork, request: &QuotaRequest) -> Option<Lint> {
    let most = context.entry(&pool.id.pool)?.grants.max?;
    (request.to > most).then(|| {
        let (to, most) = (Quantity::from(request.to), Quantity::from(most));
        let detail = format!("{to} is more than the {most} that the channel takes: ask in the case's text");
        found("above_channel", detail)
    })
}

/// A launch is its own evidence once an occurrence of it was measured.
fn above_proven_use(
    context: &Context<'_>,
    pool: &PoolWork,
    needed: &Needed,
    request: &QuotaRequest,
) -> Option<Lint> {
    let plan = &needed.plan;
    let proven = context.busy_minutes(&pool.id, plan)?;
    let p95 = Quantity::of_percentile(proven.p95).filter(|p95| !p95.is_zero())?;
    let times = Quantity::from(request.to).over(&p95)?;
    if times <= PROVEN_FACTOR.into() || plan.occurrences > 0 {
        return None;
    }
    Some(found(
        "above_proven_use",
        format!(
            "{} is {:.1} times the P95 of {} measured busy minutes ({}), and no past occurrence shows it: attach the launch plan",
            Quantity::from(request.to),
            times.to_f64(),
            Quantity::from(proven.n),
            Quantity::from(p95.ceil()),
        ),
    ))
}

fn needed_too_soon(context: &Context<'_>, pool: &PoolWork, request: &QuotaRequest) -> Option<Lint> {
    let lead = pool.plan.lead_time.as_ref()?;
    (request.last_safe < context.today || request.event.is_none()).then(|| {
        let from = request.needed_from.unwrap_or(context.today);
        found(
            "needed_too_soon",
            format!("needed from {from}, and the lead time from {} is {}", context.today, lead.detail),
        )
    })
}

fn no_traffic(context: &Context<'_>, pool: &PoolWork) -> Option<Lint> {
    let seen = context.pool_measured(&pool.id).is_some_and(|measured| measured.attempts > 0);
    (!seen).then(|| {
        found(
            "no_traffic",
            "no call to this pool was measured in the history: check account, region and endpoint".to_owned(),
        )
    })
}

fn current_unknown(request: &QuotaRequest) -> Option<Lint> {
    request.from.is_none().then(|| {
        found(
            "current_unknown",
            "the current limit is not given: read it from the provider (plimsoll limits import)".to_owned(),
        )
    })
}

fn missing_fields(request: &QuotaRequest) -> Option<Lint> {
    let missing: Vec<&str> = request
        .fields
        .iter()
        .filter(|(_, value)| value.starts_with("missing"))
        .map(|(label, _)| label.as_str())
        .collect();
    (!missing.is_empty()).then(|| found("missing_field", format!("to be filled in: {}", missing.join(", "))))
}

fn secrets(request: &QuotaRequest) -> Option<Lint> {
    let texts = request.fields.values().chain([&request.justification]);
    let mut words = texts.flat_map(|text| text.split(|c: char| c.is_whitespace() || ",;\"'`()".contains(c)));
    let secret =
        |word: &str| SECRETS.iter().any(|(start, least)| word.starts_with(start) && word.len() >= *least);
    words
        .any(secret)
        .then(|| found("secret", "a field holds what looks like a key: take it out before filing".to_owned()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::*;

    /// Protects the check of tokens against requests by a sheet that was filed: Sonnet 5 with 200 requests of
    /// 30,000 in and 2,500 out asked for 2,000,000 and drew 6,500,000 plain, 11,000,000 at 10 for output;
    /// Haiku 4.5 with 400 of 20,000 and 1,500 asked for 3,000,000 and drew 8,600,000, 11,000,000 at 5.
    #[test]
    fn a_filed_sheet_that_does_not_add_up() {
        for (requests, input, output, weight, asked, drawn, times) in [
            (200, 30_000, 2_500, 1, 2_000_000, 6_500_000u64, 3.25),
            (200, 30_000, 2_500, 10, 2_000_000, 11_000_000, 5.5),
            (400, 20_000, 1_500, 1, 3_000_000, 8_600_000, 2.866_666),
            (400, 20_000, 1_500, 5, 3_000_000, 11_000_000, 3.666_666),
        ] {
            let (found, ratio) = mismatch(requests, &Quantity::from(input + output * weight), asked).unwrap();
            assert_eq!(found, drawn.into());
            assert!((ratio - times).abs() < 1e-5, "{ratio} for {times}");
        }
    }

    /// Protects honest sheets: a fifth more or less is no finding, a hair beyond is.
    #[test]
    fn a_fifth_is_allowed() {
        for (asked, told) in [(1_000, false), (834, false), (833, true), (1_250, false), (1_251, true)] {
            assert_eq!(mismatch(10, &100.into(), asked).is_some(), told, "{asked}");
        }
    }
}
