//! The port of an L2 memory towards NIC and host: its multiplexer and remapper, and the addresses of writes behind them.

use super::memory::{FAR, Memory, position};
use super::reads::Read;
use super::remapper::Remapper;
use super::{Memories, READ, WRITE};
use kernel::Cycle;

/// Addresses that the register in front of the demultiplexer holds. Source: PsPIN RTL a49fec8, `spill_register.sv`.
const REGISTER: usize = 2;
/// Addresses of writes that the buffer in front of that register holds. Source: the same, `l2_mem.sv`, i_axi_b_buf, AW_DEPTH.
const BUFFER: usize = 2;

/// Addresses at the port.
///
/// Addresses of reads go from the remapper into a register, addresses of writes into a buffer and from there into a
/// register. An address passes the buffer without an extra cycle if both have room.
///
/// Source: PsPIN RTL a49fec8, `l2_mem.sv`, `axi_buf.sv`; `axi_demux.sv`.
#[derive(Default)]
pub(super) struct Addresses {
    remapper: Remapper,
    /// Addresses of writes in the buffer.
    n_buffered: usize,
    /// Addresses of writes in the register. The first may have passed the demultiplexer; it stays until the first beat
    /// of its burst requests a bank.
    n_writes: usize,
    /// The last cycle in which an address left the register; its place can be used two cycles later.
    left_at: Option<Cycle>,
    /// True if the counts include the address of an initiator that sends addresses together with its data.
    is_announced: bool,
}

impl Addresses {
    /// Returns, for reads and for writes, true if the waiting address passes in this cycle.
    fn pass(&mut self, requests: [bool; 2], reads_have_room: bool, now: Cycle) -> [bool; 2] {
        let leaving = self.left_at.is_some_and(|at| at + 1 == now);
        let has_room = [reads_have_room, self.n_buffered < BUFFER];
        let moves_on = self.n_writes + usize::from(leaving) < REGISTER;
        let passes = self.remapper.pass(requests, false, has_room);
        self.n_buffered += usize::from(passes[WRITE]);
        if moves_on && self.n_buffered > 0 {
            self.n_buffered -= 1;
            self.n_writes += 1;
        }
        passes
    }

    /// The first beat of a write requests its bank. If the bank refuses it, a register behind the converter holds it.
    /// Source: PsPIN RTL a49fec8, `axi_to_mem.sv`, mem_to_banks, i_ft_reg.
    pub(super) fn leave(&mut self, was_announced: bool, now: Cycle) {
        self.n_writes -= 1;
        self.left_at = Some(now);
        self.is_announced &= !was_announced;
    }

    /// Returns true if an address of a write waits for the demultiplexer or the register.
    pub(super) fn is_waiting(&self) -> bool {
        self.n_buffered + self.n_writes > 0 || self.remapper.is_holding()
    }
}

impl Memories {
    /// Addresses of reads and writes pass the multiplexer and the remapper, and the next burst of each direction
    /// reaches its side.
    pub(super) fn take_far(&mut self, memory: usize, now: Cycle) {
        let reads = self.burst_candidates(FAR, memory, READ);
        let mut writes = self.burst_candidates(FAR, memory, WRITE);
        let ahead = self.ports.addresses.as_ref().filter(|_| memory == super::PACKET);
        let ahead_of = ahead.map_or(0, |&(initiator, _)| 1 << initiator);
        let is_ahead = ahead.is_some_and(|(_, addresses)| addresses.is_due(now));
        let Memory { sides, reads: ways, far, .. } = &mut self.memories[memory];
        let side = &mut sides[position(FAR, WRITE)];
        let announces = side.in_parts.is_none() && writes & !ahead_of != 0 && !far.is_announced;
        let [read_passes, write_passes] = far.pass([reads != 0, is_ahead || announces], ways[FAR].has_room(now), now);
        if write_passes {
            match ahead.filter(|_| is_ahead) {
                Some((_, addresses)) => drop(addresses.take()),
                None => far.is_announced = true,
            }
        }
        let next = far.n_writes > 0 && side.address_passes(true, &mut ways[FAR], now);
        if read_passes && let Some(initiator) = sides[position(FAR, READ)].turn.take(reads) {
            let burst = self.take_front(FAR, initiator as usize, now);
            self.memories[memory].reads[FAR].push(initiator as usize, Read::Burst(initiator as usize, burst), now);
        }
        self.come_read(memory, FAR, now);
        let at = position(FAR, WRITE);
        let Memory { banks, sides, far, .. } = &mut self.memories[memory];
        match sides[at].in_parts {
            Some(initiator) => writes &= 1 << initiator,
            None if !next => return,
            None if !far.is_announced => writes &= ahead_of,
            None => {}
        }
        if banks.end(at) <= now
            && let Some(initiator) = sides[at].turn.take(writes)
        {
            self.take_burst(memory, at, initiator as usize, now);
            let Memory { sides, far, .. } = &mut self.memories[memory];
            if sides[at].in_parts.is_none() {
                sides[at].has_address = false;
                far.leave(ahead_of >> initiator & 1 == 0, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_an_address_waits_for_room_no_new_one_of_the_other_direction_passes() {
        let mut addresses = Addresses::default();
        // Reads have no room from cycle 1 to 3. A read that comes in these cycles waits, and so does a write that comes after it.
        let mut passed = Vec::new();
        for (now, requests) in
            [[true, true], [true, false], [true, true], [true, true], [true, true], [false, true]].iter().enumerate()
        {
            passed.push(addresses.pass(*requests, !(1..4).contains(&now), now as Cycle));
        }
        let [none, read, write, both] = [[false, false], [true, false], [false, true], [true, true]];
        assert_eq!(passed, [both, none, none, none, read, write]);
        // Two of the four writes are in the register and two in the buffer. The fifth waits, and delays reads, until a
        // place in the buffer is free; for that, a place in the register must become free first.
        assert_eq!(addresses.pass([false, true], true, 6), write);
        assert_eq!(addresses.pass([false, true], true, 7), write);
        assert_eq!(addresses.pass([false, true], true, 8), none);
        assert_eq!(addresses.pass([true, true], true, 9), none);
        addresses.leave(true, 9);
        assert_eq!(addresses.pass([true, true], true, 10), none);
        assert_eq!(addresses.pass([true, true], true, 11), none);
        assert_eq!(addresses.pass([true, true], true, 12), write);
        assert_eq!(addresses.pass([true, false], true, 13), read);
    }
}
