//! Maximum flow through a network of links, by Dinic's algorithm (1970).

use std::collections::VecDeque;

/// One direction of a link.
struct Way {
    to: usize,
    /// Remaining capacity.
    left: u64,
    /// The other direction.
    back: usize,
}

/// Links with capacities.
pub struct Flow {
    ways: Vec<Way>,
    /// Ways that begin at each place.
    at: Vec<Vec<usize>>,
}

impl Flow {
    /// A network without links.
    pub fn new(n_places: usize) -> Flow {
        Flow { ways: Vec::new(), at: vec![Vec::new(); n_places] }
    }

    /// Adds a link with its capacities in both directions.
    pub fn add(&mut self, from: usize, to: usize, there: u64, back: u64) {
        let first = self.ways.len();
        self.ways.push(Way { to, left: there, back: first + 1 });
        self.ways.push(Way { to: from, left: back, back: first });
        self.at[from].push(first);
        self.at[to].push(first + 1);
    }

    /// The maximum flow from `source` to `sink`; it uses up the capacities.
    pub fn most(mut self, source: usize, sink: usize) -> u64 {
        let mut sum = 0u64;
        loop {
            let distance = self.distances(source);
            if distance[sink] == u32::MAX {
                return sum;
            }
            let mut next = vec![0; self.at.len()];
            while let Some(path) = self.path(source, sink, &distance, &mut next) {
                let least = path.iter().map(|&way| self.ways[way].left).min().unwrap_or(0);
                for way in path {
                    let back = self.ways[way].back;
                    self.ways[way].left -= least;
                    self.ways[back].left = self.ways[back].left.saturating_add(least);
                }
                sum = sum.saturating_add(least);
            }
        }
    }

    fn distances(&self, source: usize) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.at.len()];
        distance[source] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(place) = queue.pop_front() {
            for way in self.at[place].iter().map(|&way| &self.ways[way]).filter(|way| way.left > 0) {
                if distance[way.to] == u32::MAX {
                    distance[way.to] = distance[place] + 1;
                    queue.push_back(way.to);
                }
            }
        }
        distance
    }

    /// A shortest path with remaining capacity. `next` skips ways that did not lead to the sink.
    fn path(&self, source: usize, sink: usize, distance: &[u32], next: &mut [usize]) -> Option<Vec<usize>> {
        let (mut path, mut place) = (Vec::new(), source);
        while place != sink {
            let way = self.at[place].get(next[place]).copied();
            match way {
                Some(way) => {
                    let to = self.ways[way].to;
                    if self.ways[way].left > 0 && distance[to] == distance[place] + 1 {
                        path.push(way);
                        place = to;
                    } else {
                        next[place] += 1;
                    }
                }
                None => {
                    let way = path.pop()?;
                    place = self.ways[self.ways[way].back].to;
                    next[place] += 1;
                }
            }
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_cut_bounds_the_flow() {
        // Two paths with capacities 3 and 5; a third path ends in a link without capacity.
        let mut flow = Flow::new(5);
        for (from, to, capacity) in [(0, 1, 3), (0, 2, 5), (1, 3, 9), (2, 3, 9), (0, 4, 7)] {
            flow.add(from, to, capacity, 0);
        }
        flow.add(3, 4, 0, 0);
        let mut wide = Flow::new(4);
        for (from, to, capacity) in [(0, 1, 3), (0, 2, 5), (1, 3, 9), (2, 3, 2)] {
            wide.add(from, to, capacity, 0);
        }
        assert_eq!((flow.most(0, 3), wide.most(0, 3)), (8, 5));
    }
}
