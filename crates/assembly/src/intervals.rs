//! Exact arithmetic over half-open time intervals: most at once, and time covered.

/// An interval in nanoseconds, `start..end`.
pub(crate) type Interval = (i64, i64);

/// Most intervals that hold one instant. An interval without length still counts where it stands,
/// one nanosecond long.
pub(crate) fn most_at_once(intervals: &[Interval]) -> i64 {
    if intervals.len() < 2 {
        return intervals.len() as i64;
    }
    let mut starts: Vec<i64> = intervals.iter().map(|(start, _)| *start).collect();
    let mut ends: Vec<i64> = intervals.iter().map(|&(start, end)| end.max(start.saturating_add(1))).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    let (mut most, mut ended) = (0, 0);
    for (started, start) in starts.iter().enumerate() {
        while ended < ends.len() && ends[ended] <= *start {
            ended += 1;
        }
        most = most.max(started + 1 - ended);
    }
    most as i64
}

/// Nanoseconds covered by at least one interval, within `window`.
pub(crate) fn covered(intervals: &mut [Interval], window: Interval) -> i64 {
    intervals.sort_unstable();
    let mut total = 0_i64;
    let mut reached = window.0;
    for &mut (start, end) in intervals {
        let (start, end) = (start.max(reached), end.min(window.1));
        if end > start {
            total = total.saturating_add(end.saturating_sub(start));
            reached = end;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Half-open: an interval that starts where another ends does not overlap it.
    #[test]
    fn touching_is_not_overlapping() {
        assert_eq!(most_at_once(&[(0, 10), (10, 20)]), 1);
        assert_eq!(most_at_once(&[(0, 11), (10, 20), (10, 10)]), 3);
        assert_eq!(most_at_once(&[(5, 5), (5, 5)]), 2);
        assert_eq!(most_at_once(&[]), 0);
        assert_eq!(covered(&mut [(0, 10), (5, 12), (20, 30)], (2, 25)), 15);
        assert_eq!(covered(&mut [(0, 10)], (20, 25)), 0);
    }

    proptest! {
        /// The sweep agrees with counting instant by instant.
        #[test]
        fn agrees_with_counting(raw in prop::collection::vec((0_i64..40, 0_i64..10), 0..20)) {
            let mut intervals: Vec<Interval> = raw.iter().map(|&(start, length)| (start, start + length)).collect();
            let at = |t: i64| intervals.iter().filter(|&&(s, e)| s <= t && t < e.max(s + 1)).count() as i64;
            prop_assert_eq!(most_at_once(&intervals), (0..60).map(at).max().unwrap_or(0));
            let inside = (3..45).filter(|&t| intervals.iter().any(|&(s, e)| s <= t && t < e)).count() as i64;
            prop_assert_eq!(covered(&mut intervals, (3, 45)), inside);
        }
    }
}
