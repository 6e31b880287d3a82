//! The registers of the cluster DMA, one set for each core and one for the public port.

use super::Cluster;
use super::dma::Owner;
use super::hpu_core::HpuCore;

use crate::protocol::PAGE_BYTES;
use blocks::cpu::Privilege;
use kernel::Cycle;

/// The registers by which a core, or the public port, describes a transfer.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct DmaRegisters {
    src: u32,
    dst: u32,
    bytes: u32,
    config: u32,
    /// Bytes of a launch that the engine has taken already.
    begun: u32,
}

/// Cores whose launches wait for the engine, and whose turn it is.
#[derive(Default)]
pub(super) struct Launching {
    /// Those that have been refused, by bit.
    waiting: u32,
    /// The core that launched last.
    last: usize,
}

impl Launching {
    /// Whether core `i`, which asks, comes next of all that wait; from now on it waits.
    fn is_turn(&mut self, i: usize) -> bool {
        self.waiting |= 1 << i;
        let behind = self.waiting & !((2 << self.last) - 1);
        let next = if behind == 0 { self.waiting } else { behind };
        next.trailing_zeros() == i as u32
    }

    /// Core `i` waits no more, and those behind it are next.
    fn leave(&mut self, i: usize) {
        self.waiting &= !(1 << i);
        self.last = i;
    }
}

impl Cluster {
    /// The DMA registers of core `i`: `axidma__dma_conf_t` of the runtime.
    pub(super) fn access_dma(&mut self, i: usize, offset: u32, write: Option<u32>, now: Cycle) {
        let mut registers = self.cores[i].dma;
        if offset == 0x18 && write.is_none() && registers.bytes > 0 {
            return self.launch(i, now);
        }
        let answer = self.dma_register(&mut registers, offset, write, Owner::Core(i as u32), now);
        self.cores[i].dma = registers;
        self.word_done(i, now, now, answer.expect("only a launch waits"));
    }

    /// Core `i` launches a transfer, and is held until the engine takes it: after those who have waited longer, and where
    /// transfers are checked by pages, in turn, so that none waits for all that another moves. Then a watchdog ends the wait.
    fn launch(&mut self, i: usize, now: Cycle) {
        let HpuCore { core, dma, guard, deadline, .. } = &self.cores[i];
        let DmaRegisters { src, dst, bytes, begun, .. } = *dma;
        let by_pages = guard.checks_transfers();
        let is_allowed = guard.allows_transfer(src, bytes) && guard.allows_transfer(dst, bytes);
        if core.privilege() == Privilege::User && !is_allowed {
            return self.refuse(i, now);
        }
        if by_pages && *deadline <= now {
            self.launching.leave(i);
            self.cores[i].dma.begun = 0;
            return self.kill(i, now);
        }
        let part =
            if by_pages { (bytes - begun).min(PAGE_BYTES - src.wrapping_add(begun) % PAGE_BYTES) } else { bytes };
        let id = match self.launching.is_turn(i) {
            true => self.dma.launch(now, Owner::Core(i as u32), src.wrapping_add(begun), dst.wrapping_add(begun), part),
            false => None,
        };
        let Some(id) = id else { return self.ready.add(i, now, now + 1) };
        self.launching.leave(i);
        self.cores[i].hpu.transfers += 1;
        self.cores[i].dma.begun = begun + part;
        if begun + part < bytes {
            return self.ready.add(i, now, now + 1);
        }
        self.cores[i].dma.begun = 0;
        self.word_done(i, now, now, id);
    }

    /// Reads or writes a DMA register; `None` while the engine does not take the transfer.
    pub(super) fn dma_register(
        &mut self,
        registers: &mut DmaRegisters,
        offset: u32,
        write: Option<u32>,
        owner: Owner,
        now: Cycle,
    ) -> Option<u32> {
        let DmaRegisters { src, dst, bytes, .. } = *registers;
        match (offset, write) {
            (0x00, Some(value)) => registers.src = value,
            (0x08, Some(value)) => registers.dst = value,
            (0x10, Some(value)) => registers.bytes = value,
            (0x28, Some(value)) => registers.config = value & 7,
            (_, Some(_)) => {}
            (0x00, None) => return Some(src),
            (0x08, None) => return Some(dst),
            (0x10, None) => return Some(bytes),
            // No bytes: the next id is shown and not used up.
            (0x18, None) if bytes == 0 => return Some(self.dma.next_id()),
            (0x18, None) => return self.dma.launch(now, owner, src, dst, bytes),
            (0x20, None) => return Some(self.dma.done_id(now)),
            (0x28, None) => return Some(registers.config | u32::from(self.dma.is_busy()) << 16),
            (_, None) => {}
        }
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits ask for a launch in each cycle; a capital of the answer is whose turn it was, if the engine had room (`+`).
    #[test]
    fn who_waits_for_the_engine_has_a_turn_before_who_was_there_last() {
        let mut launching = Launching::default();
        let mut turns = Vec::new();
        for (asking, has_room) in
            [("5", true), ("057", false), ("057", true), ("057", true), ("0257", true), ("02", true), ("02", true)]
        {
            for core in asking.bytes().map(|digit| usize::from(digit - b'0')) {
                if launching.is_turn(core) && has_room {
                    launching.leave(core);
                    turns.push(core);
                    break;
                }
            }
        }
        assert_eq!(turns, [5, 7, 0, 2, 5, 0]);
    }
}
