//! The worksheet: its table, its figures by hand, its refusals, and its schema.

use plimsoll_plan::{Worksheet, WorksheetLine, worksheet_table};
use serde_json::Value;

use crate::units::{TODAY, catalog};

const SAMPLE: &str = include_str!("../../../../schemas/config/worksheet-claims.toml");

fn lines(text: &str) -> Vec<WorksheetLine> {
    let sheet = Worksheet::parse("sheet.toml", text).unwrap();
    sheet.lines("sheet.toml", text, catalog(), sheet.as_of.unwrap_or(TODAY)).unwrap()
}

fn refusal(text: &str) -> String {
    let sheet = match Worksheet::parse("sheet.toml", text) {
        Ok(sheet) => sheet,
        Err(fault) => return fault.to_string(),
    };
    sheet.lines("sheet.toml", text, catalog(), TODAY).unwrap_err().to_string()
}

/// Protects what people read: the table of the sample that ships, whole.
#[test]
fn the_table_of_the_sample() {
    insta::assert_snapshot!(worksheet_table(&lines(SAMPLE)));
}

/// Protects the figures, worked out by hand: 40 calls a minute of 1,800 and 150 tokens at P50, a quarter of
/// the input cached, weigh 40 x (1,350 + 8 x 150) = 102,000 a minute; with a fifth on top, 36 units.
#[test]
fn figures_by_hand() {
    let lines = lines(SAMPLE);
    let find = |scenario: &str, name: &str, percentile: &str| {
        let fits = |line: &&WorksheetLine| {
            line.scenario == scenario && line.name == name && line.percentile == percentile
        };
        lines.iter().find(fits).unwrap().clone()
    };
    let azure = "azure.ai.openai/provisioned/global/gpt-5.2";
    let base = find("base", azure, "p50");
    assert_eq!(base.requests_per_min, Some(40.into()));
    assert_eq!(base.input_tokens_per_min, Some(54_000.into()));
    assert_eq!(base.cached_tokens_per_min, Some(18_000.into()));
    assert_eq!(base.output_tokens_per_min, Some(6_000.into()));
    assert_eq!(base.units.as_deref(), Some("40"), "102,000 x 1.2 / 3,400 = 36");
    assert_eq!(base.usd_per_hour.as_deref(), Some("14.25"), "40 x 260 / 730");
    assert_eq!(base.usd_per_day.as_deref(), Some("341.92"));
    assert_eq!(base.next_step_at.as_deref(), Some("44.44"), "40 x 40 / 36");
    // 40 calls a minute of 2 s each: 1.33 inside, by Little's law.
    assert_eq!(base.in_flight.map(|inside| inside.to_string()).as_deref(), Some("1.3333"));

    // A reservation of 60 covers the 40 of the base and not what the storm adds.
    let held = |scenario| find(scenario, "azure.ai.openai/provisioned/global/*", "p50").unit.unwrap();
    assert_eq!(held("base"), "60 held, 0 beyond at the hourly price");
    assert_eq!(held("storm week"), "60 held, 50 beyond at the hourly price");

    // Chats: 60 a minute x 14,000 x 0.4 uncached x 1.2 is 403,200, within 2,000,000, which 60 x 2,000,000 / 403,200 calls a minute reach.
    let chats = find("base", "anthropic/direct/global/claude-sonnet-4.5", "p95");
    assert!(chats.need.unwrap().contains("input_tokens_per_min=403200"));
    assert_eq!(chats.limit_at.as_deref(), Some("297.62 (input_tokens_per_min)"));
    // An event of a quarter of an hour costs a quarter of an hour on demand.
    let burst = find("burst of chats", "anthropic/direct/global/claude-sonnet-4.5", "p50");
    let cents = |usd: &Option<String>| usd.as_ref().unwrap().replace('.', "").parse::<u64>().unwrap();
    assert!(cents(&burst.usd_per_hour).abs_diff(cents(&burst.usd_per_day) * 4) <= 4);

    let stage = find("storm week", "claim summary: document search", "p95");
    assert_eq!(stage.in_flight.map(|inside| inside.to_string()).as_deref(), Some("2.4"), "120 x 1.2 / 60");
}

