//! The page: self-contained, readable without eyes, in both colour schemes.

use plimsoll_plan::{Plan, Warning};
use plimsoll_report::{Templates, render};

use crate::fixture::{Fallible, measured, plan};

fn page() -> Fallible<String> {
    Ok(render(&plan()?, &measured()?, &Templates::default())?.html)
}

/// Protects the promise that a report can be mailed and archived: nothing in it is loaded from
/// anywhere, and nothing in it runs.
#[test]
fn loads_and_runs_nothing() -> Fallible {
    let html = page()?;
    for forbidden in [
        "<script",
        "<link",
        "<img",
        "<iframe",
        "<object",
        "@import",
        "url(",
        "src=",
        "http://",
        "https://",
        "javascript:",
        "onload=",
    ] {
        assert!(!html.contains(forbidden), "{forbidden} in the page");
    }
    for link in html.split("href=\"").skip(1) {
        assert!(link.starts_with('#'), "a link that leaves the page");
    }
    Ok(())
}

/// Protects readers who cannot see the charts: each names itself, describes itself with numbers, and
/// has a table of the same figures.
#[test]
fn every_chart_tells_itself() -> Fallible {
    let html = page()?;
    let charts: Vec<&str> = html.split("<svg").skip(1).collect();
    assert!(charts.len() >= 8, "eight kinds of charts, got {}", charts.len());
    for chart in &charts {
        let body = chart.split("</svg>").next().unwrap_or_default();
        let inner = |tag: &str| {
            let open = body.split(&format!("<{tag} id=\"")).nth(1)?;
            open.split('>').nth(1)?.split('<').next()
        };
        assert!(inner("title").is_some_and(|t| !t.is_empty()), "a title");
        assert!(
            inner("desc").is_some_and(|d| d.chars().any(|c| c.is_ascii_digit())),
            "a description with numbers"
        );
        assert!(body.contains("role=\"img\"") && body.contains("aria-labelledby"));
        assert!(!body.contains("NaN") && !body.contains("inf"));
    }
    assert!(html.matches("<summary>The figures</summary>").count() == charts.len());
    let mut ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "ids are unique");
    Ok(())
}

/// Protects both colour schemes: every colour that is used is a variable, and each variable has a
/// value in light and in dark.
#[test]
fn light_and_dark_have_every_colour() -> Fallible {
    let html = page()?;
    let style = html.split("<style>").nth(1).and_then(|s| s.split("</style>").next()).ok_or("a style")?;
    let (light, rest) =
        style.split_once("@media screen and (prefers-color-scheme: dark)").ok_or("a dark scheme")?;
    let (dark, rules) = rest.split_once("\n}\n").ok_or("rules")?;
    let used: std::collections::BTreeSet<&str> =
        rules.split("var(").skip(1).filter_map(|s| s.split(')').next()).collect();
    assert!(used.len() >= 10);
    for name in used {
        for (scheme, text) in [("light", light), ("dark", dark)] {
            assert!(text.contains(&format!("{name}:")), "{name} in {scheme}");
        }
    }
    for svg in html.split("<svg").skip(1) {
        let body = svg.split("</svg>").next().unwrap_or_default();
        assert!(!body.contains("fill=\"#") && !body.contains("stroke=\"#"));
    }
    Ok(())
}

/// Protects page one: what a signer looks for stands there, in this order.
#[test]
fn page_one_has_everything_in_order() -> Fallible {
    let html = page()?.replace('\u{a0}', " ");
    let mut rest = html.as_str();
    for text in [
        "The month-end close of 30 November will be throttled",
        "request to file now",
        "Decisions, by date",
        "now",
        "Set max_tokens",
        "frees 635k",
        "before filing",
        "Move to batch",
        "9 Nov",
        "last safe day; 31 Aug would have been in good time",
        "1M \u{2192} 2.5M",
        "n = 1,204 runs, 3 past occurrences",
        "finance platform",
        "Let the reservation lapse",
        "If nothing is signed",
        "30 November 2026, 09:00",
        "94 % of its calls are refused at first",
        "41 min at P95 (4.8 min), where 5 min is promised",
        "Tier 0 is not touched",
        "How far to trust this",
        "past forecasts: 1 of 2 occurrences stayed within P95",
        "Open request: 1.5M input tokens a minute on claude-haiku-4.5, filed on 20 Oct, 13 days ago",
        "1M granted (66.7 % of it) after 21 days",
        "who signs",
        "finance platform; capacity owner",
        "support platform; capacity owner; FinOps",
        "service owner; director",
        "6f2c91d07be34a58c1907d2f4417ae9036b1d5f2c8e4a7093b6d12fe58c04a91",
        "claude-sonnet-4.5 passes its limit at the month-end close of 30 Nov, as at 2 of the last 3",
    ] {
        let at = rest.find(text).ok_or_else(|| format!("{text:?} is missing or out of order"))?;
        rest = rest.get(at..).unwrap_or_default();
    }
    Ok(())
}

