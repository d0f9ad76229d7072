//! Where calls go when a pool is exhausted must end somewhere.

use std::collections::BTreeMap;

use super::PoolSpec;

/// The first pool whose fallback leads back to it, with the way round; a pool that is its own fallback is
/// the shortest.
///
/// Pools are told apart by key alone, since that is all that a fallback names: an entry whose key several
/// entries share leads to any of them.
pub(super) fn circle(pools: &[PoolSpec]) -> Option<(usize, Vec<&str>)> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for pool in pools {
        let fallback = pool.fallback.as_ref().map(|fallback| fallback.pool.as_str());
        next.entry(&pool.key).or_default().extend(fallback);
    }
    pools.iter().enumerate().find_map(|(index, pool)| {
        let first = pool.fallback.as_ref()?.pool.as_str();
        let way = way_back(&next, &pool.key, &mut vec![pool.key.as_str(), first])?;
        Some((index, way))
    })
}

/// The shortest continuation of `way` that ends at `goal`, depth first; every pool is visited once.
fn way_back<'p>(
    next: &BTreeMap<&str, Vec<&'p str>>,
    goal: &str,
    way: &mut Vec<&'p str>,
) -> Option<Vec<&'p str>> {
    let last = *way.last()?;
    if last == goal {
        return Some(way.clone());
    }
    for step in next.get(last).into_iter().flatten() {
        if *step == goal || !way.contains(step) {
            way.push(step);
            if let Some(found) = way_back(next, goal, way) {
                return Some(found);
            }
            way.pop();
        }
    }
    None
}
