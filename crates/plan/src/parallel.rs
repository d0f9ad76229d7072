//! Work over many pools or workflows, on as many threads as there are cores.
//!
//! The invariant: results stand in the order of the items, whichever thread made them, so that one core and
//! two give the same bytes.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `work` makes of each item.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let take = || {
        let places = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let taken = places.map_while(|place| Some((place, items.get(place)?)));
        taken.map(|(place, item)| (place, work(item))).collect::<Vec<_>>()
    };
    let mut made = thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(items.len())).map(|_| scope.spawn(take)).collect();
        let mut made = take();
        for other in others {
            // A thread that panicked takes the caller with it, as it would have without threads.
            made.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        made
    });
    made.sort_unstable_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    /// Protects plans: however long an item takes, results stand in the order of the items.
    #[test]
    fn results_stand_in_the_order_of_the_items() {
        let slow = |item: &u64| {
            std::thread::sleep(std::time::Duration::from_millis(10 - item));
            item * 2
        };
        assert_eq!(super::map(&[0, 1, 2, 3, 4], slow), [0, 2, 4, 6, 8]);
        assert!(super::map(&[], slow).is_empty());
    }
}
