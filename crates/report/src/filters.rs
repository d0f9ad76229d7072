//! Filters that templates print figures with: `{{ pool.need | compact }}`.
//!
//! Each is a thin coat over `format`, `names` or `local`; what is not there comes out as a dash. A
//! text that a filter gives back is escaped like any other, but for `code` and `quote`, which know
//! the document that they are in.

use jiff::{Timestamp, civil::Date};
use minijinja::{
    AutoEscape, Environment, State,
    value::{Value, ValueKind},
};

use crate::{
    escape,
    format::{self, NONE},
    local::Local,
    names, plain,
    templates::MARKDOWN,
};

/// Adds the filters that need no calendar.
pub(crate) fn register(env: &mut Environment<'_>) {
    env.add_filter("group", |v: &Value| number(v, |n| format::group(n.round() as u64)));
    env.add_filter("compact", |v: &Value| number(v, format::compact));
    env.add_filter("percent", |v: &Value| number(v, format::percent));
    env.add_filter("ratio", |v: &Value| number(v, format::ratio));
    env.add_filter("duration", |v: &Value| number(v, format::duration_ms));
    env.add_filter("seconds", |v: &Value| number(v, |s| format::duration_ms(s * 1e3)));
    env.add_filter("window", |v: &Value| number(v, format::window));
    env.add_filter("decimal", |v: &Value| number(v, format::decimal));
    env.add_filter("usd", |v: &Value| text(v, format::usd));
    env.add_filter("day", |v: &Value| date(v, format::day));
    env.add_filter("day_year", |v: &Value| date(v, format::day_year));
    env.add_filter("dimension", |v: &Value| text(v, names::dimension));
    env.add_filter("decision", |v: &Value| text(v, names::decision));
    env.add_filter("action", |v: &Value| text(v, names::action));
    env.add_filter("words", |v: &Value| text(v, names::words));
    env.add_filter("pool", |v: &Value| text(v, names::pool));
    env.add_filter("model", |v: &Value| text(v, |key| names::model(key).to_owned()));
    env.add_filter("short", |v: &Value| text(v, short_digest));
    env.add_filter("rate_source", |v: &Value| text(v, names::rate));
    env.add_filter("budget", |v: &Value| text(v, names::budget));
    env.add_filter("filing", |v: &Value| text(v, names::filing));
    env.add_filter("capital", |v: &Value| text(v, format::capital));
    env.add_filter("sentence_case", |v: &Value| text(v, format::sentence_case));
    env.add_filter("stress", |v: &Value| text(v, names::stress));
    env.add_filter("plain", |v: &Value| text(v, plain::sentence));
    env.add_filter("code", code);
    env.add_filter("quote", quote);
}

/// Adds the filters that tell an instant in the plan's own time zone.
pub(crate) fn register_local(env: &mut Environment<'_>, local: &Local) {
    let of_day = local.clone();
    env.add_filter("local_day", move |v: &Value| instant(v, |at| format::day_year(of_day.day(at))));
    let of_evidence = local.clone();
    env.add_filter("evidence", move |v: &Value| evidence(v, &of_evidence));
    let of_moment = local.clone();
    env.add_filter("moment", move |v: &Value| instant(v, |at| of_moment.moment(at)));
}

fn number(value: &Value, show: impl Fn(f64) -> String) -> String {
    f64::try_from(value.clone()).map_or_else(|_| NONE.to_owned(), show)
}

fn text(value: &Value, show: impl Fn(&str) -> String) -> String {
    value.as_str().map_or_else(|| NONE.to_owned(), show)
}

fn date(value: &Value, show: impl Fn(Date) -> String) -> String {
    let parsed = value.as_str().and_then(|s| s.parse().ok());
    parsed.map_or_else(|| NONE.to_owned(), show)
}

fn instant(value: &Value, show: impl Fn(Timestamp) -> String) -> String {
    let parsed = value.as_str().and_then(|s| s.parse().ok());
    parsed.map_or_else(|| NONE.to_owned(), show)
}

/// The first characters of a digest: enough to tell two apart on paper.
fn short_digest(digest: &str) -> String {
    digest.chars().take(12).collect()
}

/// A piece of evidence: whole numbers with separators, others with at most four decimals and none from a
/// hundred on, instants in local time, lists and maps as one line, other text in plain words.
fn evidence(value: &Value, local: &Local) -> String {
    if let Some(text) = value.as_str() {
        return text.parse().map_or_else(|_| plain::sentence(text), |at: Timestamp| local.moment(at));
    }
    if let Ok(whole) = u64::try_from(value.clone()) {
        return format::group(whole);
    }
    if let (ValueKind::Number, Ok(number)) = (value.kind(), f64::try_from(value.clone())) {
        return format::fixed_or_group(number);
    }
    match value.try_iter() {
        Ok(items) if value.kind() == ValueKind::Seq => {
            items.map(|v| evidence(&v, local)).collect::<Vec<_>>().join("; ")
        }
        Ok(keys) if value.kind() == ValueKind::Map => {
            let pair = |key: Value| {
                let inner = value.get_item(&key).unwrap_or_default();
                format!("{}: {}", names::words(&key.to_string()), evidence(&inner, local))
            };
            keys.map(pair).collect::<Vec<_>>().join("; ")
        }
        _ if value.is_none() => NONE.to_owned(),
        _ => value.to_string(),
    }
}

/// Text as code: a code span in Markdown, an element in HTML.
fn code(state: &State<'_, '_>, value: &Value) -> Value {
    let Some(text) = value.as_str() else {
        return Value::from(NONE);
    };
    Value::from_safe_string(if *state.auto_escape() == MARKDOWN {
        escape::markdown_code(text)
    } else {
        format!("<code>{}</code>", escape::xml(text))
    })
}

/// Text of several lines as a quotation: `>` before each line in Markdown, an element in HTML.
fn quote(state: &State<'_, '_>, value: &Value) -> Value {
    let Some(text) = value.as_str() else {
        return Value::from(NONE);
    };
    let lines = text.lines().map(str::trim_end);
    Value::from_safe_string(if *state.auto_escape() == AutoEscape::Html {
        let lines: Vec<String> = lines.map(escape::xml).collect();
        format!("<blockquote>{}</blockquote>", lines.join("<br>"))
    } else {
        let lines: Vec<String> =
            lines.map(|line| format!("> {}", escape::markdown(line)).trim_end().to_owned()).collect();
        lines.join("  \n")
    })
}
