//! Empty buffers of the host and their return.

use super::rings;
use crate::tengig::map;
use blocks::feeders::HostMemory;
use wire::checksum::Sum;

/// A ring of empty buffers, which return in order.
pub(super) struct BufferRing {
    /// Name in messages.
    pub name: &'static str,
    /// Address of its mailbox.
    pub mailbox: u32,
    /// Flag in return descriptors.
    flag: u32,
    /// Addresses in host memory of the ring and of its buffers.
    ring: u64,
    buffers: u64,
    buffer_bytes: u64,
    entries: u32,
    /// Longest frame for these buffers.
    longest: u32,
    /// Maximum number of buffers that the card has at a time.
    most: u64,
    pub posted: u64,
    pub returned: u64,
    /// Latest value written to the mailbox.
    pub mailbox_value: u32,
}

/// A returned frame in host memory.
pub(super) struct Returned {
    pub at: u64,
    pub bytes: u32,
    /// The card marked it as damaged.
    pub is_damaged: bool,
}

/// Flags of a return descriptor that select the buffer's ring.
const RING_FLAGS: u32 = map::FLAG_MINI | map::FLAG_JUMBO;

impl BufferRing {
    fn new(name: &'static str, mailbox: u32, flag: u32, places: [u64; 3], entries: u32, longest: u32) -> BufferRing {
        let [ring, buffers, buffer_bytes] = places;
        let (posted, returned, mailbox_value, most) = (0, 0, 0, u64::from(entries));
        BufferRing {
            name,
            mailbox,
            flag,
            ring,
            buffers,
            buffer_bytes,
            entries,
            longest,
            most,
            posted,
            returned,
            mailbox_value,
        }
    }

    /// Standard buffers: at most `most` on the card, for frames of up to `longest` bytes.
    pub fn standard(longest: u32, most: u32) -> BufferRing {
        let places = [rings::RECEIVE_RING, rings::BUFFERS, rings::BUFFER_BYTES];
        let ring = BufferRing::new("standard", map::MAILBOX_RECEIVE, 0, places, map::RECEIVE_ENTRIES, longest);
        BufferRing { most: most.into(), ..ring }
    }

    /// Mini buffers for frames of up to `longest` bytes; none are posted if that is 0.
    pub fn mini(longest: u32) -> BufferRing {
        let places = [rings::MINI_RING, rings::MINI_BUFFERS, rings::MINI_BUFFER_BYTES];
        let ring = BufferRing::new("mini", map::MAILBOX_MINI, map::FLAG_MINI, places, map::MINI_ENTRIES, longest);
        BufferRing { most: if longest == 0 { 0 } else { map::MINI_ENTRIES.into() }, ..ring }
    }

    /// Jumbo buffers for frames of up to `longest` bytes; none are posted unless `is_needed`.
    pub fn jumbo(longest: u32, is_needed: bool) -> BufferRing {
        let places = [rings::JUMBO_RING, rings::JUMBO_BUFFERS, rings::JUMBO_BUFFER_BYTES];
        let ring = BufferRing::new("jumbo", map::MAILBOX_JUMBO, map::FLAG_JUMBO, places, map::JUMBO_ENTRIES, longest);
        BufferRing { most: if is_needed { map::JUMBO_ENTRIES.into() } else { 0 }, ..ring }
    }

    pub fn has_room(&self) -> bool {
        self.posted - self.returned < self.most
    }

    /// Address of buffer number `n` in memory that starts at `base`.
    fn buffer(&self, base: u64, n: u64) -> u64 {
        base + self.buffers + n % u64::from(self.entries) * self.buffer_bytes
    }

    /// Posts the next buffer, with a short or a long descriptor.
    pub fn post(&mut self, memory: &mut HostMemory, base: u64, is_long: bool) {
        let place = self.posted as u32 % self.entries;
        let at = self.buffer(base, self.posted);
        let (high, low, room) = ((at >> 32) as u32, at as u32, self.buffer_bytes as u32);
        if is_long {
            let words = [high, low, place << 16 | room, 0, 0, 0, 0, self.opaque(self.posted)];
            put(memory, base + self.ring + u64::from(place * map::LONG_DESCRIPTOR_BYTES), &words);
        } else {
            let words = [high, low, room, place];
            put(memory, base + self.ring + u64::from(place * map::DESCRIPTOR_BYTES), &words);
        }
        self.posted += 1;
    }

    /// The driver's identifier of a buffer.
    fn opaque(&self, n: u64) -> u32 {
        self.flag << 16 | n as u32 & 0xffff
    }
}

/// Writes consecutive words.
pub(super) fn put(memory: &mut HostMemory, at: u64, words: &[u32]) {
    for (i, word) in (0..).zip(words) {
        memory.put_word(at + 4 * i, *word);
    }
}

/// Reads return descriptor `number` with one ring of buffers, or says why it is wrong.
pub(super) fn take_short(
    memory: &HostMemory,
    base: u64,
    rings: &mut [BufferRing],
    number: u32,
) -> Result<Returned, String> {
    let place = number % map::RETURN_ENTRIES * map::DESCRIPTOR_BYTES;
    let at = base + rings::RETURN_RING + u64::from(place);
    let word = |i: u64| memory.word(at + 4 * i);
    let (buffer, bytes, errors, frame_number) = (word(0), word(1), word(2), word(3));
    let ring = &mut rings[0];
    let at = ring.buffer(base, ring.returned);
    ring.returned += 1;
    if buffer != number % map::RECEIVE_ENTRIES || frame_number != number || u64::from(bytes) > rings::BUFFER_BYTES {
        return Err(format!("return descriptor {number} says frame {frame_number}, {bytes} bytes, buffer {buffer}"));
    }
    Ok(Returned { at, bytes, is_damaged: errors != 0 })
}

