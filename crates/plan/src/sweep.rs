//! Which coming occurrences are on, at instants that are asked for in order of time.
//!
//! A year of hundreds of events has thousands of instants; a sweep looks at each start and each end once,
//! where a search would hold every instant against every occurrence. The invariant: what is on at an instant
//! are the occurrences that [`EventWindows::contains`] it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::windows::EventWindows;

/// A sweep over the windows of occurrences.
pub(crate) struct Sweep {
    /// Starts and ends in order of time: the instant, what it adds, whose window it is.
    edges: Vec<(Timestamp, i32, usize)>,
    next: usize,
    /// By occurrence: how many of its windows are open.
    open: BTreeMap<usize, i32>,
}

impl Sweep {
    pub(crate) fn new(occurrences: &[EventWindows]) -> Self {
        let mut edges: Vec<(Timestamp, i32, usize)> = Vec::new();
        for (index, occurrence) in occurrences.iter().enumerate() {
            for (start, end) in occurrence.windows.iter().filter(|(start, end)| start < end) {
                edges.extend([(*start, 1, index), (*end, -1, index)]);
            }
        }
        edges.sort_unstable();
        Self { edges, next: 0, open: BTreeMap::new() }
    }

    /// The occurrences that are on, by their place; `at` is never before that of the last question.
    pub(crate) fn at(&mut self, at: Timestamp) -> Vec<usize> {
        while let Some((_, step, index)) = self.edges.get(self.next).filter(|(edge, ..)| *edge <= at) {
            *self.open.entry(*index).or_default() += step;
            self.next += 1;
        }
        self.open.retain(|_, open| *open > 0);
        self.open.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap_or_default()
    }

    fn occurrence(windows: &[(i64, i64)]) -> EventWindows {
        EventWindows {
            event: String::new(),
            occurrence: String::new(),
            windows: windows.iter().map(|(start, end)| (second(*start), second(*end))).collect(),
            workflows: BTreeMap::new(),
            over: Vec::new(),
        }
    }

    /// Protects the timeline: a sweep tells at every second what a search through all windows tells,
    /// with windows that touch, nest and are empty.
    #[test]
    fn a_sweep_is_a_search() {
        let all = [
            occurrence(&[(10, 20), (20, 25), (40, 41)]),
            occurrence(&[(0, 60)]),
            occurrence(&[(15, 15), (24, 41)]),
        ];
        let mut sweep = Sweep::new(&all);
        for at in (-1..70).map(second) {
            let searched: Vec<usize> = (0..all.len()).filter(|index| all[*index].contains(at)).collect();
            assert_eq!(sweep.at(at), searched, "{at}");
        }
    }
}
