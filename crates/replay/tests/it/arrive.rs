//! Arrivals: rates kept, bursts measured and made again, workflows independent.

use crate::support::{Tested, call, runs, single};
use plimsoll_replay::{Arrivals, Burst, Micros, Rate, ReplayError, Run, Runs};

const HOURS: usize = 20;

fn per_second(arrivals: &Arrivals, seconds: usize) -> Vec<u64> {
    let mut counts = vec![0; seconds];
    for (at, _) in arrivals.as_slice() {
        counts[(at.0 / 1_000_000) as usize] += 1;
    }
    counts
}

fn one() -> Result<Runs, ReplayError> {
    runs([single(Micros::ZERO, call(1, Micros::SECOND))])
}

fn bursty(per_minute: f64, bursts: Vec<Burst>) -> Rate {
    let length = Micros(HOURS as u64 * Micros::HOUR.0);
    Rate { bursts, ..Rate::steady(0, Micros::ZERO, length, per_minute) }
}

/// Runs are drawn as often as each slot's rate says, within four standard errors of a Poisson count.
#[test]
fn rates_are_kept_slot_by_slot() -> Tested {
    let rate = Rate { slot: Micros::HOUR, per_minute: vec![100.0, 0.0, 400.0], ..bursty(0.0, Vec::new()) };
    let arrivals = Arrivals::resampled(&one()?, &[rate], 1)?;
    let counts = per_second(&arrivals, 3 * 3_600);
    for (hour, expected) in [(0, 6_000.0), (1, 0.0), (2, 24_000.0)] {
        let count = counts[hour * 3_600..(hour + 1) * 3_600].iter().sum::<u64>() as f64;
        assert!((count - expected).abs() <= 4.0 * f64::sqrt(expected), "hour {hour}: {count} of {expected}");
    }
    Ok(())
}

/// What is measured of made arrivals is what they were made with, at every length; so is what is
/// measured at three times the rate, where Poisson noise is relatively smaller.
#[test]
fn bursts_are_made_as_they_were_measured() -> Tested {
    let made = vec![
        Burst { seconds: 60, cv2: 0.2 },
        Burst { seconds: 10, cv2: 0.3 },
        Burst { seconds: 1, cv2: 0.5 },
    ];
    for per_minute in [300.0, 900.0] {
        let arrivals = Arrivals::resampled(&one()?, &[bursty(per_minute, made.clone())], 5)?;
        let measured = Burst::measure(&per_second(&arrivals, HOURS * 3_600));
        println!("{per_minute} a minute: made {made:?}, measured {measured:?}");
        assert_eq!(measured.len(), 3);
        for (made, measured) in made.iter().zip(&measured) {
            assert_eq!(made.seconds, measured.seconds);
            assert!((made.cv2 - measured.cv2).abs() < 0.2 * made.cv2, "{made:?} {measured:?}");
        }
    }
    Ok(())
}

/// The peaks that limits are held against come out too: made from what was measured of an uneven
/// hour, the peak second and the peak minute are within a fifth of its own on average. Poisson
/// arrivals of the same rate miss both.
#[test]
fn peaks_of_an_uneven_hour_come_out() -> Tested {
    let of = Arrivals::resampled(
        &one()?,
        &[bursty(600.0, vec![Burst { seconds: 60, cv2: 0.3 }, Burst { seconds: 1, cv2: 0.6 }])],
        3,
    )?;
    let recorded = per_second(&of, HOURS * 3_600);
    let peak = |counts: &[u64], seconds: usize| {
        let hours: Vec<u64> = counts
            .chunks(3_600)
            .map(|hour| hour.chunks(seconds).map(|window| window.iter().sum()).max().unwrap_or(0))
            .collect();
        hours.iter().sum::<u64>() as f64 / hours.len() as f64
    };
    let per_minute = recorded.iter().sum::<u64>() as f64 / (HOURS as f64 * 60.0);
    let remade = Arrivals::resampled(&one()?, &[bursty(per_minute, Burst::measure(&recorded))], 4)?;
    let poisson = Arrivals::resampled(&one()?, &[bursty(per_minute, Vec::new())], 4)?;
    for seconds in [1, 60] {
        let [recorded, remade, poisson] =
            [&recorded, &per_second(&remade, HOURS * 3_600), &per_second(&poisson, HOURS * 3_600)]
                .map(|counts| peak(counts, seconds));
        println!("peak {seconds} s: recorded {recorded:.0}, remade {remade:.0}, as Poisson {poisson:.0}");
        assert!((remade / recorded - 1.0).abs() < 0.2);
        assert!(poisson < 0.7 * recorded);
    }
    Ok(())
}

