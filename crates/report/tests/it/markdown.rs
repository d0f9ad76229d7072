//! The Markdown twin and one chart, byte for byte.

use plimsoll_report::{Templates, render};

use crate::fixture::{Fallible, measured, plan};

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
    let chart = out
        .html
        .split("<svg")
        .find(|s| s.contains("need-1-1-t"))
        .and_then(|s| s.split("</svg>").next())
        .ok_or("the chart")?;
    // One element a line reads better in a diff.
    insta::assert_snapshot!("need.svg", format!("<svg{chart}</svg>").replace("><", ">\n<"));
    Ok(())
}

/// Protects the drawings that measured data feed: the busiest minute with its outlines and its limit, the gap
/// between admission and settlement, and the scorecard with its hollow triangles.
#[test]
fn charts_of_measured_data_as_svg() -> Fallible {
    let out = render(&plan()?, &measured()?, &Templates::default())?;
    for id in ["minute-1", "scorecard"] {
        let chart = out
            .html
            .split("<svg")
            .find(|s| s.contains(&format!("{id}-t")))
            .and_then(|s| s.split("</svg>").next())
            .ok_or(id)?;
        insta::assert_snapshot!(format!("{id}.svg"), format!("<svg{chart}</svg>").replace("><", ">\n<"));
    }
    assert!(out.html.contains("admission-") && out.html.contains("class=\"reserved\""));
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
