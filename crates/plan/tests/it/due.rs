//! What is due within some days of a plan's day.

use jiff::civil::{Date, date};
use plimsoll_plan::{Due, PlanInput, Span, due, make};

use crate::world::{CLOSE, SONNET, as_of, measured, with_input};

fn due_within(spec: &str, ledger: &str, days: u32) -> Vec<Due> {
    with_input(spec, ledger, &measured(), as_of(), |input| {
        let input = PlanInput { quick: true, ..*input };
        let plan = make(&input).unwrap();
        let found = due(&input, &plan, Some(Span::of_days(days))).unwrap();
        let now = due(&input, &plan, None).unwrap();
        assert!(
            now.iter().all(|due| found.contains(due) && due.by <= as_of_day()),
            "now is part of any span"
        );
        found
    })
}

/// The plan's day in New York.
fn as_of_day() -> Date {
    date(2026, 11, 2)
}

fn kinds(due: &[Due]) -> Vec<&str> {
    due.iter().map(|due| due.kind.as_str()).collect()
}

/// A spec that needs nothing: limits above what the close needs.
fn quiet() -> String {
    CLOSE.replace("750000", "9000000")
}

/// Protects the person on duty: what must be filed is told with its last safe day, before anything else.
#[test]
fn a_request_is_due() {
    let due = due_within(CLOSE, "", 0);
    assert_eq!((due[0].kind.as_str(), due[0].by), ("file", date(2026, 8, 31)));
    assert!(due[0].what.contains("last safe day 2026-11-09"), "{}", due[0].what);
    assert_eq!(due[0].dimension.as_deref(), Some("input_tokens_per_min"));
    assert!(due_within(&quiet(), "", 0).is_empty(), "nothing is due where limits hold");
}

/// Protects drafts from being forgotten, and open requests from silence: half are decided by then.
#[test]
fn the_ledger_is_followed_up() {
    let entry = |rest: &str| {
        format!(
            "[[request]]\npool = \"{SONNET}\"\naccount = \"prod\"\ndimension = \"input_tokens_per_min\"\nasked = 5000000\n{rest}\n"
        )
    };
    let due = due_within(CLOSE, &entry("drafted = \"2026-11-01\""), 0);
    assert_eq!(kinds(&due), ["draft"]);
    assert!(due[0].what.contains("line 1"), "{}", due[0].what);
    assert!(due_within(&quiet(), &entry("drafted = \"2026-11-01\""), 0).is_empty(), "nothing needs it");
    // The catalog's three business days after Thursday 29 October: Tuesday 3 November.
    let no_lead = CLOSE.replace("lead_time = \"21d\"\n", "");
    let filed = entry("filed = \"2026-10-29\"\ncase = \"C-7\"");
    assert!(due_within(&no_lead, &filed, 0).is_empty());
    let due = due_within(&no_lead, &filed, 1);
    assert_eq!((kinds(&due), due[0].by), (vec!["escalate"], date(2026, 11, 3)));
    assert!(due[0].what.contains("C-7"), "{}", due[0].what);
}

/// Protects money and proof: terms that end, renewals to cancel, fallbacks that were tested long ago, and
/// rows that nobody has read for half a year; each appears on its day and not before.
#[test]
fn dates_of_the_spec_and_the_catalog_are_kept() {
    let reserved = "azure.ai.openai/provisioned/datazone/gpt-5.2";
    let spec = quiet()
        + &format!(
            "\n[[reservation]]\npool = \"{reserved}\"\nunits = 15\nterm = \"1-month\"\nuntil = \"2026-11-30\"\ncancel_by = \"2026-11-20\"\n"
        );
    let about = |due: Vec<Due>| -> Vec<(String, String)> {
        let of_pool = due.into_iter().filter(|due| due.pool == reserved);
        of_pool.map(|due| (due.by.to_string(), due.kind)).collect()
    };
    let day = |day: &str, kind: &str| (day.to_owned(), kind.to_owned());
    assert_eq!(about(due_within(&spec, "", 17)), []);
    assert_eq!(about(due_within(&spec, "", 18)), [day("2026-11-20", "cancel")]);
    assert_eq!(
        about(due_within(&spec, "", 28)),
        [day("2026-11-20", "cancel"), day("2026-11-30", "reservation")]
    );
    let tested = |day: &str| {
        quiet().replace(
            "lead_time = \"21d\"",
            &format!("fallback = {{ pool = \"aws.bedrock/runtime/geo/claude-sonnet-4.5\", credentials_tested = \"{day}\" }}"),
        )
    };
    // 91 days after 3 August is 2 November, the plan's day.
    assert_eq!(kinds(&due_within(&tested("2026-08-03"), "", 0)), ["retest"]);
    assert!(due_within(&tested("2026-08-04"), "", 0).is_empty());
    let stale = due_within(&quiet(), "", 400);
    let stale: Vec<&Due> = stale.iter().filter(|due| due.kind == "stale_catalog").collect();
    assert!(!stale.is_empty() && stale.iter().all(|due| due.what.contains("180 days")), "{stale:?}");
}