/// Another workflow's rate moves no arrival of the first, and a recording is replayed as it was.
#[test]
fn workflows_do_not_disturb_each_other() -> Tested {
    let mut both = Runs::new(["one", "other"]);
    for workflow in [0, 1] {
        both.push(&Run {
            workflow,
            ..single(Micros::seconds(9 - u64::from(workflow)), call(1, Micros::SECOND))
        })?;
    }
    let rate = |workflow, per_minute| Rate::steady(workflow, Micros::ZERO, Micros::HOUR, per_minute);
    let first = |rates: &[Rate]| -> Result<Vec<(Micros, u32)>, ReplayError> {
        let arrivals = Arrivals::resampled(&both, rates, 1)?;
        Ok(arrivals.as_slice().iter().copied().filter(|&(_, run)| run == 0).collect())
    };
    let alone = first(&[rate(0, 30.0)])?;
    assert!(alone.len() > 1_500);
    assert_eq!(alone, first(&[rate(1, 500.0), rate(0, 30.0)])?);
    assert_eq!(Arrivals::recorded(&both).as_slice(), [(Micros::seconds(8), 1), (Micros::seconds(9), 0)]);
    Ok(())
}

/// Rates of workflows that were never measured, and rates that are no rates, are refused in words.
#[test]
fn what_cannot_be_drawn_is_refused() -> Tested {
    let mut runs = Runs::new(["one", "unseen"]);
    runs.push(&single(Micros::ZERO, call(1, Micros::SECOND)))?;
    let rate = |workflow, per_minute| Rate::steady(workflow, Micros::ZERO, Micros::HOUR, per_minute);
    for wrong in [rate(1, 1.0), rate(7, 1.0), rate(0, -1.0), rate(0, f64::NAN)] {
        let refused = Arrivals::resampled(&runs, &[wrong], 0).map(|arrivals| arrivals.len());
        assert!(matches!(refused, Err(ReplayError::NoRuns { .. } | ReplayError::Rate { .. })), "{refused:?}");
    }
    Ok(())
}

/// A recorded stretch at another size: what it draws is that many times as much to within a call of the
/// largest weight, no call comes oftener than the next whole number of times, and instants stay.
#[test]
fn a_recording_at_another_size() -> Tested {
    let weights = [1_u64, 1_000, 30, 7, 500, 500, 2];
    let calls = weights.iter().enumerate();
    let recorded =
        runs(calls.map(|(at, &draw)| single(Micros::seconds(at as u64), call(draw, Micros::SECOND))))?;
    let recorded = Arrivals::recorded(&recorded);
    let weight = |run: u32| weights[run as usize];
    for factor in [0.0, 0.3, 1.0, 1.7, 4.25] {
        let made = recorded.times(factor, weight)?;
        let sum: u64 = made.as_slice().iter().map(|(_, run)| weight(*run)).sum();
        assert!((sum as f64 - factor * 2_040.0).abs() <= 1_000.0, "{factor}: {sum}");
        for (at, run) in made.as_slice() {
            let times = made.as_slice().iter().filter(|(_, other)| other == run).count() as f64;
            assert!(times <= factor.ceil() && *at == Micros::seconds(u64::from(*run)));
        }
    }
    assert_eq!(recorded.times(1.0, weight)?, recorded);
    assert!(recorded.times(-1.0, weight).is_err() && recorded.times(f64::NAN, weight).is_err());
    let within = recorded.between(Micros::seconds(2), Micros::seconds(4));
    assert_eq!(within.as_slice(), [(Micros::seconds(2), 2), (Micros::seconds(3), 3)]);
    Ok(())
}
