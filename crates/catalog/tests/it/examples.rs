//! Worked examples of units, by the ids of the provider facts, and what surprises about single rows.
//! The examples of metering stand in `worked`.

use jiff::civil::date;
use num_rational::Ratio;
use plimsoll_catalog::{Call, Catalog, Fault, Unit};
use rust_decimal::Decimal;

use crate::shipped::entry;

/// PTU for so many calls a minute of that shape, without headroom.
fn units(key: &str, calls: u64, input: u64, cached: u64, output: u64) -> Option<u64> {
    let entry = entry(key);
    let minute = Call {
        input_uncached: calls * (input - cached),
        cache_read: calls * cached,
        output: calls * output,
        ..Call::default()
    };
    let demand = u128::from(entry.meter(&minute).settlement.tokens);
    entry.units.first()?.units_for(demand, Ratio::from(0))
}

/// AZ1, AZ2, AZ3, AZ10, AZ11, AZ12: sizing as Azure prints it, answered by its API, and the exact
/// multiple that must not be rounded up.
#[test]
fn azure_units() {
    let gpt52 = "azure.ai.openai/provisioned/datazone/gpt-5.2";
    assert_eq!(units(gpt52, 1000, 200, 0, 20), Some(110), "AZ1");
    assert_eq!(units(gpt52, 1000, 200, 100, 20), Some(80), "AZ2");
    let sol = "azure.ai.openai/provisioned/global/gpt-5.6-sol";
    assert_eq!(units(sol, 18, 1000, 0, 300), Some(45), "AZ3");
    assert_eq!(units(sol, 19, 1000, 0, 300), Some(45), "AZ3");
    assert_eq!(units(sol, 20, 1000, 0, 300), Some(50), "AZ3");
    let gpt41 = "azure.ai.openai/provisioned/global/gpt-4.1";
    assert_eq!(units(gpt41, 100, 500, 0, 200), Some(45), "AZ10");
    assert_eq!(units("azure.ai.openai/provisioned/datazone/gpt-5", 50, 1000, 300, 500), Some(50), "AZ11");
    assert_eq!(units(gpt41, 100, 1000, 0, 500), Some(100), "AZ12");
}

/// AZ6: three shapes of gpt-4o-mini at the older output ratio of 3, which is what the page printed.
#[test]
fn azure_units_at_the_older_ratio() -> Result<(), Fault> {
    let text = r#"
        provider = "azure.ai.openai"
        product = "provisioned"
        [limits]
        deployment = [{ name = "tokens_per_min", counts = "tokens", window_s = 60, from_units = true }]
        [meter.ratio-3]
        unset_max_output = "unknown"
        refused = "unknown"
        admission.tokens = { input_uncached = 1, max_output = 1 }
        settlement.tokens = { input_uncached = 1, output = 3 }
        [unit.global]
        name = "PTU"
        per_s = 60
        min = 15
        increment = 5
        term = []
        [source.page]
        title = "latency include"
        read_on = "2026-03-19"
        confidence = "own_page"
        [[entry]]
        scopes = ["global"]
        models = ["gpt-4o-mini"]
        limits = "deployment"
        meter = "ratio-3"
        unit = "global"
        unit_throughput = 37000
        sources = ["page"]
    "#;
    let catalog = Catalog::load([("old.toml", text)])?;
    let units = |calls: u64, input: u64, output: u64| {
        let entry = catalog.entries().next()?;
        let minute = Call { input_uncached: calls * input, output: calls * output, ..Call::default() };
        let demand = u128::from(entry.meter(&minute).settlement.tokens);
        entry.units.first()?.units_for(demand, Ratio::from(0))
    };
    assert_eq!(units(30, 800, 150), Some(15));
    assert_eq!(units(1000, 5000, 50), Some(140));
    assert_eq!(units(500, 1000, 300), Some(30));
    Ok(())
}

