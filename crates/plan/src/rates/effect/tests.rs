//! Golden numbers and simulated coverage of what an event does.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed unwrap is a failed test, and its figures are told"
)]

use proptest::prelude::*;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64;

use super::{Effect, Prior};

const TWELVE: [f64; 12] = [1.62, 1.70, 1.85, 1.74, 1.90, 1.66, 1.78, 1.81, 1.69, 1.95, 1.73, 1.77];

/// Protects the method: multipliers of the published worked examples, to the fourth decimal, for no,
/// one, three and twelve occurrences.
#[test]
fn golden_numbers() {
    let cases: [(&str, &[f64], [f64; 5], f64); 4] = [
        ("none", &[], [1.8000, 2.5105, 3.0952, 3.8248, 6.7702], 3.9396),
        ("one", &[2.4], [2.0785, 2.7278, 3.2155, 3.7712, 5.6209], 3.8983),
        ("three", &[1.6, 1.9, 1.7], [1.7464, 2.1234, 2.3778, 2.6401, 3.3584], 2.7515),
        ("twelve", &TWELVE, [1.7669, 1.9912, 2.1254, 2.2490, 2.5250], 2.3798),
    ];
    let mut wrong = 0;
    let mut check = |id: String, expected: f64, got: f64| {
        println!("{id:<28} expected {expected:.4} got {got:.4}");
        wrong += usize::from((got - expected).abs() > 0.00006);
    };
    for (id, ratios, expected, with_growth) in cases {
        let effect = Effect::of(&Prior::default(), ratios);
        for (p, expected) in [0.50, 0.80, 0.90, 0.95, 0.99].into_iter().zip(expected) {
            check(format!("{id} P{:.0}", p * 100.0), expected, effect.quantile(p, 0.0));
        }
        check(format!("{id} P95, growth sd 0.10"), with_growth, effect.quantile(0.95, 0.10));
        let n = ratios.len() as f64;
        check(format!("{id} weight of own data"), n / (n + 1.0), effect.own_weight());
        check(format!("{id} highest covers"), n / (n + 1.0), effect.highest_covers());
    }
    assert_eq!(wrong, 0, "of the figures above");
}

/// Protects the intermediate figures of the three-occurrence example.
#[test]
fn golden_parameters_of_three() {
    let effect = Effect::of(&Prior::default(), &[1.6, 1.9, 1.7]);
    let spread = effect.variance / (1.0 + 1.0 / 4.0);
    for (id, expected, got) in [
        ("m", 0.557_568, effect.mean),
        ("v", 7.0, f64::from(effect.freedom)),
        ("s2", 0.038_059, spread),
        ("scale", 0.218_113, effect.variance.sqrt()),
    ] {
        println!("{id:<6} expected {expected:.6} got {got:.6}");
        assert!((got - expected).abs() < 1e-6, "{id}: expected {expected}, got {got}");
    }
}

/// Protects the claim that the plan makes of its P95: over simulated companies it covers as published,
/// from a right prior to a badly wrong one, and the highest seen covers n in n + 1.
#[test]
fn simulated_coverage() {
    const DRAWS: usize = 8_000;
    const COUNTS: [usize; 5] = [0, 1, 3, 6, 12];
    // Truth: median ratio and spread of logs; published coverage in per cent by count.
    let truths = [
        (1.8, 0.25, [99.9, 98.5, 96.1, 95.5, 95.5]),
        (3.0, 0.25, [83.0, 90.5, 94.0, 94.9, 95.8]),
        (4.0, 0.40, [45.0, 78.5, 89.2, 92.6, 94.8]),
        (1.8, 0.45, [95.2, 90.3, 89.5, 91.3, 94.0]),
        (1.2, 0.10, [100.0, 100.0, 100.0, 100.0, 100.0]),
    ];
    let mut rng = Pcg64::new(20_261_102, 6);
    let mut wrong = 0;
    let mut check = |id: String, expected: f64, got: f64, within: f64| {
        println!("{id:<44} expected {expected:>5.1} got {got:>5.1}");
        wrong += usize::from((got - expected).abs() > within);
    };
    for (median, spread, published) in truths {
        let ratio = LogNormal::new(f64::ln(median), spread).unwrap();
        for (n, expected) in COUNTS.into_iter().zip(published) {
            let (mut covered, mut by_highest) = (0, 0);
            for _ in 0..DRAWS {
                let seen: Vec<f64> = ratio.sample_iter(&mut rng).take(n).collect();
                let next = ratio.sample(&mut rng);
                let effect = Effect::of(&Prior::default(), &seen);
                covered += usize::from(next <= effect.planned(0.0));
                by_highest += usize::from(effect.highest().is_some_and(|highest| next <= highest));
            }
            let share = |count: usize| 100.0 * count as f64 / DRAWS as f64;
            // Three standard errors of 8,000 draws, and half a unit of the published last digit.
            let error = 300.0 * (expected / 100.0 * (1.0 - expected / 100.0) / DRAWS as f64).sqrt() + 0.5;
            let truth = format!("{median} x, sd {spread}, n = {n}");
            check(format!("{truth}: P95 covers"), expected, share(covered), error);
            let claimed = 100.0 * n as f64 / (n as f64 + 1.0);
            check(format!("{truth}: highest seen covers"), claimed, share(by_highest), 2.2);
        }
    }
    assert_eq!(wrong, 0, "of the figures above");
}

