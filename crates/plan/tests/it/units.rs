//! Units and pools: every worked example of the provider facts about them, public bugs T41 and T42, and a
//! brute force that counts one by one.

use std::sync::LazyLock;

use jiff::civil::{Date, date};
use plimsoll_catalog::{Carries, Catalog, PoolKey, TokenPrice, Unit, UnitWindow};
use plimsoll_plan::{Calls, PoolDemand, PoolSize, PoolSizeError, Quantity, Shape, overage, size_pool};
use proptest::prelude::*;
use rust_decimal::Decimal;

pub(crate) const TODAY: Date = date(2026, 11, 2);

/// The shipped catalog.
pub(crate) fn catalog() -> &'static Catalog {
    static SHIPPED: LazyLock<Catalog> = LazyLock::new(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/providers");
        let mut texts: Vec<(String, String)> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
            .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
            .collect();
        texts.sort();
        Catalog::load(texts).unwrap()
    });
    &SHIPPED
}

fn q(text: &str) -> Quantity {
    text.parse().unwrap()
}

/// So many calls a minute of input and output tokens on a pool.
fn demand(pool: &str, rpm: &str, input: &str, output: &str) -> PoolDemand {
    PoolDemand {
        pool: PoolKey::parse(pool).unwrap(),
        as_of: TODAY,
        calls: vec![Calls {
            shape: Shape { input_tokens: q(input), output_tokens: q(output), ..Shape::default() },
            per_min: q(rpm),
            service_seconds: None,
        }],
        peak_factor: Quantity::one(),
        headroom: Quantity::zero(),
        burst_calls: None,
        limits: Vec::new(),
        held: Vec::new(),
        price: None,
    }
}

fn sized(demand: &PoolDemand) -> PoolSize {
    size_pool(catalog(), demand).unwrap()
}

/// Units, and what they were before rounding.
fn units(demand: &PoolDemand) -> String {
    let size = sized(demand);
    format!("{} ({})", size.units.unwrap(), size.raw_units.unwrap())
}

fn unit_of(pool: &str) -> &'static Unit {
    let entry = catalog().find(&PoolKey::parse(pool).unwrap(), TODAY).unwrap();
    entry.units.first().unwrap()
}

const GPT52: &str = "azure.ai.openai/provisioned/datazone/gpt-5.2";
const SOL: &str = "azure.ai.openai/provisioned/global/gpt-5.6-sol";
const MINI: &str = "azure.ai.openai/provisioned/global/gpt-4o-mini";
const GPT41: &str = "azure.ai.openai/provisioned/global/gpt-4.1";
const SONNET: &str = "aws.bedrock/runtime/geo/claude-sonnet-4.5";

fn cached(mut demand: PoolDemand, share: &str) -> PoolDemand {
    for calls in &mut demand.calls {
        calls.shape.cache_rate = q(share);
    }
    demand
}

fn audio(mut demand: PoolDemand, tokens: &str) -> PoolDemand {
    for calls in &mut demand.calls {
        calls.shape.audio_tokens = q(tokens);
    }
    demand
}

fn capped(mut demand: PoolDemand, max: &str) -> PoolDemand {
    for calls in &mut demand.calls {
        calls.shape.max_tokens = Some(q(max));
    }
    demand
}

fn holding(demand: PoolDemand, units: &str) -> PoolDemand {
    PoolDemand { held: vec![q(units)], ..demand }
}

fn limited(demand: PoolDemand, dimension: &str, limit: &str) -> PoolDemand {
    PoolDemand { limits: vec![(dimension.to_owned(), q(limit))], ..demand }
}

/// A call's draw on a dimension at its end.
fn settled(demand: &PoolDemand, dimension: &str) -> String {
    let rates = sized(demand).rates;
    let rate = rates.iter().find(|rate| rate.dimension == dimension).unwrap();
    rate.per_call_settlement.to_string()
}

/// Units by the other reading of a flag.
fn otherwise(demand: &PoolDemand, flag: &str) -> String {
    let size = sized(demand);
    let other = size.sensitivities.iter().find(|other| other.flag == flag);
    other.and_then(|other| other.units).or(size.units).unwrap().to_string()
}

