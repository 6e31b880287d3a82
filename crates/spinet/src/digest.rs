//! A hash over everything that a NIC did.

use blake3::Hasher;

/// The parts of a digest, hashed in this order.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Packets that left, with times.
    Out,
    /// Writes to host memory, with times.
    Host,
    /// Ends of packets, with times.
    Done,
    /// Packets that bypassed the handlers, with times.
    Ordinary,
    /// Abandoned messages and refused accesses, with times.
    Event,
}

/// Hashes several streams, each in its own order. So concurrent events of two parts of the NIC may arrive in either
/// order.
#[derive(Default)]
pub struct Digest {
    streams: [Buffered; 5],
}

/// A hash, and bytes that it has not processed yet. Many bytes at once take a fraction of the time.
#[derive(Default)]
struct Buffered {
    hasher: Hasher,
    waiting: Vec<u8>,
}

/// Maximum number of numbers that are added at once.
const MOST_NUMBERS: usize = 5;

/// Bytes that are hashed at once. BLAKE3 is fastest with a power of two of its chunks (1024 bytes), if all earlier bytes were such a
/// multiple, too.
const BLOCK_BYTES: usize = 1 << 16;

impl Digest {
    /// Adds up to [`MOST_NUMBERS`] numbers and bytes to a stream.
    pub fn add(&mut self, stream: Stream, numbers: &[u64], bytes: &[u8]) {
        let Buffered { hasher, waiting } = &mut self.streams[stream as usize];
        let mut head = [[0; 8]; MOST_NUMBERS + 1];
        head.iter_mut().zip(numbers).for_each(|(to, number)| *to = number.to_le_bytes());
        head[numbers.len()] = (bytes.len() as u64).to_le_bytes();
        waiting.extend_from_slice(head[..=numbers.len()].as_flattened());
        waiting.extend_from_slice(bytes);
        while waiting.len() >= BLOCK_BYTES {
            hasher.update(&waiting[..BLOCK_BYTES]);
            waiting.drain(..BLOCK_BYTES);
        }
    }

    /// The digest so far, as 64 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        let mut whole = Hasher::new();
        for (i, Buffered { hasher, waiting }) in self.streams.iter().enumerate() {
            // An empty stream adds nothing, so runs without such events have the same digests as before this stream
            // existed.
            if i == Stream::Event as usize && hasher.count() == 0 && waiting.is_empty() {
                continue;
            }
            whole.update(hasher.clone().update(waiting).finalize().as_bytes());
        }
        whole.finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_ordered_each_for_itself() {
        let of = |events: &[(Stream, u64)]| {
            let mut digest = Digest::default();
            events.iter().for_each(|&(stream, n)| digest.add(stream, &[n], b"x"));
            digest.to_hex()
        };
        let (a, b, c) = ((Stream::Out, 1), (Stream::Host, 2), (Stream::Out, 3));
        assert_eq!(of(&[a, b, c]), of(&[b, a, c]));
        assert_ne!(of(&[a, b, c]), of(&[c, b, a]));
        assert_ne!(of(&[(Stream::Out, 1)]), of(&[(Stream::Host, 1)]));
    }
}