/// Protects the plan from promising what few occurrences cannot tell: the distribution-free check is
/// silent below nine (P90) and nineteen (P95), and with twelve P90 is the highest of them.
#[test]
fn conformal_needs_enough_occurrences() {
    let with = |n: usize| Effect::of(&Prior::default(), &(1..=n).map(|i| i as f64).collect::<Vec<_>>());
    assert_eq!((with(8).conformal(0.90), with(9).conformal(0.90)), (None, Some(9.0)));
    assert_eq!((with(18).conformal(0.95), with(19).conformal(0.95)), (None, Some(19.0)));
    assert_eq!(with(12).conformal(0.90), Some(12.0));
    assert_eq!((with(12).conformal(0.95), with(0).conformal(0.90)), (None, None));
}

/// Protects against over-asking where the company knows better than the policy: five workflows whose
/// closes are small and steady teach a prior under which a sixth, with one occurrence, asks for less;
/// four teach nothing.
#[test]
fn workflows_teach_the_prior() {
    let steady: Vec<Vec<f64>> =
        [1.15, 1.18, 1.20, 1.22, 1.25].map(|middle| vec![middle * 0.95, middle, middle * 1.05]).into();
    assert_eq!(Prior::learned(&steady[..4]), None);
    let learned = Prior::learned(&steady).unwrap();
    println!("learned prior {learned:?}");
    assert!((learned.ratio() - 1.2).abs() < 0.01 && learned.learned_from == 5);
    let planned = |prior: &Prior| Effect::of(prior, &[1.2]).planned(0.0);
    assert!(planned(&learned) < 1.5 && planned(&Prior::default()) > 2.0);
    let far: Vec<Vec<f64>> =
        [1.1, 1.5, 2.0, 3.0, 5.0].map(|middle| vec![middle, middle * 1.1, middle]).into();
    assert_eq!(Prior::learned(&far).unwrap().weight, 0.25, "workflows that differ teach little");
}

proptest! {
    /// Protects the shape of every prediction: quantiles rise, what is planned covers the highest seen and
    /// grows with the doubt about growth, and the order of occurrences does not matter.
    #[test]
    fn predictions_are_in_order(mut ratios in prop::collection::vec(0.2f64..20.0, 0..15), doubt in 0.0f64..0.5) {
        let effect = Effect::of(&Prior::default(), &ratios);
        let quantiles = [0.05, 0.5, 0.8, 0.95, 0.99].map(|p| effect.quantile(p, 0.0));
        prop_assert!(quantiles.is_sorted() && quantiles.iter().all(|quantile| quantile.is_finite()));
        prop_assert!(effect.planned(doubt) >= effect.planned(0.0));
        prop_assert!(ratios.iter().all(|ratio| effect.planned(doubt) >= *ratio));
        ratios.sort_unstable_by(f64::total_cmp);
        let sorted = Effect::of(&Prior::default(), &ratios);
        prop_assert!((sorted.planned(doubt) / effect.planned(doubt) - 1.0).abs() < 1e-9);
    }
}
