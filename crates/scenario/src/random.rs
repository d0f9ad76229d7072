//! Where every random number comes from.
//!
//! Each run and each arrival stream has a generator of its own, keyed by what it is for, so that a
//! change in one workflow leaves the others' draws as they were.

use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// The generator used throughout.
pub(crate) type Random = Pcg64Mcg;

/// A generator for the `number`-th thing of a `stream`.
pub(crate) fn keyed(seed: u64, stream: u64, number: u64) -> Random {
    Pcg64Mcg::seed_from_u64(mixed(mixed(mixed(seed) ^ stream) ^ number))
}

/// A standard normal draw.
pub(crate) fn normal(random: &mut Random) -> f64 {
    random.sample(StandardNormal)
}

/// True with that probability; nonsense outside 0 to 1 is cut to it.
pub(crate) fn chance(random: &mut Random, probability: f64) -> bool {
    random.random::<f64>() < probability
}

/// Index drawn by weight; the last one where weights are short of their sum.
pub(crate) fn pick(random: &mut Random, weights: impl Iterator<Item = f64> + Clone) -> usize {
    let mut left = random.random::<f64>() * weights.clone().sum::<f64>();
    let mut last = 0;
    for (index, weight) in weights.enumerate() {
        last = index;
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}

/// The finaliser of SplitMix64: neighbours become strangers.
fn mixed(value: u64) -> u64 {
    let mut value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