/// AZ4, AZ5: what 45 units serve, and the three terms against paying on demand; a month breaks even
/// at 99 % use, an hour never does.
#[test]
fn azure_break_even() {
    let sol = entry("azure.ai.openai/provisioned/global/gpt-5.6-sol");
    let call = Call { input_uncached: 1000, output: 300, ..Call::default() };
    let shape = sol.meter(&call).settlement.tokens;
    assert_eq!(shape, 2800);
    let as_of = date(2026, 11, 2);
    let on_demand = entry("azure.ai.openai/standard/global/gpt-5.6-sol").cost(&call, as_of);
    assert_eq!(on_demand, Some(Decimal::new(14, 3)));

    let unit = sol.units.first();
    let calls_per_hour = unit.map(|unit| unit.capacity(45) * 60 / shape);
    assert_eq!(calls_per_hour, Some(1157), "AZ4");
    let cents = |usd: Decimal| usd.round_dp(2);
    assert_eq!(on_demand.map(|usd| cents(usd * Decimal::from(1157))), Some(Decimal::new(1620, 2)));
    let hourly = |term: &str| {
        let usd = unit?.term(term)?.usd_per_hour(as_of)?;
        Some(cents(usd * Decimal::from(45)))
    };
    assert_eq!(hourly("hourly"), Some(Decimal::new(4500, 2)), "AZ5");
    assert_eq!(hourly("1-month"), Some(Decimal::new(1603, 2)), "AZ5");
    assert_eq!(hourly("1-year"), Some(Decimal::new(1362, 2)), "AZ5");

    let break_even = |term: &str| {
        let usd = unit?.term(term)?.usd_per_hour(as_of)?;
        unit?.break_even(usd, shape, on_demand?).map(cents)
    };
    assert_eq!(break_even("1-month"), Some(Decimal::new(99, 2)));
    assert!(break_even("hourly") > Some(Decimal::TWO));
    let month = |term: &str| unit?.term(term)?.usd_per_month(as_of);
    assert_eq!(month("1-year"), Some(Decimal::from(221)));
}

/// Protects "not found": a data-zone reservation has no price, an hour has one.
#[test]
fn an_unknown_price_stays_unknown() {
    let unit = entry("azure.ai.openai/provisioned/datazone/gpt-5.2").units.first();
    let usd = |term: &str| unit?.term(term)?.usd(date(2026, 11, 2));
    assert_eq!(usd("hourly"), Some(Decimal::new(110, 2)));
    assert_eq!(usd("1-month"), None);
    let haiku = entry("anthropic/direct/global/claude-haiku-3.5");
    assert_eq!(haiku.cost(&Call { output: 1, ..Call::default() }, date(2026, 11, 2)), None);
}

/// Protects the cache on Bedrock: a read is reserved (the reading that asks for more) and released,
/// a write counts.
#[test]
fn bedrock_cache() {
    let call = Call { cache_read: 900, cache_write: 100, max_output: Some(0), ..Call::default() };
    let metered = entry("aws.bedrock/runtime/geo/claude-haiku-4.5").meter(&call);
    assert_eq!(
        (metered.admission.tokens, metered.settlement.tokens, metered.released.tokens),
        (1000, 100, 900)
    );
}

/// AN1, AN2: cache reads do not count, so 80 % hits carry five times the limit; `max_tokens` plays
/// no part, and output counts as it comes.
#[test]
fn anthropic_input() {
    let sonnet = entry("anthropic/direct/global/claude-sonnet-4.5");
    let minute = Call { input_uncached: 2_000_000, cache_read: 8_000_000, ..Call::default() };
    assert_eq!(sonnet.meter(&minute).settlement.input_tokens, 2_000_000, "AN1");
    let call = Call {
        input_uncached: 50,
        cache_read: 200_000,
        output: 7,
        max_output: Some(8192),
        ..Call::default()
    };
    let metered = sonnet.meter(&call);
    assert_eq!(metered.admission.input_tokens, 50, "AN2");
    assert_eq!(metered.settlement.input_tokens, 50, "AN2");
    assert_eq!((metered.admission.output_tokens, metered.settlement.output_tokens), (0, 7));
    assert!(!metered.lower_bound);
}

