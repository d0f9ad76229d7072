//! What a prefix cache would have served, from hashes of a prompt's blocks.
//!
//! Mooncake's traces tell a hash for each 512 tokens of a prompt, such that equal hashes from the
//! beginning are an equal prefix. The invariant: only requests before this one fill the cache. What
//! nobody tells is how long a provider keeps a prefix; here it is kept for as long as the trace lasts,
//! which is an hour at most in those that are public.

use std::collections::HashSet;

/// Tokens of a block (Mooncake, FAST25 traces).
const BLOCK: u64 = 512;

/// Blocks that were seen.
#[derive(Debug, Default)]
pub(super) struct PrefixCache(HashSet<u64>);

impl PrefixCache {
    /// Input tokens of a request that requests before it have left in the cache; its own are there for
    /// the next.
    pub(super) fn serve(&mut self, blocks: &[u64], input: u64) -> u64 {
        let known = blocks.iter().take_while(|block| self.0.contains(block)).count() as u64;
        self.0.extend(blocks);
        known.saturating_mul(BLOCK).min(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the second request shares one block of two, the third both and a third of its own; what
    /// is behind an unknown block is not served, however well it is known.
    #[test]
    fn only_a_prefix_is_served() {
        let mut cache = PrefixCache::default();
        assert_eq!(cache.serve(&[1, 2], 1000), 0);
        assert_eq!(cache.serve(&[1, 3], 1000), 512);
        assert_eq!(cache.serve(&[1, 2, 4], 1500), 1024);
        assert_eq!(cache.serve(&[9, 2, 4], 1500), 0);
        assert_eq!(cache.serve(&[1, 2], 600), 600);
    }
}
