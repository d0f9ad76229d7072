//! The Markdown twin and some charts, byte for byte.

use plimsoll_plan::EventRatePlan;
use plimsoll_report::{Templates, render};

use crate::fixture::{Fallible, measured, plan};

/// A chart of the page: one element a line reads better in a diff.
fn drawing(html: &str, id: &str) -> Option<String> {
    let chart = html.split("<svg").find(|s| s.contains(&format!("{id}-t")))?;
    Some(format!("<svg{}</svg>", chart.split("</svg>").next()?).replace("><", ">\n<"))
}

/// Protects the whole text of `report.md`: sections, order, wording, number formats.
#[test]
fn the_example_as_markdown() -> Fallible {
    let out = render(&plan()?, &measured()?, &Templates::default())?;
    insta::assert_snapshot!("report.md", out.markdown);
    Ok(())
}

/// Protects the drawing of a chart: positions, classes and words of the steps from demand to ask.
#[test]
fn the_waterfall_as_svg() -> Fallible {
    let out = render(&plan()?, &measured()?, &Templates::default())?;
    insta::assert_snapshot!("need.svg", drawing(&out.html, "need-1-1").ok_or("the chart")?);
    Ok(())
}

/// Protects the drawings that measured data feed: the busiest minute with its outlines and its limit, the gap
/// between admission and settlement, and the scorecard with its hollow triangles.
#[test]
fn charts_of_measured_data_as_svg() -> Fallible {
    let out = render(&plan()?, &measured()?, &Templates::default())?;
    for id in ["minute-1", "scorecard"] {
        insta::assert_snapshot!(format!("{id}.svg"), drawing(&out.html, id).ok_or(id)?);
    }
    assert!(out.html.contains("admission-") && out.html.contains("class=\"reserved\""));
    Ok(())
}

/// Protects the finding of the scorecard: a declared rate is named only where there is no other beside it.
#[test]
fn of_declared_rates_that_differ_none_is_named() -> Fallible {
    let mut plan = plan()?;
    let first = plan.event_rates.first_mut().ok_or("an event")?;
    first.runs_per_min = Some(10.0);
    let other =
        EventRatePlan { workflow: "crm-enrichment".to_owned(), runs_per_min: Some(2.0), ..first.clone() };
    let told = render(&plan, &measured()?, &Templates::default())?.markdown;
    assert!(told.contains("In all 3 past occurrences more runs started than the 10 runs a minute that are"));
    plan.event_rates.push(other);
    let told = render(&plan, &measured()?, &Templates::default())?.markdown;
    assert!(told.contains("In all 6 past occurrences more runs started a minute than are planned for"));
    Ok(())
}

/// Protects the signer: both documents carry the same verdict, decisions and command.
#[test]
fn says_what_the_page_says() -> Fallible {
    let out = render(&plan()?, &measured()?, &Templates::default())?;
    let html = out.html.replace('\u{a0}', " ");
    for text in [
        "a minute on claude-sonnet-4.5: file for 2,500,000 by 9 November",
        "1M \u{2192} 2.5M",
        "plimsoll plan --spec plan.toml --as-of 2026-11-02T05:00:00Z",
        "frees 635k",
        "measured 3 times",
    ] {
        assert!(out.markdown.contains(text), "{text} in Markdown");
        assert!(html.contains(text), "{text} in HTML");
    }
    Ok(())
}
