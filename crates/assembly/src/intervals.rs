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

/// The intervals on the critical path of a window, latest first, each cut to the part that is on it.
///
/// Read backwards: what the end waited for is what ended last before it; what that waited for is what
/// ended last before its start; and so on. Shortening anything else would not have ended the run sooner.
pub(crate) fn critical(intervals: &[Interval], window: Interval) -> Vec<(usize, i64)> {
    let mut by_end: Vec<usize> = (0..intervals.len()).collect();
    // Of those that ended together the longest: the others ran beside it.
    by_end.sort_by_key(|&i| (std::cmp::Reverse(intervals[i].1.min(window.1)), intervals[i].0));
    let mut path = Vec::new();
    let mut until = window.1;
    // What started before `until` and ended after it ran into it; of those the longest is on the path.
    let mut next = by_end.into_iter().peekable();
    let mut running: Option<usize> = None;
    loop {
        while let Some(&i) = next.peek() {
            if intervals[i].1.min(window.1) < until {
                break;
            }
            next.next();
            if running.is_none_or(|best| intervals[i].0 < intervals[best].0) {
                running = Some(i);
            }
        }
        let on_path = running.take().filter(|&i| intervals[i].0 < until).or_else(|| next.next());
        let Some(i) = on_path else { break };
        let (start, end) = (intervals[i].0.max(window.0), intervals[i].1.min(until));
        if end > start {
            path.push((i, end - start));
            until = start;
        }
        if until <= window.0 {
            break;
        }
    }
    path
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

    /// Of branches side by side the last to end is on the path, and what it followed; gaps are not.
    #[test]
    fn critical_path() {
        assert_eq!(critical(&[(0, 10), (0, 4), (5, 9)], (0, 12)), [(0, 10)]);
        assert_eq!(critical(&[(0, 4), (5, 9), (6, 8)], (0, 9)), [(1, 4), (0, 4)]);
        assert_eq!(critical(&[(0, 6), (4, 9)], (2, 9)), [(1, 5), (0, 2)]);
        assert_eq!(critical(&[(3, 3), (20, 30)], (0, 9)), []);
        assert_eq!(critical(&[], (0, 9)), []);
    }

    proptest! {
        /// The sweep agrees with counting instant by instant.
        #[test]
        fn agrees_with_counting(raw in prop::collection::vec((0_i64..40, 0_i64..10), 0..20)) {
            let mut intervals: Vec<Interval> = raw.iter().map(|&(start, length)| (start, start + length)).collect();
            let at = |t: i64| intervals.iter().filter(|&&(s, e)| s <= t && t < e.max(s + 1)).count() as i64;
            prop_assert_eq!(most_at_once(&intervals), (0..60).map(at).max().unwrap_or(0));
            let inside = (3..45).filter(|&t| intervals.iter().any(|&(s, e)| s <= t && t < e)).count() as i64;
            let on_path: i64 = critical(&intervals, (3, 45)).iter().map(|(_, length)| *length).sum();
            prop_assert_eq!(on_path, inside);
            prop_assert_eq!(covered(&mut intervals, (3, 45)), inside);
        }
    }
}
