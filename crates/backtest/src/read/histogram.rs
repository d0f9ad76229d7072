//! A distribution of token counts, as ServeGen writes it: `{102: 0.0012, 103: 0.0119}`.
//!
//! The invariant: values are ascending by their cumulative weight, so that one random number picks one.

use rand::RngExt;
use rand_pcg::Pcg64;

/// Values with the weight of all up to them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Histogram(Vec<(f64, u64)>);

impl Histogram {
    /// Reads one; an empty one is `{}`. The error is what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let inner = inner.ok_or_else(|| format!("`{}` is no distribution", cut(text)))?.trim();
        let mut sum = 0.0;
        let mut values = Vec::new();
        for entry in inner.split(',').filter(|entry| !entry.trim().is_empty()) {
            let parsed = entry.split_once(':').and_then(|(value, weight)| {
                let value: f64 = value.trim().parse().ok()?;
                let weight: f64 = weight.trim().parse().ok()?;
                (value.is_finite() && value >= 0.0 && weight.is_finite() && weight >= 0.0)
                    .then_some((value.round() as u64, weight))
            });
            let (value, weight) = parsed.ok_or_else(|| format!("`{}` is no `tokens: weight`", cut(entry)))?;
            if weight > 0.0 {
                sum += weight;
                values.push((sum, value));
            }
        }
        Ok(Self(values))
    }

    /// Whether nothing was told.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A value, each as often as it weighs; 0 of an empty one.
    pub(super) fn draw(&self, random: &mut Pcg64) -> u64 {
        let Some(&(all, last)) = self.0.last() else { return 0 };
        let wanted = random.random_range(0.0..all);
        let at = self.0.partition_point(|(sum, _)| *sum <= wanted);
        self.0.get(at).map_or(last, |(_, value)| *value)
    }
}

fn cut(text: &str) -> String {
    const LONGEST: usize = 40;
    text.trim().chars().take(LONGEST).collect::<String>().escape_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::SeedableRng;

    /// Each value as often as it weighs, and nothing else; weights need not add up to one.
    #[test]
    fn values_by_weight() -> Result<(), String> {
        let histogram = Histogram::parse("{7: 1.0, 9.0: 3.0, 11: 0.0}")?;
        let mut random = Pcg64::seed_from_u64(1);
        let drawn: Vec<u64> = (0..4000).map(|_| histogram.draw(&mut random)).collect();
        let nines = drawn.iter().filter(|value| **value == 9).count();
        assert!(drawn.iter().all(|value| [7, 9].contains(value)));
        assert!((2850..3150).contains(&nines), "{nines}");
        Ok(())
    }

    /// What is not a distribution is refused.
    #[test]
    fn other_texts_are_refused() {
        for text in ["", "[1]", "{1}", "{1: x}", "{-1: 0.5}", "{1: NaN}", "{x: 1}"] {
            assert!(Histogram::parse(text).is_err(), "{text}");
        }
        assert!(Histogram::parse("{}").is_ok_and(|empty| empty.is_empty()));
    }
}
