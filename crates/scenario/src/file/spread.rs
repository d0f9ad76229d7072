//! A quantity that varies: how the file gives a distribution by the few numbers that people know.
//!
//! Percentiles and means become a log-normal law, the usual shape of token counts and latencies; the
//! fit is exact, so the numbers in the file are the numbers of the telemetry.

use rand::RngExt;
use serde::Deserialize;

use crate::random::{Random, normal};

/// 95th percentile of the standard normal law.
const Z95: f64 = 1.644_853_626_951_472_7;

/// The law of one quantity, in the unit of the field that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Numbers")]
pub(crate) enum Spread {
    /// `{ p50, p95 }` or `{ mean, p95 }`.
    LogNormal { mu: f64, sigma: f64 },
    /// `{ min, max }`, both included.
    Uniform { min: f64, max: f64 },
    /// `{ mean }`: always that.
    Fixed(f64),
}

impl Spread {
    /// One draw.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        match *self {
            Self::Uniform { min, max } => min + (max - min) * random.random::<f64>(),
            _ => self.at(normal(random)),
        }
    }

    /// One draw, as a whole number of at least `least`.
    pub(crate) fn draw_whole(&self, random: &mut Random, least: u64) -> u64 {
        match *self {
            Self::Uniform { min, max } => random.random_range(min as u64..=max as u64).max(least),
            _ => (self.draw(random).round() as u64).max(least),
        }
    }

    /// The value at that standard normal deviate: two quantities at one deviate rise together.
    pub(crate) fn at(&self, deviate: f64) -> f64 {
        match *self {
            Self::LogNormal { mu, sigma } => (mu + sigma * deviate).exp(),
            Self::Uniform { min, max } => (min + max) / 2.0,
            Self::Fixed(value) => value,
        }
    }

    /// The sigma of a log-normal law whose P95 is that many times its P50.
    pub(crate) fn sigma(p95_over_p50: f64) -> f64 {
        p95_over_p50.ln() / Z95
    }

    /// The mean of the law.
    pub(crate) fn mean(&self) -> f64 {
        match *self {
            Self::LogNormal { mu, sigma } => (mu + sigma * sigma / 2.0).exp(),
            _ => self.at(0.0),
        }
    }
}

/// A spread as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    p50: Option<f64>,
    p95: Option<f64>,
    mean: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
}

impl TryFrom<Numbers> for Spread {
    type Error = String;

    fn try_from(numbers: Numbers) -> Result<Self, String> {
        let Numbers { p50, p95, mean, min, max } = numbers;
        match (p50, p95, mean, min, max) {
            (Some(p50), Some(p95), None, None, None) if p50 > 0.0 && p95 >= p50 => {
                Ok(Self::LogNormal { mu: p50.ln(), sigma: Self::sigma(p95 / p50) })
            }
            (None, Some(p95), Some(mean), None, None) if mean > 0.0 && p95 >= mean => {
                // p95 = mean * exp(Z95 * sigma - sigma^2 / 2), of whose two roots the smaller is the usual.
                let square = Z95 * Z95 - 2.0 * (p95 / mean).ln();
                if square < 0.0 {
                    return Err(format!(
                        "no log-normal law has a p95 of {p95} and a mean of {mean}; bring them nearer"
                    ));
                }
                let sigma = Z95 - square.sqrt();
                Ok(Self::LogNormal { mu: mean.ln() - sigma * sigma / 2.0, sigma })
            }
            (None, None, None, Some(min), Some(max)) if min >= 0.0 && max >= min => {
                Ok(Self::Uniform { min, max })
            }
            (None, None, Some(mean), None, None) if mean >= 0.0 => Ok(Self::Fixed(mean)),
            _ => Err(
                "give { p50, p95 }, { mean, p95 }, { min, max } or { mean }, positive and in rising order"
                    .to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::{Numbers, Spread};

    fn spread(p50: Option<f64>, p95: Option<f64>, mean: Option<f64>) -> Result<Spread, String> {
        Spread::try_from(Numbers { p50, p95, mean, min: None, max: None })
    }

    /// Protects the fit: the percentiles that were given are those of the law.
    #[test]
    fn percentiles_are_met_exactly() {
        let law = spread(Some(1020.0), Some(4083.0), None).unwrap();
        assert!((law.at(0.0) - 1020.0).abs() < 1e-6);
        assert!((law.at(super::Z95) - 4083.0).abs() < 1e-6);
    }

    /// Protects the other fit: a mean and a p95 come back as they were given.
    #[test]
    fn mean_and_p95_are_met_exactly() {
        let law = spread(None, Some(118_800.0), Some(54_000.0)).unwrap();
        assert!((law.mean() - 54_000.0).abs() < 1e-6);
        assert!((law.at(super::Z95) - 118_800.0).abs() < 1e-6);
    }

    /// Protects users from a law that no numbers describe.
    #[test]
    fn contradictions_are_refused() {
        assert!(spread(Some(10.0), Some(5.0), None).is_err());
        assert!(spread(Some(10.0), None, Some(12.0)).is_err());
        assert!(spread(None, Some(1e9), Some(1.0)).is_err());
        assert!(spread(None, None, None).is_err());
    }
}
