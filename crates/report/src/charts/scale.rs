//! From values to positions, and the round values that an axis is marked with.
//!
//! A scale maps a domain to a range and never clips: what lies outside the domain lands outside the
//! range, where it can be seen to be wrong.

use crate::format;

/// A straight scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Linear {
    domain: (f64, f64),
    range: (f64, f64),
}

impl Linear {
    /// Maps `domain` onto `range`; an empty domain maps everything to the start of the range.
    pub(crate) fn new(domain: (f64, f64), range: (f64, f64)) -> Self {
        Self { domain, range }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let span = self.domain.1 - self.domain.0;
        if span == 0.0 {
            return self.range.0;
        }
        self.range.0 + (value - self.domain.0) / span * (self.range.1 - self.range.0)
    }
}

/// A logarithmic scale, base 10; values below the domain's start are drawn at its start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Log {
    linear: Linear,
    start: f64,
}

impl Log {
    /// Maps a positive `domain` onto `range`.
    pub(crate) fn new(domain: (f64, f64), range: (f64, f64)) -> Self {
        Self { linear: Linear::new((domain.0.log10(), domain.1.log10()), range), start: domain.0 }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        self.linear.at(value.max(self.start).log10())
    }
}

/// Round marks from 0 up to `max` or just over the last that fits, some `wanted` of them, with the
/// text of each: all in one unit, with the same decimals.
pub(crate) fn ticks(max: f64, wanted: usize) -> Vec<(f64, String)> {
    if !(max.is_finite() && max > 0.0) {
        return vec![(0.0, "0".to_owned())];
    }
    let rough = max / wanted.max(1) as f64;
    let size = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * size)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(size * 10.0);
    let (unit, suffix) = match step * wanted as f64 {
        top if top >= 1e9 => (1e9, "B"),
        top if top >= 1e6 => (1e6, "M"),
        top if top >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    // The least decimals that print the step exactly.
    let decimals = (0..=3)
        .find(|d| {
            let scaled = step / unit * 10f64.powi(*d);
            (scaled - scaled.round()).abs() < 1e-6
        })
        .unwrap_or(3) as usize;
    (0..)
        .map(|i| f64::from(i) * step)
        .take_while(|v| *v <= max * 1.0001)
        .map(|v| {
            let text = match (v == 0.0, suffix) {
                (true, _) => "0".to_owned(),
                (false, "") if decimals == 0 => format::group(v.round() as u64),
                _ => format!("{:.decimals$}{suffix}", v / unit),
            };
            (v, text)
        })
        .collect()
}

/// Powers of ten inside a positive domain, with their text.
pub(crate) fn decades(domain: (f64, f64)) -> Vec<(f64, String)> {
    let first = domain.0.log10().ceil() as i32;
    let last = domain.1.log10().floor() as i32;
    (first..=last).map(|p| 10f64.powi(p)).map(|v| (v, format::compact(v))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the axis: round steps, one unit, zero first.
    #[test]
    fn ticks_are_round() {
        let text = |max, wanted| ticks(max, wanted).into_iter().map(|(_, t)| t).collect::<Vec<_>>();
        assert_eq!(text(1_620_000.0, 4), ["0", "0.5M", "1.0M", "1.5M"]);
        assert_eq!(text(90.0, 3), ["0", "50"]);
        assert_eq!(text(6_000.0, 3), ["0", "2,000", "4,000", "6,000"]);
        assert_eq!(text(f64::NAN, 3), ["0"]);
    }

    /// Protects positions, straight and logarithmic.
    #[test]
    fn scales_map_ends_to_ends() {
        let linear = Linear::new((0.0, 10.0), (100.0, 0.0));
        assert_eq!((linear.at(0.0), linear.at(10.0)), (100.0, 0.0));
        let log = Log::new((10.0, 1000.0), (0.0, 100.0));
        assert_eq!((log.at(100.0), log.at(0.0)), (50.0, 0.0));
        assert_eq!(decades((10.0, 1000.0)).len(), 3);
    }
}