fn term(size: &PoolSize, name: &str, field: fn(&plimsoll_plan::TermCost) -> &Option<String>) -> String {
    let term = size.terms.iter().find(|term| term.term == name).unwrap();
    field(term).clone().unwrap_or_else(|| "unknown".to_owned())
}

/// The bundles of the first Scale Tier, priced for 30 days.
fn first_scale_tier() -> String {
    let text = r#"
        provider = "openai"
        product = "scale"
        [limits]
        bundles = [
          { name = "input_tokens_per_min", counts = "input_tokens", window_s = 60, from_units = true },
          { name = "output_tokens_per_min", counts = "output_tokens", window_s = 60, from_units = true },
        ]
        [meter.plain]
        unset_max_output = "unknown"
        refused = "counted"
        admission.input_tokens = { input_uncached = 1 }
        settlement.input_tokens = { input_uncached = 1 }
        settlement.output_tokens = { output = 1 }
        [unit.in]
        name = "input"
        carries = "input_tokens"
        throughput = 20000
        per_s = 60
        min = 1
        increment = 1
        term = [{ name = "30-day", hours = 720, price = [{ usd = "3800" }] }]
        [unit.out]
        name = "output"
        carries = "output_tokens"
        throughput = 2000
        per_s = 60
        min = 1
        increment = 1
        term = [{ name = "30-day", hours = 720, price = [{ usd = "1200" }] }]
        [source.page]
        title = "the first Scale Tier"
        read_on = "2026-11-01"
        confidence = "own_page"
        [[entry]]
        scopes = ["global"]
        models = ["gpt-4o"]
        limits = "bundles"
        meter = "plain"
        unit = ["in", "out"]
        sources = ["page"]
    "#;
    let catalog = Catalog::load([("first.toml", text)]).unwrap();
    let size = size_pool(&catalog, &demand("openai/scale/global/gpt-4o", "1", "1", "1")).unwrap();
    let full: Vec<String> =
        size.by_unit.into_iter().filter_map(|unit| unit.usd_per_million_at_full_use).collect();
    full.join(", ")
}

