//! The search against trying every count, and against counts and costs by hand.

use plimsoll_catalog::UnitWindow;
use proptest::prelude::*;

use super::super::curve::MONTH_S;
use super::*;

/// A unit that serves so much in a minute.
fn unit(throughput: u64, min: u64, increment: u64) -> Unit {
    Unit { throughput: Some(throughput), min, increment, ..Unit::named("unit", Carries::Tokens) }
}

/// Windows of each length over the same demand, some time of the term.
fn part(event: Option<&str>, (seconds, all): (u64, u64), windows: Vec<(u32, Vec<u64>)>, floor: u64) -> Part {
    let curve = |(length, amounts): (u32, Vec<u64>)| {
        Curve::new(length, amounts.into_iter().map(|amount| (amount, seconds)).collect(), 0)
    };
    Part {
        event: event.map(str::to_owned),
        share: Quantity::ratio(seconds, all).unwrap_or_default(),
        seconds,
        curves: windows.into_iter().map(curve).collect(),
        floors: [Quantity::zero(), floor.into()],
    }
}

fn q(text: &str) -> Quantity {
    text.parse().unwrap_or_default()
}

/// Protects finance from a term bought for three days: a peak of a tenth of the month is bought by the hour
/// on top of the units that the rest of it fills, and the floor of the peak is covered so too.
#[test]
fn a_short_peak_is_bought_by_the_hour() {
    let unit = unit(1000, 1, 1);
    let month = MONTH_S;
    let parts = [
        part(None, (month * 9 / 10, month), vec![(60, vec![2000])], 1000),
        part(Some("close"), (month / 10, month), vec![(60, vec![9000])], 8500),
    ];
    // A unit-month is worth 43,800 minutes x 1,000 x a hundred-thousandth of a dollar: 438.
    let (unit_month, hourly) = (q("300"), q("800"));
    let on_demand = q("0.00001");
    let question = Question {
        unit: &unit,
        window_s: 60,
        unit_month: &unit_month,
        hourly_month: Some(&hourly),
        on_demand: &on_demand,
        parts: &parts,
        protects: Some(1),
    };
    let Some(best) = question.cheapest() else { unreachable!("counts are sold") };
    // Two are full all the time. By the hour a unit costs more than on demand, and is bought for the floor.
    assert_eq!((best.units, best.reservation.clone()), (2, q("600")));
    assert_eq!(
        best.by_the_hour.iter().map(|top_up| (top_up.units, top_up.seconds)).collect::<Vec<_>>(),
        [(7, month / 10)]
    );
    assert_eq!((best.overflow.clone(), best.total()), (Quantity::zero(), q("600") + q("560")));
    let nobody = Question { protects: None, ..question }.cheapest();
    let Some(nobody) = nobody else { unreachable!("counts are sold") };
    assert_eq!((nobody.units, nobody.by_the_hour.len()), (2, 0));
    // A tenth of a month of 7,000 a minute: 43,800 / 10 x 7,000 x a hundred-thousandth.
    assert_eq!(nobody.overflow, q("306.6"));
    // Where the hour is cheaper than on demand, the peak is bought by it for cost alone.
    let cheap = q("400");
    let by_cost = Question { protects: None, hourly_month: Some(&cheap), ..question }.cheapest();
    assert_eq!(by_cost.map(|best| best.by_the_hour.iter().map(|top_up| top_up.units).sum()), Some(7));
    // Not sold by the hour: the floor of a peak is no reason for a term.
    let never = Question { hourly_month: None, ..question }.cheapest();
    assert_eq!(never.map(|best| (best.units, best.by_the_hour.len())), Some((2, 0)));
}

/// Protects windows that shrink as units grow (Vertex): four units let through less of a burst at once than
/// three, so the next count up costs its price and more overflow.
#[test]
fn more_units_may_let_less_through() {
    let window = |from_units, shortest_s| UnitWindow { from_units, shortest_s, longest_s: shortest_s };
    let unit = Unit { per_s: 1, windows: vec![window(1, 40), window(4, 5)], ..unit(100, 1, 1) };
    // 2,000 at once, then nothing: one window of 40 s or one of eight windows of 5 s.
    let mut short = vec![0; 8];
    short[0] = 2000;
    let parts = [part(None, (40, 40), vec![(5, short), (40, vec![2000])], 0)];
    let (free, on_demand) = (Quantity::zero(), q("1"));
    let question = Question {
        unit: &unit,
        window_s: 60,
        unit_month: &free,
        hourly_month: None,
        on_demand: &on_demand,
        parts: &parts,
        protects: None,
    };
    assert_eq!(question.cost(1).overflow, Quantity::zero(), "4,000 fit into 40 s");
    assert_eq!(question.cost(4).overflow, Quantity::zero(), "2,000 fit into 5 s of four");
    let less = Question {
        parts: &[part(None, (40, 40), vec![(5, vec![2500, 0, 0, 0, 0, 0, 0, 0]), (40, vec![2500])], 0)],
        ..question
    };
    assert_eq!(less.cost(1).overflow, Quantity::zero());
    assert!(less.cost(4).overflow > Quantity::zero(), "500 of 2,500 do not");
    assert_eq!(less.cheapest().map(|best| best.units), Some(1));
}

