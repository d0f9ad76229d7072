//! Every worked example of metering that a provider prints, by its id, in one table: BR, AN, OA, VX4, AZ9 and
//! the public bugs T08 and T40. Where a source contradicts itself the row says which reading is taken.

use jiff::civil::date;
use plimsoll_catalog::{Call, PoolKey, TokenPrice};
use rust_decimal::Decimal;

use crate::shipped::{catalog, entry};

/// One example: its id, what it says, what must come out, what does.
struct Worked {
    id: &'static str,
    says: &'static str,
    expected: String,
    got: String,
}

fn row(id: &'static str, says: &'static str, expected: &str, got: impl ToString) -> Worked {
    Worked { id, says, expected: expected.to_owned(), got: got.to_string() }
}

const SONNET: &str = "aws.bedrock/runtime/geo/claude-sonnet-4.5";

/// What a call typed as on the command line draws and settles at, in combined tokens.
fn tokens(pool: &str, call: &str) -> (u64, u64, u64) {
    let metered = entry(pool).meter(&call.parse().unwrap());
    (metered.admission.tokens, metered.settlement.tokens, metered.released.tokens)
}

fn settled(pool: &str, call: &str) -> u64 {
    tokens(pool, call).1
}

/// Settled input tokens of a pool that counts input and output apart.
fn input(pool: &str, call: &str) -> u64 {
    entry(pool).meter(&call.parse().unwrap()).settlement.input_tokens
}

fn bedrock() -> Vec<Worked> {
    let unset = |call: &str| 2_000_000 / tokens(SONNET, call).0;
    let reserve = tokens(SONNET, "input=1000,max=4000,output=100");
    let billed = "input=1000,output=100".parse::<Call>().unwrap().billed_tokens();
    let sonnet = entry(SONNET);
    let per_day = |minute: u64| {
        let window = |name: &str| u64::from(sonnet.dimension(name).unwrap().window_s);
        minute * window("tokens_per_day") / window("tokens_per_min")
    };
    let burn = |model: &str| settled(&format!("aws.bedrock/runtime/geo/{model}"), "output=2000");
    vec![
        row("BR1", "1,000 in, 100 out at 5x: quota", "1500", settled(SONNET, "input=1000,output=100")),
        row("BR1", "the same: billed", "1100", billed),
        row("BR2", "1,000 in, max 4,000, 100 out: reserved", "5000", reserve.0),
        row("BR2", "settled", "1500", reserve.1),
        row("BR2", "released", "3500", reserve.2),
        row("BR3", "2M a minute, 500 in, max 1,000: in flight", "1333", unset("input=500,max=1000")),
        // The default is written as 64K to 128K; the example reckons with 64,000, and so does the row.
        row("BR3", "max unset, 64,000 reserved: in flight", "31", unset("input=500")),
        row("BR4", "10,000 out at 5x of 100,000", "50000", settled(SONNET, "output=10000")),
        row("BR4", "20,000 out: exhausted", "100000", settled(SONNET, "output=20000")),
        row("BR5", "10 in, 750 out", "3760", settled(SONNET, "input=10,output=750")),
        row("BR5", "2,005 in, 200 out", "3005", settled(SONNET, "input=2005,output=200")),
        row("BR5", "6 in, 12 out", "66", settled(SONNET, "input=6,output=12")),
        row("BR6", "a day of 1M a minute", "1440000000", per_day(1_000_000)),
        row("BR7", "2,000 out, Claude 4.8", "30000", burn("claude-opus-4.8")),
        row("BR7", "2,000 out, Sonnet 5", "20000", burn("claude-sonnet-5")),
        row("BR7", "2,000 out, Sonnet 4.6", "10000", burn("claude-sonnet-4.6")),
        row("BR7", "2,000 out, Nova", "2000", burn("nova-pro")),
    ]
}

fn anthropic() -> Vec<Worked> {
    let direct = "anthropic/direct/global/claude-sonnet-4.5";
    let priority = "anthropic/priority/global/claude-sonnet-4.5";
    let burnt = "input=1000,cache_read=1000,cache_write=1000,cache_write_1h=1000";
    let at_80 = "input=2000000,cache_read=8000000".parse::<Call>().unwrap();
    let hit = "input=50,cache_read=200000".parse::<Call>().unwrap();
    vec![
        // The example divides the limit by the share that misses; here the same minute is metered.
        row(
            "AN1",
            "10M input, 80 % from the cache: counted",
            "2000000",
            entry(direct).meter(&at_80).settlement.input_tokens,
        ),
        row("AN1", "of input in all", "10000000", at_80.input()),
        row(
            "AN2",
            "200,000 cached, 50 fresh: counted",
            "50",
            entry(direct).meter(&hit).settlement.input_tokens,
        ),
        row("AN2", "of input in all", "200050", hit.input()),
        row("AN3", "priority burndown of four thousands", "4350", input(priority, burnt)),
    ]
}

