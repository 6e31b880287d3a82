//! Finds operations of a rank that wait for each other.

/// A cycle: each operation waits for the next one, and the last one for the first. Empty if there is none.
///
/// `dependents` returns the operations that wait for an operation, out of `n`.
pub fn find<I: Iterator<Item = u32>>(n: u32, dependents: impl Fn(u32) -> I) -> Vec<u32> {
    let mut open = vec![0_u32; n as usize];
    (0..n).flat_map(&dependents).for_each(|op| open[op as usize] += 1);
    let mut free: Vec<u32> = (0..n).filter(|&op| open[op as usize] == 0).collect();
    let mut left = n;
    while let Some(op) = free.pop() {
        left -= 1;
        for dependent in dependents(op) {
            open[dependent as usize] -= 1;
            if open[dependent as usize] == 0 {
                free.push(dependent);
            }
        }
    }
    if left == 0 {
        return Vec::new();
    }
    // Each operation that is left waits for another one that is left.
    let is_left = |op: &u32| open[*op as usize] > 0;
    let mut waits_for = vec![u32::MAX; n as usize];
    for op in (0..n).filter(is_left) {
        dependents(op).filter(is_left).for_each(|dependent| waits_for[dependent as usize] = op);
    }
    let Some(mut op) = (0..n).find(is_left) else { return Vec::new() };
    let mut seen = vec![false; n as usize];
    while !std::mem::replace(&mut seen[op as usize], true) {
        op = waits_for[op as usize];
    }
    let (first, mut cycle) = (op, vec![op]);
    while waits_for[op as usize] != first {
        op = waits_for[op as usize];
        cycle.push(op);
    }
    // It begins with the operation that is first in the file.
    let least = cycle.iter().enumerate().min_by_key(|(_, op)| **op).map_or(0, |(at, _)| at);
    cycle.rotate_left(least);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(n: u32, edges: &[(u32, u32)]) -> Vec<u32> {
        find(n, |op| edges.iter().filter(move |edge| edge.0 == op).map(|edge| edge.1).collect::<Vec<_>>().into_iter())
    }

    #[test]
    fn cycles_are_found_and_begin_with_their_first_operation() {
        assert_eq!(of(3, &[(0, 1), (1, 2), (0, 2)]), Vec::<u32>::new());
        assert_eq!(of(2, &[(0, 1), (1, 0)]), [0, 1]);
        // 5 waits for the cycle and is not part of it: 1 waits for 4, 4 for 2, 2 for 1.
        assert_eq!(of(6, &[(0, 1), (4, 1), (2, 4), (1, 2), (2, 5)]), [1, 4, 2]);
    }
}