/// What is above a capacity, window by window, USD a month.
fn above(part: &Part, length: u32, amounts: &[u64], capacity: u64, on_demand: &Quantity) -> Quantity {
    let above: u64 = amounts.iter().map(|amount| amount.saturating_sub(capacity)).sum();
    let a_window = Quantity::ratio(above, amounts.len()).unwrap_or_default();
    let windows = Quantity::ratio(MONTH_S, length).unwrap_or_default();
    &(&(&a_window * &windows) * &part.share) * on_demand
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Protects what is bought: the search finds what trying every count of the term with every count of the
    /// hour finds, over minima, increments, shrinking windows, floors and events.
    #[test]
    fn the_search_is_a_brute_force(
        (throughput, min, increment) in (10u64..60, 1u64..7, 1u64..5),
        (long, short, band) in (prop_oneof![Just(10u32), Just(30)], Just(5u32), 2u64..9),
        windowed in any::<bool>(),
        ordinary in proptest::collection::vec(0u64..400, 12),
        busy in proptest::collection::vec(0u64..900, 12),
        (usual_s, event_s) in (1u64..1000, 1u64..300),
        (unit_cents, hour_cents) in (0u64..4000, 0u64..9000),
        hourly in any::<bool>(),
        token_mills in 0u64..40,
        (floor, event_floor) in (0u64..600, 0u64..900),
        protects in any::<bool>(),
    ) {
        let window = |from_units, shortest_s| UnitWindow { from_units, shortest_s, longest_s: shortest_s };
        let unit = Unit {
            windows: if windowed { vec![window(1, long), window(band, short)] } else { Vec::new() },
            per_s: 10,
            ..unit(throughput, min, increment)
        };
        // The long windows are sums of the short ones.
        let by_length = |amounts: &[u64]| {
            let sums = amounts.chunks(long as usize / 5).map(|chunk| chunk.iter().sum()).collect::<Vec<u64>>();
            vec![(5, amounts.to_vec()), (long, sums)]
        };
        let all = usual_s + event_s;
        let parts = [
            part(None, (usual_s, all), by_length(&ordinary), floor),
            part(Some("peak"), (event_s, all), by_length(&busy), event_floor),
        ];
        let cents = |cents: u64| Quantity::ratio(cents, 100).unwrap_or_default();
        let (unit_month, hour_month) = (cents(unit_cents), cents(hour_cents));
        let on_demand = Quantity::ratio(token_mills, 1_000_000_000).unwrap_or_default();
        let question = Question {
            unit: &unit,
            window_s: long,
            unit_month: &unit_month,
            hourly_month: hourly.then_some(&hour_month),
            on_demand: &on_demand,
            parts: &parts,
            protects: protects.then_some(1),
        };
        let sold = |units: &u64| *units == 0 || *units == min || (*units > min && units.is_multiple_of(increment));
        let counts: Vec<u64> = (0..250).filter(sold).collect();
        let overflow = |part: &Part, amounts: &[u64], units: u64| {
            let length = if !windowed { long } else if units.max(1) >= band { short } else { long };
            let amounts = by_length(amounts).into_iter().find(|(known, _)| *known == length).map(|(_, of)| of);
            above(part, length, &amounts.unwrap_or_default(), throughput * units * u64::from(length) / 10, &on_demand)
        };
        let covers = |units: u64, floor: u64| {
            !protects || floor == 0 || units * throughput * 6 >= floor
        };
        let mut best: Option<(Quantity, u64)> = None;
        for &units in counts.iter().filter(|units| covers(**units, floor)) {
            let inside = counts.iter().filter(|inside| match hourly {
                true => **inside >= units && covers(**inside, event_floor),
                false => **inside == units,
            });
            let peak = inside.map(|inside| {
                let more = &(&hour_month * &parts[1].share) * &Quantity::from(inside - units);
                more + overflow(&parts[1], &busy, *inside)
            });
            let Some(peak) = peak.min() else { continue };
            let cost = &unit_month * &units.into() + overflow(&parts[0], &ordinary, units) + peak;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, units));
            }
        }
        let found = question.cheapest().map(|best| (best.total(), best.units));
        prop_assert_eq!(found, best);
    }
}