fn openai() -> Vec<Worked> {
    let charge = |call: &str| tokens("openai/direct/global/gpt-5", call).0;
    // The guide prints multiples of one uncached prompt: a million tokens at 1 USD are one.
    let multiples = TokenPrice {
        input: Some(Decimal::ONE),
        cache_read: Some(Decimal::new(1, 1)),
        cache_write: Some(Decimal::new(125, 2)),
        ..TokenPrice::default()
    };
    let cached = |reads: u64| {
        let call = Call { cache_write: 1_000_000, cache_read: reads * 1_000_000, ..Call::default() };
        multiples.cost(&call).unwrap()
    };
    vec![
        row("OA2", "one write and one read of the cache", "1.35", cached(1)),
        row("OA2", "one write and nine reads", "2.15", cached(9)),
        row("OA3", "max 500, prompt 1,200", "1200", charge("input=1200,max=500")),
        row("OA3", "max 500, prompt 300", "500", charge("input=300,max=500")),
    ]
}

fn vertex() -> Vec<Worked> {
    let pro = |call: &str| settled("gcp.vertex_ai/provisioned/global/gemini-2.5-pro", call);
    vec![
        row("VX4", "gemini-2.5-pro, 1,000 plain", "1000", pro("input=1000")),
        row("VX4", "1,000 from the cache", "100", pro("cache_read=1000")),
    ]
}

fn others() -> Vec<Worked> {
    let slices = entry("azure.ai.openai/standard/datazone/gpt-5.2").dimension("requests_per_min").unwrap();
    let ten = tokens(SONNET, "input=1000,output=100");
    let tiny = TokenPrice { input: Some(Decimal::new(4, 1)), ..TokenPrice::default() };
    let one = tiny.cost(&Call { input_uncached: 1, ..Call::default() }).unwrap();
    let million: Decimal = std::iter::repeat_n(one, 1_000_000).sum();
    vec![
        row("AZ9", "600 requests a minute, slices of a second", "10", slices.per_slice(600).unwrap()),
        row("T08", "one call of 0.0000004 USD", "0.0000004", one),
        row("T08", "a million of them", "0.4", million.normalize()),
        row("T40", "ten calls with max unset: reserved", "650000", 10 * ten.0),
        row("T40", "settled", "15000", 10 * ten.1),
    ]
}

/// Protects the arithmetic that providers print themselves: every example, expected beside got.
#[test]
#[expect(clippy::print_stdout, reason = "the table is what one reads when an example fails")]
fn every_worked_example_of_metering_comes_out() {
    let worked: Vec<Worked> =
        [bedrock(), anthropic(), openai(), vertex(), others()].into_iter().flatten().collect();
    let mut wrong = Vec::new();
    println!("{:<4} {:<45} {:>12} {:>12}", "id", "example", "expected", "got");
    for Worked { id, says, expected, got } in &worked {
        println!("{id:<4} {says:<45} {expected:>12} {got:>12}");
        if expected != got {
            wrong.push(format!("{id} ({says}): expected {expected}, got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Protects tiers: which pools a call of each draws on, the tier's own first, by the providers' pages.
#[test]
fn every_tier_draws_on_the_limits_that_are_its_own() {
    let on = date(2026, 11, 2);
    let pools = |pool: &str, tier: &str| -> Vec<String> {
        let pool = PoolKey::parse(pool).unwrap();
        let drawn = catalog().draws_on(&pool, tier.parse().unwrap(), on);
        drawn.into_iter().map(|(key, _)| key.product().to_owned()).collect()
    };
    let bedrock = |tier| pools(SONNET, tier).join(" ");
    assert_eq!(["default", "priority", "flex"].map(bedrock), ["runtime"; 3].map(str::to_owned), "one quota");
    assert_eq!(["reserved", "batch"].map(bedrock), ["reserved", "batch"].map(str::to_owned), "apart");
    let holder = pools("anthropic/direct/global/claude-opus-4.6", "priority");
    assert_eq!(holder, ["priority", "direct"], "the commitment and the ordinary limits");
    assert_eq!(pools("openai/direct/global/gpt-5.6-sol", "fast"), ["direct"]);
    assert_eq!(pools("openai/direct/global/gpt-5.6-sol", "reserved"), ["reserved"]);
}
