//! The addresses of reads and writes at an identity remapper in front of an L2 memory.

use super::{READ, WRITE};

/// Addresses that a remapper shows to the part behind it.
///
/// Order:   while an address of one direction waits for room, no new address of the other direction passes. In a cycle in which
///          the address of an atomic operation passes, no read passes; a waiting read then goes before the next atomic operation.
/// Source:  PsPIN RTL a49fec8, `axi_id_remap.sv`, HoldAR, HoldAW and ar_must_pass_q; `nhi_xbar.sv`, i_pkt_iw_converter and
///          i_hnd_iw_converter; `pe_noc.sv`, i_iw_converter_l2.
#[derive(Default)]
pub(super) struct Remapper {
    /// An address waits for room, by direction.
    held: [bool; 2],
    /// A read has given way to an atomic operation.
    read_is_next: bool,
}

impl Remapper {
    /// Returns, for reads and for writes, true if the waiting address passes in this cycle. `is_atomic` is true if the
    /// write is part of an atomic operation.
    pub(super) fn pass(&mut self, mut requests: [bool; 2], is_atomic: bool, has_room: [bool; 2]) -> [bool; 2] {
        if is_atomic && requests[WRITE] && !self.is_holding() {
            if self.read_is_next {
                requests[WRITE] = false;
            } else {
                self.read_is_next = requests[READ];
                requests[READ] = false;
            }
        }
        let was_held = self.held;
        let passes = [READ, WRITE].map(|way| {
            let is_shown = requests[way] && (was_held[way] || !was_held[1 - way]);
            self.held[way] = is_shown && !has_room[way];
            is_shown && has_room[way]
        });
        self.read_is_next &= !passes[READ] && !self.held[READ];
        passes
    }

    /// Returns true if an address waits for room.
    pub(super) fn is_holding(&self) -> bool {
        self.held != [false; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: [bool; 2] = [true; 2];
    const NO_ROOM_TO_WRITE: [bool; 2] = [true, false];

    #[test]
    fn while_a_write_waits_for_room_no_new_read_passes() {
        assert_eq!((READ, WRITE), (0, 1));
        let mut remapper = Remapper::default();
        assert_eq!(remapper.pass([false, true], false, NO_ROOM_TO_WRITE), [false, false]);
        assert_eq!(remapper.pass([true, true], false, NO_ROOM_TO_WRITE), [false, false]);
        assert_eq!(remapper.pass([true, true], false, ROOM), [false, true]);
        assert_eq!(remapper.pass([true, true], false, NO_ROOM_TO_WRITE), [true, false]);
    }

    #[test]
    fn an_atomic_operation_and_a_read_pass_in_turn() {
        let mut remapper = Remapper::default();
        let passed = [0; 4].map(|_| remapper.pass([true, true], true, ROOM));
        assert_eq!(passed, [[false, true], [true, false], [false, true], [true, false]]);
    }
}