/// Every worked example about units and pools, by its id: what the source prints, and what comes out.
/// Where a source contradicts itself the id says `conflict`, and the comment which reading is taken.
#[test]
#[expect(clippy::print_stdout, reason = "the table is there to be seen")]
fn worked_examples() {
    let az3 = |rpm| units(&demand(SOL, rpm, "1000", "300"));
    let az5 = sized(&demand(SOL, "1157/60", "1000", "300"));
    let az6 = |rpm, input, output| demand(MINI, rpm, input, output);
    let overflow = |used: u64, more: u64| overage(&[used, more], 500).to_string();
    let az8 = {
        let hourly = unit_of(SOL).term("hourly").unwrap();
        hourly.usd_for(300, 15, TODAY).unwrap().normalize().to_string()
    };
    let vx = |model: &str| format!("gcp.vertex_ai/provisioned/global/{model}");
    let vx4 =
        |share| settled(&cached(demand(&vx("gemini-2.5-pro"), "1", "1000", "0"), share), "tokens_per_min");
    let vx6 = |units: u64, seconds: u32| {
        let unit = unit_of("gcp.vertex_ai/provisioned/global/gemini-3.1-flash-image");
        unit.budget(units, seconds).unwrap().to_string()
    };
    let vx7 = sized(&demand(&vx("gemini-3.6-flash"), "1", "1", "1"));
    let fits = |demand: PoolDemand| {
        let size = sized(&limited(demand, "tokens_per_min", "2000000"));
        size.rates.first().unwrap().limit_fits_calls.unwrap().to_string()
    };
    let br3 = || demand(SONNET, "1", "500", "0");
    let br6 = {
        // A million tokens a minute, as 1,000 calls of 1,000 tokens.
        let size = sized(&demand(SONNET, "1000", "1000", "0"));
        let day = size.rates.iter().find(|rate| rate.dimension == "tokens_per_day").unwrap();
        day.settlement.to_string()
    };
    let oa1 = |usd: &str| {
        // A call a minute of a million input tokens, at that price.
        let price = TokenPrice { input: Some(usd.parse().unwrap()), ..TokenPrice::default() };
        let pool = "openai/reserved/global/gpt-5.6-sol";
        let reserved = PoolDemand { price: Some(price), ..demand(pool, "1", "1000000", "0") };
        let size = sized(&holding(reserved, "2"));
        let held = size.held.first().unwrap();
        format!("{} covered, {} above", held.covered, held.overflow)
    };
    let hourly: fn(&plimsoll_plan::TermCost) -> &Option<String> = |term| &term.hourly_usd;
    let even: fn(&plimsoll_plan::TermCost) -> &Option<String> = |term| &term.break_even;
    let unit_usd = |name: &str| {
        let usd: Decimal = term(&vx7, name, |term| &term.unit_usd).parse().unwrap();
        usd.round_dp(1).normalize().to_string()
    };
    let rows: Vec<(&str, &str, String)> = vec![
        ("AZ1", "110 (105.88)", units(&demand(GPT52, "1000", "200", "20"))),
        ("AZ2", "80 (76.47)", units(&cached(demand(GPT52, "1000", "200", "20"), "50%"))),
        ("AZ3 at 18", "45 (42.00)", az3("18")),
        ("AZ3 at 19", "45 (44.33)", az3("19")),
        ("AZ3 at 20", "50 (46.67)", az3("20")),
        ("AZ4 a minute", "19.29", {
            let size = sized(&holding(demand(SOL, "19", "1000", "300"), "45"));
            size.held.first().unwrap().serves_requests_per_min.clone()
        }),
        ("AZ4 an hour", "1157", {
            let size = sized(&holding(demand(SOL, "19", "1000", "300"), "45"));
            size.held.first().unwrap().serves_requests_per_hour.to_string()
        }),
        ("AZ5 on demand", "16.20", az5.on_demand.clone().unwrap().hourly_usd),
        ("AZ5 hourly", "45.00", term(&az5, "hourly", hourly)),
        ("AZ5 1-month", "16.03", term(&az5, "1-month", hourly)),
        ("AZ5 1-year", "13.62", term(&az5, "1-year", hourly)),
        ("AZ5 break-even", "0.99", az5.break_even.clone().unwrap()),
        ("AZ5 break-even hourly", "2.78", term(&az5, "hourly", even)),
        // The page prints 15, 140 and 30. Its own sizing page gives a ratio of 4, by which the second is
        // 145; only a ratio of 3 gives 140. The sizing page is the newer and is taken, which asks for more;
        // the other reading stands beside it as a sensitivity.
        ("AZ6 first", "15", sized(&az6("30", "800", "150")).units.unwrap().to_string()),
        ("AZ6 second, at 4 (conflict)", "145", sized(&az6("1000", "5000", "50")).units.unwrap().to_string()),
        ("AZ6 third", "30", sized(&az6("500", "1000", "300")).units.unwrap().to_string()),
        ("AZ6 first, at 3", "15", otherwise(&az6("30", "800", "150"), "ratio_variant")),
        ("AZ6 second, at 3", "140", otherwise(&az6("1000", "5000", "50"), "ratio_variant")),
        ("AZ6 third, at 3", "30", otherwise(&az6("500", "1000", "300"), "ratio_variant")),
        ("AZ7 200 more", "0", overflow(300, 200)),
        ("AZ7 300 more", "100", overflow(300, 300)),
        ("AZ8", "75", az8),
        ("AZ10", "45 (43.33)", units(&demand(GPT41, "100", "500", "200"))),
        ("AZ11", "50 (49.47)", {
            let pool = "azure.ai.openai/provisioned/datazone/gpt-5";
            units(&cached(demand(pool, "50", "1000", "500"), "30%"))
        }),
        ("AZ12", "100 (100.00)", units(&demand(GPT41, "100", "1000", "500"))),
        ("VX1", "45 (44.44)", units(&audio(demand(&vx("gemini-3.6-flash"), "600", "1000", "300"), "500"))),
        ("VX2", "17 (16.96)", units(&audio(demand(&vx("gemini-2.0-flash"), "600", "1000", "300"), "500"))),
        ("VX3", "100800", unit_of(&vx("gemini-2.0-flash")).budget(1, 30).unwrap().to_string()),
        ("VX4 plain", "1,000", vx4("0")),
        ("VX4 cached", "100", vx4("1")),
        ("VX5", "67250", unit_of(&vx("gemini-2.5-flash")).budget(25, 1).unwrap().to_string()),
        ("VX6 3 x 120 s", "725400", vx6(3, 120)),
        // Printed as 603,750, which no factor of the source gives: 10 x 2,015 x 30 is 604,500, and the
        // 1,209,000 a minute printed beside it is twice that. The product is taken.
        ("VX6 10 x 30 s (conflict)", "604500", vx6(10, 30)),
        ("VX6 50 x 5 s", "503750", vx6(50, 5)),
        ("VX6 a minute", "362700 1209000 6045000", [3, 10, 50].map(|units| vx6(units, 60)).join(" ")),
        ("VX7 week", "1199.5", unit_usd("1-week")),
        ("VX7 month", "2700", unit_usd("1-month")),
        ("BR3 max 1,000", "1333", fits(capped(br3(), "1000"))),
        ("BR3 unset", "31", fits(br3())),
        ("BR6", "1,440,000,000", br6),
        ("OA1 2.75", "2.00 covered, 0.75 above", oa1("2.75")),
        ("OA1 2.00", "2.00 covered, 0.00 above", oa1("2")),
        ("OA4", "4.40, 13.89", first_scale_tier()),
    ];
    let mut wrong = Vec::new();
    for (id, expected, got) in &rows {
        println!("{id:<28} expected {expected:<24} got {got}");
        if expected != got {
            wrong.push(format!("{id}: expected {expected}, got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// T41: headroom before the one rounding, minimum and increment after it; no regional minimum mixed with
/// the global one; the capacity of a standard deployment in its own unit.
#[test]
fn t41_rounded_once() {
    let gpt5 = |scope: &str, tokens: &str, headroom: &str| {
        let pool = format!("azure.ai.openai/provisioned/{scope}/gpt-5");
        let asked = PoolDemand { headroom: q(headroom), ..demand(&pool, "1", tokens, "0") };
        sized(&asked).units
    };
    assert_eq!(gpt5("global", "76000", "10%"), Some(20), "16 units; rounding twice gives 25");
    assert_eq!(gpt5("global", "71250", "0"), Some(15));
    assert_eq!(gpt5("global", "71251", "0"), Some(20));
    assert_eq!(gpt5("global", "475000", "0.1"), Some(110), "100 units; floats give 115");
    assert_eq!(gpt5("regional", "71250", "0"), Some(50));
    assert_eq!(gpt5("regional", "475000", "0.1"), Some(150));
    let raw = sized(&demand("azure.ai.openai/provisioned/global/gpt-5", "1", "71251", "0")).raw_units;
    assert_eq!(raw.as_deref(), Some("15.000210526"), "not 15.00 beside 20 units");

    let standard = sized(&demand("azure.ai.openai/standard/datazone/gpt-5.2", "240", "1000", "0"));
    let grant = standard.grant.unwrap();
    assert_eq!(grant.capacity_units, Some(240));
    assert!(grant.unit.unwrap().contains("1,000 tokens"));
}

/// T42: a burst of 300,000 tokens on one unit passes at 120 s and fails at 40 s, so the worst documented
/// window is reported; sixty units are judged at a second; nothing is carried over.
#[test]
fn t42_shrinking_windows() {
    let flash = |calls_per_min: &str, units: &str| {
        let pool = "gcp.vertex_ai/provisioned/global/gemini-2.5-flash";
        let once = PoolDemand { burst_calls: Some(q("1")), ..demand(pool, calls_per_min, "300000", "0") };
        holding(once, units)
    };
    let unit = unit_of("gcp.vertex_ai/provisioned/global/gemini-2.5-flash");
    assert_eq!((unit.budget(1, 120), unit.worst_budget(1)), (Some(322_800), Some(107_600)));
    assert_eq!(unit.window(60).map(|window| (window.shortest_s, window.longest_s)), Some((1, 5)));
    assert_eq!(unit.worst_budget(60), Some(161_400));

    // One call in two minutes is less than one unit; to let it through at once takes three, whose window
    // is still 40 s. Four would need 5 s: less.
    let size = sized(&flash("1/2", "1"));
    assert_eq!((size.units, size.raw_units.as_deref()), (Some(3), Some("0.93")));
    let burst = size.burst.unwrap();
    assert_eq!((burst.window_s, burst.budget, burst.fits), (40, 322_800, true));
    assert!(unit.worst_budget(4) < Some(300_000));

    // Without a declared burst the count stays as documented, and the single call that cannot fit is told.
    let quiet = sized(&PoolDemand { burst_calls: None, ..flash("1/2", "1") });
    assert_eq!(quiet.units, Some(1));
    assert!(quiet.warnings.iter().any(|warning| warning.contains("spills over as a whole")));
}

/// Protects the terms: unknown prices are null and said, a model-wide break-even is told for the shortest
/// commitment, dates choose the price.
#[test]
fn terms_and_their_prices() {
    let size = sized(&demand(GPT52, "1000", "200", "20"));
    assert_eq!(size.hourly_usd.as_deref(), Some("121.00"));
    assert_eq!(size.daily_usd.as_deref(), Some("2904.00"));
    assert_eq!(size.monthly_usd.as_deref(), Some("88330.00"));
    assert_eq!(term(&size, "1-month", |term| &term.hourly_usd), "unknown");
    let unpublished = sized(&demand("openai/reserved-capacity/global/gpt-4.1", "10", "100", "10"));
    assert_eq!((unpublished.units, unpublished.by_unit.len()), (None, 1));
    assert!(unpublished.warnings.iter().any(|warning| warning.contains("is not published")));
}

/// Protects bundles: input and output are sized each by itself, and the minimum of each holds.
#[test]
fn input_and_output_apart() {
    let counts = |pool: &str, rpm: &str, input: &str, output: &str| {
        let size = sized(&demand(pool, rpm, input, output));
        assert_eq!(size.units, None);
        size.by_unit.iter().map(|unit| unit.units.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(counts("openai/scale/global/gpt-5", "100", "1000", "10"), [4, 1]);
    assert_eq!(counts("openai/scale/global/gpt-5", "100", "10", "1000"), [1, 40]);
    let reserved = "aws.bedrock/reserved/geo/claude-sonnet-4.6";
    assert_eq!(counts(reserved, "10", "1000", "100"), [100, 10], "the fewest that are sold");
    assert_eq!(counts(reserved, "1000", "1000.5", "100"), [1001, 100]);
}

/// Protects the weights of Vertex: long contexts, audio, cached audio, Claude.
#[test]
fn weights_of_vertex() {
    let draw = |model: &str, input: &str, sound: &str, output: &str, share: &str| {
        let pool = format!("gcp.vertex_ai/provisioned/global/{model}");
        settled(&cached(audio(demand(&pool, "1", input, output), sound), share), "tokens_per_min")
    };
    assert_eq!(draw("gemini-2.5-pro", "200000", "0", "100", "0"), "200,800");
    assert_eq!(draw("gemini-2.5-pro", "200001", "0", "100", "0"), "401,202");
    assert_eq!(draw("gemini-3.1-flash-lite", "0", "1000", "10", "50%"), "1,160");
    assert_eq!(draw("claude-opus-4.8", "1000", "0", "100", "0"), "1,500");
    assert_eq!(draw("claude-sonnet-4.5", "200000", "0", "100", "0"), "400,750");
    let haiku = sized(&demand("gcp.vertex_ai/provisioned/regional/claude-haiku-4.5", "1", "10", "1"));
    assert_eq!(haiku.units, Some(8), "the minimum");
}

/// Protects retired models and unknown pools: the one answers with a warning, the other names what was
/// probably meant.
#[test]
fn retired_and_unknown() {
    let size = sized(&demand("gcp.vertex_ai/provisioned/global/gemini-2.0-flash", "1", "1", "1"));
    assert!(size.warnings.iter().any(|warning| warning.contains("was retired on 2026-06-01")), "{size:?}");
    let unknown = demand("azure.ai.openai/provisioned/datazone/gpt-5.22", "1", "1", "1");
    let said = size_pool(catalog(), &unknown).unwrap_err().to_string();
    assert!(said.contains("azure.ai.openai/provisioned/datazone/gpt-5.2"), "{said}");
}

/// Protects against figures that cannot be.
#[test]
fn odd_figures_are_refused() {
    let said = |demand: &PoolDemand| size_pool(catalog(), demand).unwrap_err().to_string();
    let plain = || demand(GPT52, "1", "100", "10");
    assert!(said(&cached(plain(), "1.5")).starts_with("cache_rate is 1.5"));
    assert!(said(&capped(plain(), "5")).starts_with("output_tokens is 10, above max_tokens 5"));
    assert!(said(&limited(plain(), "requests_per_min", "5")).contains("it has tokens_per_min"));
    let large = demand(GPT52, "1", "99999999999999999999", "0");
    assert_eq!(size_pool(catalog(), &large), Err(PoolSizeError::TooLarge));
    let bundles = holding(demand("openai/scale/global/gpt-5", "1", "1", "1"), "2");
    assert!(said(&bundles).contains("sold in 2 kinds of unit"));
}

/// The fewest units that are sold and suffice, found by trying one after the other, in whole millionths.
fn counted(unit: &Unit, demand: u128, burst: u128, headroom_percent: u128) -> u64 {
    let enough = |units: u64| {
        let served = u128::from(unit.throughput.unwrap()) * u128::from(units) * 100;
        let steady = served >= demand * (100 + headroom_percent);
        let window = unit.windows.iter().rev().find(|window| window.from_units <= units);
        let at_once = window.is_none_or(|window| {
            let budget = served * u128::from(window.shortest_s);
            budget >= burst * (100 + headroom_percent) * u128::from(unit.per_s)
        });
        steady && at_once
    };
    let mut on_grid = (1..).map(|step| step * unit.increment).filter(|units| *units >= unit.min);
    if enough(unit.min) { unit.min } else { on_grid.find(|units| enough(*units)).unwrap() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Protects what is bought: for ten thousand demands the count is that of trying every count that is
    /// sold, with minima, increments, headroom, bursts and windows that shrink as units grow.
    #[test]
    fn units_match_a_brute_force(
        (throughput, per_s) in (1..20_000_u64, prop_oneof![Just(1_u32), Just(60)]),
        (min, increment) in (1..40_u64, 1..30_u64),
        demand in 0..3_000_000_u64,
        burst in 0..6_000_000_u64,
        percent in 0..100_u64,
        (first, second, third) in (1..200_u32, 1..60_u32, 1..10_u32),
        windowed in any::<bool>(),
    ) {
        let (second, third) = (second.min(first), third.min(second).min(first));
        let window = |from_units, shortest_s| UnitWindow { from_units, shortest_s, longest_s: shortest_s * 3 };
        let windows = [window(1, first), window(4, second), window(50, third)];
        let unit = Unit {
            throughput: Some(throughput), per_s, min, increment,
            windows: if windowed { windows.to_vec() } else { Vec::new() },
            ..Unit::named("unit", Carries::Tokens)
        };
        let (demand, burst) = (demand.min(throughput * 3000), burst.min(throughput * 9000));
        let headroom = Quantity::ratio(percent, 100).unwrap().to_ratio().unwrap();
        let got = unit.units_for_burst(u128::from(demand), u128::from(burst), headroom);
        let expected = counted(&unit, demand.into(), burst.into(), percent.into());
        prop_assert_eq!(got, Some(expected));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// Protects exactness: the draw of a whole call, unrounded, rounds up to what the catalog meters, for
    /// every pool; so sizing and metering can never disagree.
    #[test]
    fn a_call_is_sized_as_it_is_metered(
        input in 0..400_000_u64, sound in 0..5_000_u64, output in 0..9_000_u64, more in 0..9_000_u64,
    ) {
        for entry in catalog().in_force(TODAY) {
            let shape = Shape {
                input_tokens: input.into(),
                audio_tokens: sound.into(),
                output_tokens: output.into(),
                max_tokens: Some((output + more).into()),
                ..Shape::default()
            };
            let call = plimsoll_catalog::Call {
                input_uncached: input, audio: sound, output, max_output: Some(output + more),
                ..plimsoll_catalog::Call::default()
            };
            let calls = vec![Calls { shape, per_min: Quantity::one(), service_seconds: None }];
            let asked = PoolDemand { calls, ..demand(&entry.key.to_string(), "1", "0", "0") };
            let size = sized(&asked);
            let metered = entry.meter(&call);
            for rate in size.rates.iter().filter(|rate| rate.dimension != "usd_per_min") {
                let counts = entry.dimension(&rate.dimension).unwrap().counts;
                prop_assert_eq!(rate.per_call_settlement.ceil(), metered.settlement.amount(counts));
                prop_assert_eq!(rate.per_call_admission.ceil(), metered.admission.amount(counts));
            }
        }
    }
}
