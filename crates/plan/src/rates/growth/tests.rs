//! Growth over made-up histories whose truth is known.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed unwrap is a failed test, and its figures are told"
)]

use jiff::civil::date;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;

use super::{FARTHEST, FEWEST_WEEKS, Method, Trend, logs, weeks};
use crate::rates::days::DayStarts;

/// Levels that grow by `rate` a week, with independent noise and steps of a random walk.
fn series(rng: &mut Pcg64, n: usize, rate: f64, noise: f64, walk: f64) -> Vec<f64> {
    let (noise, walk) = (Normal::new(0.0, noise).unwrap(), Normal::new(0.0, walk).unwrap());
    let mut level = 5.0;
    let mut next = || {
        level += rate + walk.sample(rng);
        level + noise.sample(rng)
    };
    (0..n).map(|_| next()).collect()
}

/// Protects the rule that a forecaster is used only where it beat every baseline: over growing, flat
/// and wandering histories the chosen method has the smallest mean error, or is the best baseline; and a
/// flat one is seldom said to grow.
#[test]
fn a_forecaster_must_beat_the_baselines() {
    const RUNS: usize = 12;
    let mut rng = Pcg64::new(7, 1);
    let mut told = Vec::new();
    for (name, rate, noise, walk) in
        [("growing", 0.02, 0.05, 0.0), ("flat", 0.0, 0.05, 0.0), ("wandering", 0.0, 0.0, 0.05)]
    {
        let (mut baselines, mut factors) = (0, Vec::new());
        for _ in 0..RUNS {
            let trend = Trend::of(&series(&mut rng, 40, rate, noise, walk)).unwrap();
            let mase =
                |method: Method| trend.scores.iter().find(|score| score.method == method).unwrap().mean();
            assert!(Method::BASELINES[..2].iter().all(|baseline| mase(trend.baseline) <= mase(*baseline)));
            assert_eq!(trend.scores.iter().map(|score| score.origins.len()).max(), Some(10));
            if trend.method == trend.baseline {
                baselines += 1;
            } else {
                assert!(
                    Method::CANDIDATES.contains(&trend.method) && mase(trend.method) < mase(trend.baseline)
                );
            }
            factors.push(trend.after(FARTHEST).point);
        }
        factors.sort_unstable_by(f64::total_cmp);
        println!(
            "{name}: baseline kept in {baselines} of {RUNS}, median factor after 13 weeks {:.3}",
            factors[RUNS / 2]
        );
        told.push(factors[RUNS / 2]);
    }
    assert!((told[0] - f64::exp(0.26)).abs() < 0.08, "growing 2 % a week");
    assert!((told[1] - 1.0).abs() < 0.02, "flat");
}

/// Protects the interval: over simulated histories the level of four and of thirteen weeks on is below
/// its P95 about as often as it says, out of sample.
#[test]
fn the_interval_covers() {
    let mut rng = Pcg64::new(11, 1);
    for (name, rate, noise, walk) in
        [("flat", 0.0, 0.08, 0.0), ("wandering", 0.0, 0.03, 0.04), ("growing", 0.015, 0.06, 0.02)]
    {
        let runs = 40;
        let mut below = [0; 2];
        for _ in 0..runs {
            let whole = series(&mut rng, 40 + FARTHEST, rate, noise, walk);
            let (before, after) = whole.split_at(40);
            let trend = Trend::of(before).unwrap();
            let today = super::level(before).unwrap();
            for (count, ahead) in below.iter_mut().zip([4, FARTHEST]) {
                *count += usize::from((after[ahead - 1] - today).exp() <= trend.after(ahead).high);
            }
        }
        let share = below.map(|count| count as f64 / f64::from(runs));
        println!("{name}: P95 covers {:.3} after 4 weeks, {:.3} after 13", share[0], share[1]);
        assert!(share.iter().all(|share| *share >= 0.80), "{name}: {share:?}");
    }
}

/// Protects determinism and the edges: the same history gives the same growth, a constant one does not
/// grow and has no doubt, and nothing is extended past what was tested.
#[test]
fn edges() {
    let grown = series(&mut Pcg64::new(3, 1), 30, 0.01, 0.05, 0.0);
    assert_eq!(Trend::of(&grown), Trend::of(&grown));
    let constant = Trend::of(&[5.0; 20]).unwrap();
    assert_eq!((constant.method, constant.after(9).point, constant.after(9).high), (Method::Level, 1.0, 1.0));
    let short = Trend::of(&grown[..FEWEST_WEEKS]).unwrap();
    assert_eq!(short.farthest(), 6, "six weeks were held out");
    assert_eq!(short.after(6), short.after(60));
    assert_eq!(Trend::of(&grown[..4]), None);
    assert!(
        Trend::of(&series(&mut Pcg64::new(3, 1), 70, 0.0, 0.05, 0.0))
            .unwrap()
            .scores
            .iter()
            .all(|score| score.method != Method::SeasonalNaive),
        "a year before the first origin is not there"
    );
}

/// Protects the level from holidays, events and days that never ran: weeks are medians over normal
/// days, a week without enough of them lies between its neighbours, and what is too little is said.
#[test]
fn weeks_are_medians_of_normal_days() {
    let today = date(2026, 11, 2);
    let first = date(2026, 7, 6);
    let day = |offset: i64| {
        let date = first.checked_add(jiff::ToSpan::days(offset)).unwrap();
        let weekend = offset % 7 >= 5;
        // The third week is all event; the first two never ran.
        let normal = !weekend && offset / 7 != 4;
        let runs = if offset < 14 {
            0
        } else if weekend {
            5
        } else {
            100 + u64::try_from(offset % 7).unwrap()
        };
        DayStarts { date, normal, runs, busiest_hour: runs / 8 }
    };
    let days: Vec<DayStarts> = (0..17 * 7).map(day).collect();
    let weekly = weeks(&days, today);
    assert_eq!(weekly.len(), 17);
    assert_eq!((weekly[0], weekly[2], weekly[4]), (Some(0), Some(204), None));
    let found = logs(&weekly).unwrap();
    assert_eq!(found.len(), 15, "from the first week that ran");
    assert!(found.iter().all(|log| (log - 204_f64.ln()).abs() < 1e-12));
    let too_short = logs(&weekly[..10]).unwrap_err();
    assert!(too_short.contains("8 whole weeks") && too_short.contains("12 are the least"), "{too_short}");
    let idle = logs(&[vec![Some(4); 6], vec![Some(0); 3], vec![Some(4); 6]].concat()).unwrap_err();
    assert!(idle.contains("3 of 15 weeks"), "{idle}");
    let gaps = logs(&[vec![Some(4); 8], vec![None; 6]].concat()).unwrap_err();
    assert!(gaps.contains("8 of 14 weeks"), "{gaps}");
}
