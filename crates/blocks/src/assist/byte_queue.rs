//! Bytes in first-in, first-out order.

/// After this many bytes are taken, a queue moves the others to its beginning.
const MOST_TAKEN: usize = 4096;

/// Bytes that are added and taken in slices.
#[derive(Default)]
pub(super) struct ByteQueue {
    bytes: Vec<u8>,
    /// Number of bytes at the beginning of `bytes` that were taken.
    taken: usize,
    /// Number of taken bytes that can be put back.
    kept: usize,
}

impl ByteQueue {
    /// Keeps the last `n` taken bytes, so that [`ByteQueue::put_back`] can put them back.
    pub fn keep(&mut self, n: usize) {
        self.kept = n;
    }

    pub fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds bytes at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.is_empty() && self.kept == 0 {
            self.bytes.clear();
            self.taken = 0;
        } else if self.taken >= MOST_TAKEN + self.kept {
            self.bytes.drain(..self.taken - self.kept);
            self.taken = self.kept;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the first `n` bytes. Panics if there are fewer.
    pub fn take(&mut self, n: usize) -> &[u8] {
        let first = self.taken;
        self.taken += n;
        &self.bytes[first..self.taken]
    }

    /// Puts the last `n` taken bytes back.
    pub fn put_back(&mut self, n: usize) {
        self.taken -= n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_order() {
        let (mut queue, mut next_in, mut next_out) = (ByteQueue::default(), 0u8, 0u8);
        queue.keep(9);
        // 300 rounds of 40 bytes pass `MOST_TAKEN` twice, while some bytes stay.
        for round in 0..300 {
            let bytes: Vec<u8> = (0..40).map(|i| next_in.wrapping_add(i)).collect();
            queue.push(&bytes);
            next_in = next_in.wrapping_add(40);
            let n = if round % 2 == 0 { 17 } else { 63 };
            for &byte in queue.take(n.min(queue.len())) {
                assert_eq!(byte, next_out);
                next_out = next_out.wrapping_add(1);
            }
            if round % 7 == 0 {
                queue.put_back(9);
                next_out = next_out.wrapping_sub(9);
            }
        }
        queue.take(queue.len());
        assert!(queue.is_empty());
        queue.push(&[1, 2, 3]);
        assert_eq!((queue.take(2).to_vec(), queue.len()), (vec![1, 2], 1));
    }
}