/// Reads return descriptor `number` with three rings of buffers; `has_sum` if it must hold the frame's sum.
pub(super) fn take_long(
    memory: &HostMemory,
    base: u64,
    rings: &mut [BufferRing],
    number: u32,
    has_sum: bool,
) -> Result<Returned, String> {
    let place = number % map::LONG_RETURN_ENTRIES * map::LONG_DESCRIPTOR_BYTES;
    let at = base + rings::RETURN_RING + u64::from(place);
    let word = |i: u64| memory.word(at + 4 * i);
    let (index, bytes, flags, sum) = (word(2) >> 16, word(2) & 0xffff, word(3) & 0xffff, word(4) & 0xffff);
    let (errors, frame_number, opaque) = (word(5) >> 16, word(6), word(7));
    let wrong = |what: String| Err(format!("return descriptor {number} {what}"));
    let Some(found) = rings.iter().position(|ring| ring.flag == flags & RING_FLAGS) else {
        return wrong(format!("has flags 0x{flags:x}, must be those of one ring"));
    };
    // Only a frame longer than a standard buffer may use a jumbo buffer; a mini frame may use a standard one when no mini
    // buffer is free.
    let is_wasted = rings[found].flag == map::FLAG_JUMBO && bytes <= rings[0].longest;
    let ring = &mut rings[found];
    if ring.returned == ring.posted {
        return wrong(format!("is for a {} buffer, must be for a ring that the card has", ring.name));
    }
    let (n, name) = (ring.returned, ring.name);
    let at = ring.buffer(base, n);
    ring.returned += 1;
    let expected = n as u32 % ring.entries;
    if frame_number != number || index != expected || opaque != ring.opaque(n) {
        return wrong(format!("says frame {frame_number}, {name} buffer {index}, must be {number} and {expected}"));
    }
    if u64::from(word(0)) << 32 | u64::from(word(1)) != at {
        return wrong(format!("names another address than that of {name} buffer {index}"));
    }
    if bytes > ring.longest || is_wasted || flags & map::FLAG_END == 0 || errors != 0 {
        return wrong(format!("has {bytes} bytes in a {name} buffer, flags 0x{flags:x}, errors 0x{errors:x}"));
    }
    let frame = memory.get(at, bytes as usize).expect("a buffer must be in host memory");
    // Both 0 and 0xffff represent zero.
    let folded = |sum: u16| if sum == 0xffff { 0 } else { sum };
    let right = !Sum::default().with(frame).finish();
    let is_summed = flags & map::FLAG_SUM != 0;
    if is_summed != has_sum || (is_summed && folded(sum as u16) != folded(right)) {
        return wrong(format!("has flags 0x{flags:x} and sum 0x{sum:04x}, must be the frame's, 0x{right:04x}"));
    }
    Ok(Returned { at, bytes, is_damaged: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const BASE: u64 = 0x1_0000_0000;
    /// Sum of the frame that every test returns: 60 bytes of 0x12.
    const SUM: u32 = 0x1e1e;

    /// The driver's reading of return descriptor 0 after `change` modified its words 2 to 6. Unmodified, it says that the first
    /// mini buffer holds a frame of 60 bytes.
    fn check(change: impl FnOnce(&mut [u32; 5]), want: Expect) {
        let mut memory = HostMemory::new(BASE, rings::BYTES as usize);
        let mut buffers = [BufferRing::standard(1514, 512), BufferRing::mini(128), BufferRing::jumbo(9014, true)];
        for ring in &mut buffers {
            ring.post(&mut memory, BASE, true);
        }
        let at = BASE + rings::MINI_BUFFERS;
        memory.put(at, &[0x12; 60]);
        let mut words = [60, map::FLAG_END | map::FLAG_MINI | map::FLAG_SUM, SUM, 0, 0];
        change(&mut words);
        put(&mut memory, BASE + rings::RETURN_RING, &[(at >> 32) as u32, at as u32]);
        put(&mut memory, BASE + rings::RETURN_RING + 8, &words);
        put(&mut memory, BASE + rings::RETURN_RING + 28, &[buffers[1].opaque(0)]);
        let frame_number = take_long(&memory, BASE, &mut buffers, 0, true);
        want.assert_eq(
            &frame_number.map_or_else(|text| text, |found| format!("{} bytes, {:x}", found.bytes, found.at - BASE)),
        );
    }

    #[test]
    fn a_return_descriptor_is_checked_against_its_buffer_and_frame() {
        check(|_| {}, expect!["60 bytes, 5a1000"]);
        check(
            |words| words[2] ^= 1,
            expect!["return descriptor 0 has flags 0x1005 and sum 0x1e1f, must be the frame's, 0x1e1e"],
        );
        check(
            |words| words[1] &= !map::FLAG_SUM,
            expect!["return descriptor 0 has flags 0x1004 and sum 0x1e1e, must be the frame's, 0x1e1e"],
        );
        check(|words| words[0] |= 1 << 16, expect!["return descriptor 0 says frame 0, mini buffer 1, must be 0 and 0"]);
        check(|words| words[4] = 7, expect!["return descriptor 0 says frame 7, mini buffer 0, must be 0 and 0"]);
        check(
            |words| words[0] = 129,
            expect!["return descriptor 0 has 129 bytes in a mini buffer, flags 0x1005, errors 0x0"],
        );
        check(
            |words| words[1] |= map::FLAG_JUMBO,
            expect!["return descriptor 0 has flags 0x1015, must be those of one ring"],
        );
        check(
            |words| words[1] = map::FLAG_END | map::FLAG_SUM,
            expect!["return descriptor 0 says frame 0, standard buffer 0, must be 0 and 0"],
        );
    }
}
