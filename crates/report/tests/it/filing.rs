//! What stands behind a request, and on which day it is filed.

use plimsoll_plan::{Filing, Lint};
use plimsoll_report::{Templates, render};

use crate::fixture::{Fallible, measured, plan};

/// Protects whoever files: both documents tell the day, the quota, what a reviewer would ask and where each
/// input was read, once, and none of it as raw data.
#[test]
fn a_request_says_where_it_comes_from_and_when_it_is_filed() -> Fallible {
    let mut plan = plan()?;
    let request = plan.quota_requests.first_mut().ok_or("a request")?;
    let detail = "the planned peak of 5 is below the steady 6".to_owned();
    request.lints.push(Lint { code: "peak_below_steady".to_owned(), detail: detail.clone() });
    let input = serde_json::json!([{
        "what": "settlement.input_tokens that a run draws", "value": "54,000 and 118,800", "n": 1204,
        "source": "sql/plan/draws.sql", "rows": "workflow = 'invoices'"
    }]);
    request.evidence.insert("inputs".to_owned(), input);
    plan.filing.push(Filing {
        on: "2026-11-03".parse()?,
        order: 1,
        kind: "case_text".to_owned(),
        pool: request.pool.clone(),
        account: request.account.clone(),
        region: None,
        dimension: None,
        quota: Some("Tokens a day (L-1)".to_owned()),
        to: Some(2_333_222),
        escalate_on: Some("2026-11-10".parse()?),
        second_chance: None,
        detail: Some("every slot is taken".to_owned()),
    });
    let out = render(&plan, &measured()?, &Templates::default())?;
    for text in [&out.html.replace('\u{a0}', " "), &out.markdown] {
        let words = [
            &detail,
            "54,000 and 118,800",
            "sql/plan/draws.sql",
            "1,204",
            "3 Nov 2026",
            "Tokens a day",
            "2,333,222",
            "10 Nov 2026",
            "every slot is taken",
            "case text",
        ];
        for word in words {
            assert!(text.contains(word), "{word} is not told");
        }
        assert!(!text.contains("what: settlement"), "inputs are no raw data");
    }
    Ok(())
}
