//! The tree that the parents make, with whatever is wrong with it put right.
//!
//! Nodes are numbered by start. Spans without a parent, spans whose parent has not come, and one
//! span of every cycle hang under a virtual root, numbered after them all. No step recurses on the
//! depth of the input, and none takes more than n log n.

use crate::span::Span;
use crate::unique::{Unique, by_id};

/// A number that is no node's.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A run's spans as trees.
pub(crate) struct Forest<'s, 'a> {
    /// Spans by start, then longest first.
    pub(crate) nodes: Vec<&'s Span<'a>>,
    /// End of each, nanoseconds.
    pub(crate) ends: Vec<i64>,
    /// Parent of each; the virtual root is `nodes.len()`.
    pub(crate) parents: Vec<u32>,
    /// All nodes, parents before children, outer levels first.
    pub(crate) top_down: Vec<u32>,
    /// A parent is missing.
    pub(crate) orphans: bool,
    /// A span is its own ancestor.
    pub(crate) cycle: bool,
    /// Where each node's children begin in `children`, which is sorted by parent, then start.
    offsets: Vec<u32>,
    children: Vec<u32>,
}

impl<'s, 'a> Forest<'s, 'a> {
    /// Plants the trees.
    pub(crate) fn new(unique: &Unique<'s, 'a>) -> Self {
        let by_id_order = &unique.spans;
        let n = by_id_order.len();
        let mut by_start: Vec<u32> = (0..n as u32).collect();
        let ends_by_id: Vec<i64> = by_id_order.iter().map(|span| span.end_unix_nano()).collect();
        by_start.sort_unstable_by(|&a, &b| {
            let (x, y) = (by_id_order[a as usize], by_id_order[b as usize]);
            x.start_unix_nano
                .cmp(&y.start_unix_nano)
                .then_with(|| ends_by_id[b as usize].cmp(&ends_by_id[a as usize]))
                .then_with(|| by_id(x, y))
                .then_with(|| a.cmp(&b))
        });
        let mut node_of = vec![0_u32; n];
        for (node, &place) in by_start.iter().enumerate() {
            node_of[place as usize] = node as u32;
        }
        let nodes: Vec<&Span<'a>> = by_start.iter().map(|&place| by_id_order[place as usize]).collect();
        let ends = by_start.iter().map(|&place| ends_by_id[place as usize]).collect();

        let mut orphans = false;
        let parents = nodes
            .iter()
            .map(|span| {
                let Some(parent) = parent_id(span) else {
                    return n as u32;
                };
                let against = |other: &Span<'_>| {
                    other.span_id.cmp(parent).then_with(|| other.trace_id.cmp(span.trace_id))
                };
                let place = by_id_order.partition_point(|other| against(other).is_lt());
                match by_id_order.get(place) {
                    Some(found) if against(found).is_eq() => node_of[place],
                    _ => {
                        orphans = true;
                        n as u32
                    }
                }
            })
            .collect();
        let mut forest = Self {
            nodes,
            ends,
            parents,
            top_down: Vec::with_capacity(n),
            orphans,
            cycle: false,
            offsets: Vec::new(),
            children: Vec::new(),
        };
        forest.link_children();
        forest.walk_down();
        if forest.top_down.len() < n {
            forest.cycle = true;
            forest.break_cycles();
            forest.link_children();
            forest.walk_down();
        }
        forest
    }

    /// Number of nodes, and the number of the virtual root.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Children of a node (or of the virtual root), by start.
    pub(crate) fn children(&self, node: usize) -> &[u32] {
        &self.children[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Spans that have no parent, by start.
    pub(crate) fn roots(&self) -> impl Iterator<Item = usize> {
        self.children(self.len())
            .iter()
            .map(|&node| node as usize)
            .filter(|&node| parent_id(self.nodes[node]).is_none())
    }

    /// Sorts the nodes by parent; within a parent they keep their order, which is by start.
    fn link_children(&mut self) {
        let n = self.len();
        let mut offsets = vec![0_u32; n + 2];
        for &parent in &self.parents {
            offsets[parent as usize + 1] += 1;
        }
        for i in 0..=n {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut children = vec![0_u32; n];
        for (node, &parent) in self.parents.iter().enumerate() {
            children[next[parent as usize] as usize] = node as u32;
            next[parent as usize] += 1;
        }
        (self.offsets, self.children) = (offsets, children);
    }

    /// Lists what the virtual root reaches, level by level.
    fn walk_down(&mut self) {
        let mut order = std::mem::take(&mut self.top_down);
        order.clear();
        order.extend_from_slice(self.children(self.len()));
        let mut done = 0;
        while done < order.len() {
            let node = order[done] as usize;
            order.extend_from_slice(self.children(node));
            done += 1;
        }
        self.top_down = order;
    }

    /// Hangs the earliest span of every cycle under the virtual root.
    fn break_cycles(&mut self) {
        let n = self.len();
        let mut walk_of = vec![NOBODY; n];
        for &node in &self.top_down {
            walk_of[node as usize] = n as u32;
        }
        for start in 0..n {
            let mut node = start;
            while walk_of[node] == NOBODY {
                walk_of[node] = start as u32;
                node = self.parents[node] as usize;
                if node == n {
                    break;
                }
            }
            // Back on this walk's own track: `node` is on a cycle that nobody has broken yet.
            if node < n && walk_of[node] == start as u32 {
                let mut earliest = node;
                let mut member = self.parents[node] as usize;
                while member != node {
                    earliest = earliest.min(member);
                    member = self.parents[member] as usize;
                }
                self.parents[earliest] = n as u32;
            }
        }
    }
}

/// The parent's id; an empty one is none.
pub(crate) fn parent_id<'a>(span: &Span<'a>) -> Option<&'a str> {
    span.parent_span_id.filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unique::unique;

    fn span<'a>(span_id: &'a str, parent: &'a str, start: i64) -> Span<'a> {
        Span {
            trace_id: "t",
            span_id,
            parent_span_id: Some(parent),
            start_unix_nano: start,
            ..Span::default()
        }
    }

    /// Cycles, a span that is its own parent and orphans all end up under the virtual root, once.
    #[test]
    fn what_is_wrong_with_parents_is_put_right() {
        let spans = [
            span("a", "b", 1),
            span("b", "c", 2),
            span("c", "a", 3),
            span("d", "a", 4),
            span("e", "e", 5),
            span("f", "gone", 6),
            span("g", "", 7),
        ];
        let unique = unique(&spans);
        let forest = Forest::new(&unique);
        assert!(forest.cycle && forest.orphans);
        let mut all = forest.top_down.clone();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(forest.children(7), [0, 4, 5, 6]);
        assert_eq!(forest.children(0), [2, 3]);
        assert_eq!(forest.roots().collect::<Vec<_>>(), [6]);
    }
}