/// Protects honesty: what is not known is a dash, and lists that are empty leave no heading behind.
#[test]
fn an_empty_plan_has_no_empty_sections() -> Fallible {
    let full = plan()?;
    let bare = Plan {
        pools: Vec::new(),
        quota_requests: Vec::new(),
        reservations: Vec::new(),
        tiers: Vec::new(),
        events: Vec::new(),
        stress: Vec::new(),
        scenarios: Vec::new(),
        risks: Vec::new(),
        concurrency: Vec::new(),
        budgets: Vec::new(),
        cheaper_first: Vec::new(),
        workflows: Vec::new(),
        warnings: Vec::new(),
        event_rates: Vec::new(),
        ledger: Vec::new(),
        unsigned: Vec::new(),
        ..full
    };
    let out = render(&bare, &measured()?, &Templates::default())?;
    for text in [&out.html, &out.markdown] {
        for heading in
            ["Decisions", "Requests in full", "Reservations", "Risks", "Budgets", "Events ahead", "Limits"]
        {
            assert!(!text.contains(heading), "{heading} without content");
        }
        assert!(!text.contains("<svg"));
    }
    Ok(())
}

/// Protects the page against the names it shows: markup in telemetry stays text, in sentences,
/// tables and charts.
#[test]
fn names_from_outside_stay_text() -> Fallible {
    let evil = "<script>alert(1)</script>\"'&|x";
    let mut plan = plan()?;
    for workflow in &mut plan.workflows {
        workflow.workflow = evil.to_owned();
        workflow.owner = Some(evil.to_owned());
    }
    for request in &mut plan.quota_requests {
        request.owner = Some(evil.to_owned());
        request.command = Some(format!("file `{evil}`"));
        request.justification = format!("{evil}\n{evil}");
        request.fields.insert(evil.to_owned(), evil.to_owned());
        request.evidence.insert(evil.to_owned(), serde_json::json!([evil, {"a": evil}]));
        request.companions.push(evil.to_owned());
    }
    for pool in &mut plan.pools {
        pool.account = Some(evil.to_owned());
        for d in &mut pool.dimensions {
            d.event = Some(evil.to_owned());
            d.derivation.push(evil.to_owned());
        }
    }
    plan.warnings.push(Warning { code: evil.to_owned(), detail: evil.to_owned() });
    plan.verdict = evil.to_owned();
    let out = render(&plan, &measured()?, &Templates::default())?;
    assert!(!out.html.contains("<script"), "markup in the page");
    for line in out.markdown.lines() {
        let inside_code: String = line.split('`').step_by(2).collect();
        assert!(!inside_code.contains("<script"), "markup in the text: {line}");
    }
    // Every row of a Markdown table has as many cells as its head.
    let mut head = None;
    for line in out.markdown.lines() {
        if !line.starts_with('|') {
            head = None;
            continue;
        }
        let cells = line.replace("\\|", "").matches('|').count();
        assert_eq!(*head.get_or_insert(cells), cells, "{line}");
    }
    Ok(())
}

/// Protects reproducible plans: the same input gives the same bytes.
#[test]
fn the_same_plan_gives_the_same_bytes() -> Fallible {
    assert_eq!(page()?, page()?);
    Ok(())
}

/// Protects readers of long reports: a list that is cut says how much is left out and where it is.
#[test]
fn long_lists_are_cut_with_a_hint() -> Fallible {
    let mut plan = plan()?;
    let template = plan.workflows.first().cloned().ok_or("a workflow")?;
    plan.workflows = (0..45)
        .map(|i| plimsoll_plan::WorkflowPlan { workflow: format!("workflow-{i:02}"), ..template.clone() })
        .collect();
    let out = render(&plan, &measured()?, &Templates::default())?;
    for text in [&out.html, &out.markdown] {
        assert!(text.contains("15 more in plan.json, under"));
        assert!(text.contains("workflow-29") && !text.contains("workflow-30"));
    }
    Ok(())
}

/// Writes the example's report where a person (or a browser in a script) can look at it.
#[test]
fn writes_the_example_for_people() -> Fallible {
    let out = render(&plan()?, &measured()?, &Templates::default())?;
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("example-report");
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("report.html"), out.html)?;
    std::fs::write(dir.join("report.md"), out.markdown)?;
    Ok(())
}