/// Protects the answer to every mistake that a hand is likely to make: file, line, field, remedy.
#[test]
fn mistakes_are_placed_and_explained() {
    let class = "[[class]]\nname = \"a\"\npool = \"openai/direct/global/gpt-5\"\nruns_per_min = 1\n";
    for (text, place, remedy) in [
        (String::new(), "sheet.toml", "class"),
        ("class = []".to_owned(), "sheet.toml: class", "at least one class"),
        (format!("{class}inputs = 5\n"), "sheet.toml:5: class", "input_tokens"),
        (format!("{class}input_tokens = -5\n"), "sheet.toml:5: class.input_tokens", "zero or more"),
        (
            format!("{class}input_tokens = {{ p50 = 5, p95 = 4, p99 = 9 }}\n"),
            "sheet.toml:1: class.input_tokens",
            "never fall",
        ),
        (format!("{class}cache_rate = 60\n"), "sheet.toml:1: class.cache_rate", "give a share"),
        (format!("{class}output_tokens = 9\nmax_tokens = 5\n"), "sheet.toml:1: class", "above max_tokens 5"),
        (format!("{class}{class}"), "sheet.toml:5: class.name", "stands twice"),
        (class.replace("gpt-5", "gpt-55"), "sheet.toml:1: class", "the nearest are"),
        (class.replace("openai/direct", "openai"), "sheet.toml:3: class", "provider/product/scope/model"),
        (
            format!("{class}[[scenario]]\nname = \"b\"\nclass_rate = {{ aa = 2 }}\n"),
            "sheet.toml:5",
            "no class `aa`",
        ),
        (
            format!("{class}[[scenario]]\nname = \"b\"\nmove = {{ \"a/b/c/d\" = \"e/f/g/h\" }}\n"),
            "sheet.toml:5: scenario.move",
            "no class draws on",
        ),
        (format!("{class}[[scenario]]\nname = \"b\"\nhours_per_day = 25\n"), "sheet.toml:5", "up to 24"),
        (
            format!("[[pool]]\nkey = \"openai/direct/global/gpt-5\"\nlimits = {{ gpus = 3 }}\n{class}"),
            "sheet.toml:4: class",
            "no limit `gpus`",
        ),
        (
            format!(
                "[[pool]]\nkey = \"{AZURE}\"\nterm = \"5-year\"\n{}",
                class.replace("openai/direct/global/gpt-5", AZURE)
            ),
            "sheet.toml:4: class",
            "it is for hourly, 1-month, 1-year",
        ),
    ] {
        let said = refusal(&text);
        assert!(said.starts_with(place) && said.contains(remedy), "{text}\nsaid: {said}");
    }
}

const AZURE: &str = "azure.ai.openai/provisioned/global/gpt-5.2";

/// Protects editors: the JSON Schema knows exactly the keys that the parser knows, table by table.
#[test]
fn the_schema_and_the_parser_know_the_same_keys() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../schemas/config/worksheet.schema.json")).unwrap();
    for (pointer, text) in [
        ("/properties", "zz = 1"),
        ("/$defs/pool/properties", "[[pool]]\nzz = 1"),
        ("/$defs/reservation/properties", "[[reservation]]\nzz = 1"),
        ("/$defs/class/properties", "[[class]]\nzz = 1"),
        ("/$defs/stage/properties", "[[class]]\nname = \"a\"\nstages = [{ zz = 1 }]"),
        ("/$defs/scenario/properties", "[[scenario]]\nzz = 1"),
    ] {
        let said = Worksheet::parse("sheet.toml", text).unwrap_err().message;
        let mut listed: Vec<&str> =
            schema.pointer(pointer).unwrap().as_object().unwrap().keys().map(String::as_str).collect();
        let mut known: Vec<&str> = said.split('`').skip(1).step_by(2).filter(|key| *key != "zz").collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known, "{pointer}: {said}");
    }
}