/// S6 on the Anthropic pool: a need of 2,138,400 lands on Build; so does a limit that was granted
/// outside the steps; above the last tier it is arranged.
#[test]
fn anthropic_tiers() {
    let grants = &entry("anthropic/direct/global/claude-sonnet-4.5").grants;
    let input = |need| {
        let grant = grants.cover("input_tokens_per_min", need);
        (grant.limit, grant.step.unwrap_or_default())
    };
    assert_eq!(input(2_138_400), (5_000_000, "Build".to_owned()));
    assert_eq!(input(2_000_000), (2_000_000, "Start".to_owned()));
    assert_eq!(input(1_000_000), (2_000_000, "Start".to_owned()));
    assert_eq!(input(10_000_001), (10_000_001, "Custom".to_owned()));
    let all = [("input_tokens_per_min", 750_000), ("output_tokens_per_min", 1_500_000)];
    assert_eq!(grants.step_for(all).map(|step| step.name.as_str()), Some("Scale"));
}

/// Protects "missing is not zero": where a provider guesses an unset `max_tokens` and no source says
/// how, the reservation is marked a lower bound.
#[test]
fn an_unknown_guess_is_a_lower_bound() {
    let standard = entry("azure.ai.openai/standard/datazone/gpt-5.2");
    let call = Call { input_uncached: 100, output: 30, ..Call::default() };
    let metered = standard.meter(&call);
    assert_eq!((metered.admission.tokens, metered.lower_bound), (130, true));
    let set = standard.meter(&Call { max_output: Some(400), ..call });
    assert_eq!((set.admission.tokens, set.lower_bound), (500, false));
    let embedding = entry("azure.ai.openai/standard/datazone/text-embedding-3-small");
    assert!(!embedding.meter(&Call { input_uncached: 100, ..Call::default() }).lower_bound);
}

/// T41: one rounding, after headroom, in rationals; and capacity in its own unit.
#[test]
fn t41_rounded_once() {
    let gpt5 = entry("azure.ai.openai/provisioned/datazone/gpt-5").units.first();
    let tenth = Ratio::new(1, 10);
    let units = |demand: u128, headroom| gpt5.and_then(|unit: &Unit| unit.units_for(demand, headroom));
    assert_eq!(units(16 * 4750, tenth), Some(20), "rounding twice gives 25");
    assert_eq!(units(71_250, Ratio::from(0)), Some(15));
    assert_eq!(units(71_251, Ratio::from(0)), Some(20));
    assert_eq!(units(100 * 4750, tenth), Some(110), "floats give 115");
    assert_eq!(units(0, tenth), Some(15), "the minimum");

    let standard = &entry("azure.ai.openai/standard/datazone/gpt-5.2").grants;
    let grant = standard.cover("tokens_per_min", 240_000);
    assert_eq!((grant.limit, grant.units), (240_000, Some(240)));
    assert_eq!(standard.cover("tokens_per_min", 240_001).units, Some(241));
    let both = [("tokens_per_min", 240_000), ("requests_per_min", 600)];
    assert_eq!(standard.units_for(both), Some(600), "tokens and requests rise together");
}

/// Protects refused attempts: they draw where the provider counts them, or where nobody knows.
#[test]
fn refused_attempts() {
    let refused = Call { input_uncached: 10, max_output: Some(5), status: Some(429), ..Call::default() };
    let openai = entry("openai/direct/global/gpt-5").meter(&refused);
    assert_eq!((openai.admission.requests, openai.admission.tokens), (1, 10));
    let haiku = entry("anthropic/direct/global/claude-haiku-4.5");
    assert_eq!(haiku.meter(&refused).admission.requests, 1);
    assert_eq!(haiku.cost(&refused, date(2026, 11, 2)), Some(Decimal::ZERO), "but cost nothing");
}

/// Protects money: each kind of token at its own price, exactly.
#[test]
fn cost_is_exact() {
    let call = Call {
        input_uncached: 1,
        cache_read: 10,
        cache_write: 100,
        cache_write_1h: 1000,
        output: 10_000,
        ..Call::default()
    };
    let cost = entry("anthropic/direct/global/claude-haiku-4.5").cost(&call, date(2026, 11, 2));
    // 1 + 1 + 125 + 2,000 + 50,000 millionths.
    assert_eq!(cost, Some(Decimal::new(52_127, 6)));
}
