//! A user's own templates in place of the embedded ones.

use std::collections::BTreeMap;

use plimsoll_report::{ReportError, Templates, render};

use crate::fixture::{Fallible, measured, plan};

fn with(name: &str, text: &str) -> Templates {
    Templates::new(BTreeMap::from([(name.to_owned(), text.to_owned())]))
}

/// Protects overriding: one file is replaced, the others stay, and filters and escaping are there.
#[test]
fn one_template_can_be_replaced() -> Fallible {
    let own = with(
        "report.md",
        "{{ plan.lake_version }} {{ plan.pools[0].dimensions[1].limit | compact }} {{ 'a|b' }}\n",
    );
    let out = render(&plan()?, &measured()?, &own)?;
    assert_eq!(out.markdown, "7 1M a\\|b");
    assert!(out.html.contains("Decisions, by date"));
    let styled = render(&plan()?, &measured()?, &with("style.css", "body{color:red}"))?;
    assert!(styled.html.contains("body{color:red}") && !styled.html.contains("--demand"));
    Ok(())
}

/// Protects authors of templates: a misspelt name is an error with its file and line, not an empty
/// cell in a signed document.
#[test]
fn a_broken_template_says_where() -> Fallible {
    for text in ["one\n{{ plan.verdit }}\n", "one\n{% if %}\n"] {
        let err = render(&plan()?, &measured()?, &with("report.html", text));
        let Err(err @ ReportError::Template(_)) = err else {
            return Err("a broken template passed".into());
        };
        assert!(err.to_string().contains("report.html:2"), "{err}");
    }
    Ok(())
}

/// Protects the user from a calendar that is not there.
#[test]
fn an_unknown_time_zone_is_named() -> Fallible {
    let mut plan = plan()?;
    plan.time_zone = "America/Nowhere".to_owned();
    let err = render(&plan, &measured()?, &Templates::default());
    let Err(err) = err else {
        return Err("an unknown zone passed".into());
    };
    assert!(err.to_string().contains("America/Nowhere"), "{err}");
    Ok(())
}
